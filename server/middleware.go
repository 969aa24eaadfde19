package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/dashboard"
	"github.com/noregret/noregret/server/internal/web"
)

// middleware holds what all routes share: metrics, access, limits and errors.
type middleware struct {
	config  *Limits
	tokens  *access.Tokens
	limiter *access.Limiter
	proxies access.Proxies
	cross   *http.CrossOriginProtection
	listed  string // what lists the paths
	origins access.Origins
	streams *streamLimits
	metrics *httpMetrics
	// failures has the requests whose access token is not known.
	failures *access.Failures
	// node is nil for a service that is alone.
	node *node
	// mayUse reports whether a principal may use an experiment.
	mayUse func(p *access.Principal, name string) bool
}

// wrap returns the handler of a route.
func (m *middleware) wrap(rt web.Route) http.Handler {
	observe := m.observer(rt)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		rec := &web.Recorder{ResponseWriter: w, Compress: rt.Compress || rt.Method == http.MethodGet}
		rec.Gzip = rec.Compress && web.AcceptsGzip(r)
		defer func() {
			if p := recover(); p == http.ErrAbortHandler {
				panic(p)
			} else if p != nil {
				m.config.Logger.Error("a request panicked", "route", rt.Method+" "+rt.Pattern, "panic", p,
					"request", w.Header().Get(web.RequestID))
				if rec.Status == 0 {
					web.WriteError(rec, r, m.config.Logger, errors.New("panic"))
				}
			}
			observe(r, rec.Status, time.Since(begin))
		}()
		if err := m.serve(rt, rec, r); err != nil && rec.Status == 0 {
			web.WriteError(rec, r, m.config.Logger, err)
		}
	})
}

// observer returns the function that counts and logs an answer of a route.
func (m *middleware) observer(rt web.Route) func(r *http.Request, status int, took time.Duration) {
	name := rt.Method + " " + rt.Pattern
	duration := m.metrics.duration.WithLabelValues(name)
	if rt.Stream != web.NoStream {
		duration = m.metrics.streams.WithLabelValues(name)
	}
	ok := m.metrics.requests.WithLabelValues(name, "200")
	return func(r *http.Request, status int, took time.Duration) {
		duration.Observe(took.Seconds())
		if status == http.StatusOK {
			ok.Inc()
		} else {
			m.metrics.requests.WithLabelValues(name, strconv.Itoa(status)).Inc()
		}
		if log := m.config.Logger; log.Enabled(r.Context(), slog.LevelDebug) {
			log.Debug("request", "route", name, "status", status, "seconds", took.Seconds())
		}
	}
}

// serve authorizes a request and runs the route's handler within its limits.
func (m *middleware) serve(rt web.Route, w http.ResponseWriter, r *http.Request) error {
	peer, err := m.node.isPeer(r)
	if err != nil {
		w.Header().Set(nodeHeader, "refused") // which is no answer for the client
		return err
	}
	p, err := m.authorize(rt, w, r, peer)
	if err != nil {
		return err
	}
	from := m.proxies.Address(r)
	if peer {
		from = r.Header.Get(clientHeader)
		m.node.tell(w)
	}
	switch {
	case rt.Role == access.Admin || rt.Role == access.Read && rt.Method == http.MethodPost:
		// The audit trail has who changes something. A form may name another principal.
		r = access.WithAddress(access.WithPrincipal(r, p), from)
	case p.Limited() || peer && p != nil:
		r = access.WithPrincipal(r, p)
	}
	passes := m.node.passes(rt, r)
	switch {
	// A long poll is a stream once it waits.
	case rt.Stream == web.Exports || rt.Stream == web.Dashboards:
		release, err := m.streams.acquire(w, rt.Stream)
		if err != nil {
			return err
		}
		defer release()
	case rt.Method != http.MethodGet && (rt.Role != access.Decide || passes): // waits for the log
		ctx, cancel := context.WithTimeout(r.Context(), m.config.RequestTime)
		defer cancel()
		r = r.WithContext(ctx)
	}
	if r = web.Limit(w, r, m.config.MaxBody); passes {
		return m.node.pass(w, r, p, from, peer)
	}
	return rt.Serve(w, r)
}

