package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/noregret/noregret"
)

// route is one operation of the API: the OpenAPI document has each, and nothing else.
type route struct {
	method, pattern string
	role            Role
	// query are the names of the parameters that it knows.
	query []string
	// long says what it may be that takes longer than the configured time.
	long  stream
	serve func(w http.ResponseWriter, r *http.Request) error
}

// routes are the dashboard's pages and the API.
func (s *Server) routes() []route {
	return append(s.pageRoutes(), []route{
		{"GET", "/v1/experiments", Read, nil, brief, s.listExperiments},
		{"GET", "/v1/experiments/{name}", Read, nil, brief, s.getExperiment},
		{"PUT", "/v1/experiments/{name}", Admin, nil, brief, s.putExperiment},
		{"DELETE", "/v1/experiments/{name}", Admin, nil, brief, s.deleteExperiment},
		{"POST", "/v1/experiments/{name}/pause", Admin, nil, brief, s.named("pause")},
		{"POST", "/v1/experiments/{name}/resume", Admin, nil, brief, s.named("resume")},
		{"POST", "/v1/experiments/{name}/rollback", Admin, nil, brief, s.named("rollback")},
		{"POST", "/v1/experiments/{name}/decide", Decide, nil, brief, s.decide},
		{"GET", "/v1/experiments/{name}/policy", Decide, []string{"wait"}, polls, s.policy},
		{"GET", "/v1/experiments/{name}/report", Read, nil, brief, s.report},
		{"GET", "/v1/experiments/{name}/explain", Read, []string{"token"}, brief, s.explain},
		{"POST", "/v1/exposures", Feedback, nil, brief, s.exposures},
		{"POST", "/v1/feedback", Feedback, nil, brief, s.feedback},
		{"POST", "/v1/aggregates", Feedback, nil, brief, s.aggregates},
		{"GET", "/v1/export", Read, []string{"from", "experiment"}, exports, s.export},
		{"GET", "/v1/snapshot", Read, nil, exports, s.snapshot},
		{"GET", "/v1/state", Read, nil, brief, s.stateOf},
		{"POST", "/ofrep/v1/evaluate/flags/{key}", Decide, nil, brief, s.evaluate},
		{"POST", "/ofrep/v1/evaluate/flags", Decide, nil, brief, s.evaluateAll},
		{"GET", "/openapi.json", Anyone, nil, brief, s.openapi},
		{"GET", "/v1/definition.schema.json", Anyone, nil, brief, s.schema},
		{"GET", "/metrics", Read, nil, brief, s.showMetrics},
		{"GET", "/livez", Anyone, nil, brief, s.livez},
		{"GET", "/readyz", Anyone, nil, brief, s.readyz},
	}...)
}

// routesHandler makes the handler of all routes, with what they share around each.
func (s *Server) routesHandler() (http.Handler, error) {
	mux := http.NewServeMux()
	s.mux = mux
	limits := newLimiter(s.config)
	pages := len(s.pageRoutes())
	for i, rt := range s.routes() {
		h := s.around(rt, limits)
		if i < pages {
			h = s.aroundPage(rt, limits, h)
		}
		mux.Handle(rt.method+" "+rt.pattern, h)
	}
	known := map[string]string{}
	for _, rt := range s.routes() {
		methods := rt.method
		if methods == http.MethodGet {
			methods = "GET, HEAD"
		}
		known[rt.pattern] = strings.Trim(known[rt.pattern]+", "+methods, ", ")
	}
	for pattern, methods := range known {
		mux.Handle(pattern,
			s.around(route{
				method: "other", pattern: pattern,
				serve: func(w http.ResponseWriter, r *http.Request) error {
					w.Header().Set("Allow", methods)
					return withStatus(http.StatusMethodNotAllowed, noregret.Usage, r.Method, "want %s", methods)
				},
			}, limits))
	}
	nothing := s.around(route{method: "other", pattern: "/", serve: func(http.ResponseWriter, *http.Request) error {
		return withStatus(http.StatusNotFound, noregret.NotFound, "path",
			"there is nothing here; /openapi.json says what there is")
	}}, limits)
	mux.Handle("/", nothing)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := r.URL.EscapedPath(); p != "/" && strings.TrimSuffix(path.Clean(p), "/") != strings.TrimSuffix(p, "/") {
			nothing.ServeHTTP(w, r) // the multiplexer would send it elsewhere
			return
		}
		mux.ServeHTTP(w, r)
	}), nil
}

