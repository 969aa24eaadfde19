package server

import (
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/server/internal/dashboard"
	"github.com/noregret/noregret/server/internal/web"
)

// otherMethod is the method of routes that answer requests without a route.
const otherMethod = "other"

// router sends requests to the routes of the dashboard and the API.
type router struct {
	mux *http.ServeMux
	all []web.Route
	// notFound answers requests that match no pattern.
	notFound http.Handler
}

// newRouter makes the router of the dashboard's routes, unless d is nil, and those of the API, each
// behind the middleware.
func newRouter(m *middleware, d *dashboard.Dashboard, api []web.Route) *router {
	t := &router{mux: http.NewServeMux()}
	if d != nil {
		t.all = d.Routes()
	}
	for _, rt := range t.all {
		t.mux.Handle(rt.Method+" "+rt.Pattern, m.wrapPage(rt, d))
	}
	for _, rt := range api {
		t.mux.Handle(rt.Method+" "+rt.Pattern, m.wrap(rt))
	}
	m.handlePreflights(t.mux, api)
	t.all = append(t.all, api...)
	allowed := map[string]string{}
	for _, rt := range t.all {
		methods := rt.Method
		if methods == http.MethodGet {
			methods = "GET, HEAD"
		}
		allowed[rt.Pattern] = strings.Trim(allowed[rt.Pattern]+", "+methods, ", ")
	}
	for pattern, methods := range allowed {
		t.mux.Handle(pattern, m.wrap(web.Route{
			Method: otherMethod, Pattern: pattern,
			Serve: func(w http.ResponseWriter, r *http.Request) error {
				w.Header().Set("Allow", methods)
				return web.WithStatus(http.StatusMethodNotAllowed, noregret.Usage, r.Method, "want %s", methods)
			},
		}))
	}
	t.notFound = m.wrap(web.Route{
		Method: otherMethod, Pattern: "/",
		Serve: func(http.ResponseWriter, *http.Request) error {
			return web.WithStatus(http.StatusNotFound, noregret.NotFound, "path",
				"no such path: %s lists those of the API", m.listed)
		},
	})
	t.mux.Handle("/", t.notFound)
	return t
}

// ServeHTTP implements [http.Handler]. Paths that are not clean are not found: the multiplexer
// alone would redirect them.
func (t *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w, r)
	if p := r.URL.EscapedPath(); p != "/" && strings.TrimSuffix(path.Clean(p), "/") != strings.TrimSuffix(p, "/") {
		t.notFound.ServeHTTP(w, r)
		return
	}
	t.mux.ServeHTTP(w, r)
}

// setHeaders sets the headers of all answers.
func setHeaders(w http.ResponseWriter, r *http.Request) {
	setRequestID(w, r)
	h := w.Header()
	if r.TLS != nil {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// checkQuery returns an error for parameters that the route does not read, or that are repeated.
func checkQuery(r *http.Request, params any) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return noregret.BadInputf("query", "not a valid query")
	}
	known := web.QueryNames(params)
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if !slices.Contains(known, name) {
			want := "none"
			if len(known) > 0 {
				want = strings.Join(known, ", ")
			}
			return noregret.BadInputf("query", "the parameter %.50q is unknown: want %s", name, want)
		}
		if len(q[name]) > 1 {
			return noregret.BadInputf("query", "the parameter %s is given %d times", name, len(q[name]))
		}
	}
	return nil
}