// authorize checks a request's origin, query, access token and rate. It returns the owner of the
// token, nil where none is needed. Another node that has passed on a request has checked the origin
// and the rate.
func (m *middleware) authorize(rt web.Route, w http.ResponseWriter, r *http.Request, peer bool,
) (*access.Principal, error) {
	h := w.Header()
	if !peer {
		if err := m.checkOrigin(r, m.cors(rt, h, r)); err != nil {
			return nil, err
		}
	}
	if strings.HasPrefix(rt.Pattern, "/v1/") {
		if err := checkQuery(r, rt.Params); err != nil {
			return nil, err
		}
	}
	if rt.Role == access.Anyone {
		if rt.Method == otherMethod || rt.Method == http.MethodOptions {
			return nil, m.checkRate(nil, w, r)
		}
		return nil, nil
	}
	p := m.tokens.Find(r)
	if peer {
		p = m.node.principal(m.tokens, r)
	}
	noteToken(r.Context(), p)
	if !peer {
		if err := m.checkRate(p, w, r); err != nil {
			return nil, err
		}
	}
	if p == nil {
		if access.HasToken(r) {
			m.failures.Note(r, "header", "")
		}
		h.Set("WWW-Authenticate", `Bearer realm="noregret"`)
		return nil, web.WithStatus(http.StatusUnauthorized, noregret.Usage, "Authorization",
			"a known access token is required: send it as Authorization: Bearer TOKEN, or as X-API-Key: TOKEN; "+
				"noregret takes it from $NOREGRET_TOKEN or --token-file")
	}
	if p.IsBrowser() && peer {
		return p, m.checkScope(p, rt, r)
	}
	if p.IsBrowser() {
		return p, m.checkBrowser(p, rt, r)
	}
	if !p.May(rt.Role) {
		return nil, web.WithStatus(http.StatusForbidden, noregret.Usage, "Authorization",
			"the token %q lacks the role %s", p.Name, rt.Role)
	}
	return p, m.checkScope(p, rt, r)
}

// checkScope returns an error for a token that is limited to experiments other than the one in the
// path, or for a path of all experiments.
func (m *middleware) checkScope(p *access.Principal, rt web.Route, r *http.Request) error {
	if !p.Limited() || rt.Scoped {
		return nil
	}
	name := r.PathValue("name")
	if rt.Pattern == flagPattern {
		name = r.PathValue("key")
	}
	switch {
	case name == "":
		return web.WithStatus(http.StatusForbidden, noregret.Usage, "Authorization",
			"the token %q is limited to some experiments: it may not call this path", p.Name)
	case !m.mayUse(p, name):
		return notYours(p)
	}
	return nil
}

// notYours is the error of a token that may not use an experiment.
func notYours(p *access.Principal) error {
	return web.WithStatus(http.StatusForbidden, noregret.Usage, "Authorization",
		"the token %q may not use this experiment", p.Name)
}

// checkRate counts a request of a principal, or of an address if p is nil, against its rate limit.
func (m *middleware) checkRate(p *access.Principal, w http.ResponseWriter, r *http.Request) error {
	if m.limiter.Allow(p, r) {
		return nil
	}
	m.metrics.limited.Inc()
	w.Header().Set("Retry-After", "1")
	return web.WithStatus(http.StatusTooManyRequests, noregret.Usage, "rate", "more than %v requests a second",
		m.config.Rate)
}

// checkOrigin refuses requests that a page of another site makes a browser send: those that may
// change something, and where no access tokens are required, those of every method, as they may be
// costly. It does not refuse those of a listed origin ([middleware.cors]). Without tokens the host
// must also be this machine's: otherwise the owner of a name that resolves to a loopback address
// could reach the service through a browser.
func (m *middleware) checkOrigin(r *http.Request, listed bool) error {
	if !listed && (m.config.Tokens == "" && crossSite(r) || m.cross.Check(r) != nil) {
		return web.WithStatus(http.StatusForbidden, noregret.Usage, "origin", "the request comes from another site")
	}
	if m.config.Tokens == "" && !loopback(r.Host) {
		return web.WithStatus(http.StatusMisdirectedRequest, noregret.Usage, "host",
			"want a loopback address or localhost, as there are no access tokens")
	}
	return nil
}

// crossSite reports whether a page of another site made a browser send the request. Older browsers
// send Origin only.
func crossSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return false
	case "":
	default:
		return true
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || u.Host != r.Host
}

// wrapPage returns the handler of a dashboard's route: a browser may authenticate with its cookie
// there, and is sent to /login without one.
func (m *middleware) wrapPage(rt web.Route, d *dashboard.Dashboard) http.Handler {
	next := m.wrap(rt)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer, err := m.node.isPeer(r)
		if err == nil && !peer {
			if err = m.checkOrigin(r, false); err == nil && rt.Method == http.MethodPost {
				err = m.checkRate(nil, w, r) // the form must not make guessing tokens faster
			}
		}
		if err != nil {
			web.WriteError(w, r, m.config.Logger, err)
			return
		}
		if rt.Role != access.Anyone && !peer {
			switch p := d.Visitor(r); {
			case p != nil:
				r = access.WithPrincipal(r, p)
			case rt.Stream == web.NoStream && !strings.Contains(rt.Pattern, "/pictures/") &&
				r.Header.Get("Authorization") == "":
				w.Header().Set("Cache-Control", "no-store")
				w.Header().Set("Location", "/login?next="+url.QueryEscape(r.URL.RequestURI()))
				w.WriteHeader(http.StatusSeeOther)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