// recorder notes the status of an answer. With patience, each write may take as long as that: the
// client of a stream that does not read is cut off.
type recorder struct {
	http.ResponseWriter
	status   int
	patience time.Duration
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	if r.patience > 0 {
		_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(time.Now().Add(r.patience))
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// around is what all routes share: time, counting, access, limits and errors.
func (s *Server) around(rt route, limits *limiter) http.Handler {
	name := rt.method + " " + rt.pattern
	duration := s.metrics.duration.WithLabelValues(name)
	if rt.long != brief {
		duration = s.metrics.streams.WithLabelValues(name)
	}
	ok := s.metrics.requests.WithLabelValues(name, "200")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		rec := &recorder{ResponseWriter: w}
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				s.config.Logger.Error("a request panicked", "route", name, "panic", p)
				if rec.status == 0 {
					s.writeError(rec, r, errors.New("panic"))
				}
			} else if p != nil {
				panic(p)
			}
			duration.Observe(time.Since(begin).Seconds())
			if rec.status == http.StatusOK {
				ok.Inc()
			} else {
				s.metrics.requests.WithLabelValues(name, code(rec.status)).Inc()
			}
			if s.config.Logger.Enabled(r.Context(), slog.LevelDebug) {
				s.config.Logger.Debug("request", "route", name, "status", rec.status, "seconds",
					time.Since(begin).Seconds())
			}
		}()
		if err := s.admit(rt, rec, r, limits); err != nil {
			s.writeError(rec, r, err)
			return
		}
		if rt.long == exports || rt.long == dashboards { // long polls count while they wait
			release, err := s.hold(rec, rt.long)
			if err != nil {
				s.writeError(rec, r, err)
				return
			}
			defer release()
		} else if rt.method != http.MethodGet && rt.role != Decide { // waits for the log
			ctx, cancel := context.WithTimeout(r.Context(), s.config.RequestTime)
			defer cancel()
			r = r.WithContext(ctx)
		}
		r.Body = http.MaxBytesReader(rec, r.Body, s.config.MaxBody)
		if err := rt.serve(rec, r); err != nil && rec.status == 0 {
			s.writeError(rec, r, err)
		}
	})
}

// admit checks who comes, and how often.
func (s *Server) admit(rt route, w http.ResponseWriter, r *http.Request, limits *limiter) error {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	if err := s.ofThisSite(r); err != nil {
		return err
	}
	if strings.HasPrefix(rt.pattern, "/v1/") {
		if err := checkQuery(r, rt.query); err != nil {
			return err
		}
	}
	if rt.role == Anyone {
		if rt.method == "other" && !limits.allow(&principal{}, r) {
			return s.tooMany(w)
		}
		return nil
	}
	p := s.auth.find(r)
	if p == nil {
		if !limits.allow(&principal{}, r) {
			return s.tooMany(w)
		}
		h.Set("WWW-Authenticate", `Bearer realm="noregret"`)
		return withStatus(http.StatusUnauthorized, noregret.Usage, "Authorization",
			"want a bearer token that is known here")
	}
	if !limits.allow(p, r) {
		return s.tooMany(w)
	}
	if !p.may(rt.role) {
		return withStatus(http.StatusForbidden, noregret.Usage, "Authorization", "the token %q lacks the role %s",
			p.name, rt.role)
	}
	return nil
}

// ofThisSite refuses what a page of another site makes a browser send: where no access token is
// asked for, that the request comes from this machine is all there is to go by. Then the host must
// be this machine's, too, or a name that is turned to it would open everything to its owner.
func (s *Server) ofThisSite(r *http.Request) error {
	if err := s.cross.Check(r); err != nil {
		return withStatus(http.StatusForbidden, noregret.Usage, "origin", "the request is of another site")
	}
	if s.config.Tokens == "" && !loopback(r.Host) {
		return withStatus(http.StatusMisdirectedRequest, noregret.Usage, "host",
			"want a loopback address or localhost, as there are no access tokens")
	}
	return nil
}

// checkQuery refuses parameters that nobody reads.
func checkQuery(r *http.Request, known []string) error {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return noregret.BadInputf("query", "it cannot be read")
	}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if !slices.Contains(known, name) {
			want := "none"
			if len(known) > 0 {
				want = strings.Join(known, ", ")
			}
			return noregret.BadInputf("query", "the parameter %.50q is unknown: want %s", name, want)
		}
		if len(q[name]) > 1 {
			return noregret.BadInputf("query", "the parameter %s stands %d times", name, len(q[name]))
		}
	}
	return nil
}

func (s *Server) tooMany(w http.ResponseWriter) error {
	s.metrics.limited.Inc()
	w.Header().Set("Retry-After", "1")
	return withStatus(http.StatusTooManyRequests, noregret.Usage, "rate", "more than %v requests a second",
		s.config.Rate)
}

// body reads a request's body of one of the media types; no type counts as the first.
func body(r *http.Request, types ...string) ([]byte, error) {
	if t := r.Header.Get("Content-Type"); t != "" {
		media, _, err := mime.ParseMediaType(t)
		known := false
		for _, want := range types {
			known = known || media == want
		}
		if err != nil || !known {
			return nil, withStatus(http.StatusUnsupportedMediaType, noregret.Usage, "Content-Type", "%q: want %s", t,
				strings.Join(types, " or "))
		}
	}
	b, err := io.ReadAll(r.Body)
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, withStatus(http.StatusRequestEntityTooLarge, noregret.BadInput, "body", "it has more than %d bytes",
			e.Limit)
	}
	if err != nil {
		return nil, withStatus(http.StatusBadRequest, noregret.BadInput, "body", "it did not come whole")
	}
	return b, nil
}
