package server

import (
	"net/http"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// What browsers need to know for requests from pages of other origins (Fetch standard, CORS
// protocol). Credentials of the browser itself, such as cookies, are never allowed: access tokens
// are in headers, which the page sets.
const (
	corsMethods = "POST"
	corsHeaders = "Authorization, Content-Type, Flagd-Selector, If-None-Match, Noregret-Exposure, X-API-Key"
	corsExposed = "ETag, Retry-After"
	// corsSeconds is how long a browser may remember that a request is allowed.
	corsSeconds = "7200"
)

// cors adds the headers that let a page of a listed origin read the answer, also if this is an
// error, and reports whether the page may call the route.
func (m *middleware) cors(rt web.Route, h http.Header, r *http.Request) bool {
	if !rt.Pages || m.origins.None() {
		return false
	}
	h.Add("Vary", "Origin")
	origin := access.Origin(r)
	if !m.origins.Has(origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", corsExposed)
	return true
}

// handlePreflights adds the answers to the requests by which browsers ask whether a page of another
// origin may call a route.
func (m *middleware) handlePreflights(mux *http.ServeMux, api []web.Route) {
	if m.origins.None() {
		return
	}
	for _, rt := range api {
		if !rt.Pages {
			continue
		}
		mux.Handle("OPTIONS "+rt.Pattern, m.wrap(web.Route{
			Method: http.MethodOptions, Pattern: rt.Pattern, Pages: true, Serve: m.preflight,
		}))
	}
}

func (m *middleware) preflight(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
	if !m.origins.Has(access.Origin(r)) {
		return web.WithStatus(http.StatusForbidden, noregret.Usage, "origin",
			"pages of this origin may not call the service: see --cors-origin")
	}
	h.Del("Access-Control-Expose-Headers") // for the answer itself only
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders)
	h.Set("Access-Control-Max-Age", corsSeconds)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// checkBrowser returns an error if a token for browsers may not call a route, in the page that
// sends the request, for the experiment in the path.
func (m *middleware) checkBrowser(p *access.Principal, rt web.Route, r *http.Request) error {
	refuse := func(format string, args ...any) error {
		return web.WithStatus(http.StatusForbidden, noregret.Usage, "Authorization", format, args...)
	}
	if !rt.Pages || rt.Role != access.Decide && !p.May(rt.Role) {
		return refuse("the token %q is for browsers: it may not call this path", p.Name)
	}
	origin := access.Origin(r)
	if !m.origins.Has(origin) && !access.SameOrigin(origin, r) || !p.Origins.None() && !p.Origins.Has(origin) {
		return refuse("the token %q is for browsers: it may not be used in pages of this origin", p.Name)
	}
	return m.checkScope(p, rt, r)
}
