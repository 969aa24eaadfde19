package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/noregret/noregret"
)

// route is one operation of the API: the OpenAPI document has each, and nothing else.
type route struct {
	method, pattern string
	role            Role
	// long is whether it may take longer than the configured time, as it waits or streams.
	long  bool
	serve func(w http.ResponseWriter, r *http.Request) error
}

// routes are the dashboard's pages and the API.
func (s *Server) routes() []route {
	return append(s.pageRoutes(), []route{
		{"GET", "/v1/experiments", Read, false, s.listExperiments},
		{"GET", "/v1/experiments/{name}", Read, false, s.getExperiment},
		{"PUT", "/v1/experiments/{name}", Admin, false, s.putExperiment},
		{"DELETE", "/v1/experiments/{name}", Admin, false, s.deleteExperiment},
		{"POST", "/v1/experiments/{name}/pause", Admin, false, s.named("pause")},
		{"POST", "/v1/experiments/{name}/resume", Admin, false, s.named("resume")},
		{"POST", "/v1/experiments/{name}/rollback", Admin, false, s.named("rollback")},
		{"POST", "/v1/experiments/{name}/decide", Decide, false, s.decide},
		{"GET", "/v1/experiments/{name}/policy", Decide, true, s.policy},
		{"GET", "/v1/experiments/{name}/report", Read, false, s.report},
		{"GET", "/v1/experiments/{name}/explain", Read, false, s.explain},
		{"POST", "/v1/exposures", Feedback, false, s.exposures},
		{"POST", "/v1/feedback", Feedback, false, s.feedback},
		{"POST", "/v1/aggregates", Feedback, false, s.aggregates},
		{"GET", "/v1/export", Read, true, s.export},
		{"GET", "/v1/state", Read, false, s.stateOf},
		{"POST", "/ofrep/v1/evaluate/flags/{key}", Decide, false, s.evaluate},
		{"POST", "/ofrep/v1/evaluate/flags", Decide, false, s.evaluateAll},
		{"GET", "/openapi.json", Anyone, false, s.openapi},
		{"GET", "/v1/definition.schema.json", Anyone, false, s.schema},
		{"GET", "/metrics", Read, false, s.showMetrics},
		{"GET", "/livez", Anyone, false, s.livez},
		{"GET", "/readyz", Anyone, false, s.readyz},
	}...)
}

// routesHandler makes the handler of all routes, with what they share around each.
func (s *Server) routesHandler() (http.Handler, error) {
	mux := http.NewServeMux()
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
		known[rt.pattern] = strings.Trim(known[rt.pattern]+", "+rt.method, ", ")
	}
	for pattern, methods := range known {
		mux.Handle(pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", methods)
			s.writeError(w, r, withStatus(http.StatusMethodNotAllowed, noregret.Usage, r.Method, "want %s", methods))
		}))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.writeError(w, r, withStatus(http.StatusNotFound, noregret.NotFound, "path", "there is nothing here; /openapi.json says what there is"))
	})
	return mux, nil
}

// recorder notes the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
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
	return r.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// around is what all routes share: time, counting, access, limits and errors.
func (s *Server) around(rt route, limits *limiter) http.Handler {
	name := rt.method + " " + rt.pattern
	duration := s.metrics.duration.WithLabelValues(name)
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
				s.config.Logger.Debug("request", "route", name, "status", rec.status, "seconds", time.Since(begin).Seconds())
			}
		}()
		if err := s.admit(rt, rec, r, limits); err != nil {
			s.writeError(rec, r, err)
			return
		}
		if rt.long {
			// A stream takes its time; what bounds it is the client's patience and the shutdown.
			_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
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
	if rt.role == Anyone {
		return nil
	}
	p := s.auth.find(r)
	if p == nil {
		if !limits.allow(&principal{}, r) {
			return s.tooMany(w)
		}
		h.Set("WWW-Authenticate", `Bearer realm="noregret"`)
		return withStatus(http.StatusUnauthorized, noregret.Usage, "Authorization", "want a bearer token that is known here")
	}
	if !limits.allow(p, r) {
		return s.tooMany(w)
	}
	if !p.may(rt.role) {
		return withStatus(http.StatusForbidden, noregret.Usage, "Authorization", "the token %q lacks the role %s", p.name, rt.role)
	}
	return nil
}

func (s *Server) tooMany(w http.ResponseWriter) error {
	s.metrics.limited.Inc()
	w.Header().Set("Retry-After", "1")
	return withStatus(http.StatusTooManyRequests, noregret.Usage, "rate", "more than %v requests a second", s.config.Rate)
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
			return nil, withStatus(http.StatusUnsupportedMediaType, noregret.Usage, "Content-Type", "%q: want %s", t, strings.Join(types, " or "))
		}
	}
	b, err := io.ReadAll(r.Body)
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, withStatus(http.StatusRequestEntityTooLarge, noregret.BadInput, "body", "it has more than %d bytes", e.Limit)
	}
	if err != nil {
		return nil, withStatus(http.StatusBadRequest, noregret.BadInput, "body", "it did not come whole")
	}
	return b, nil
}
