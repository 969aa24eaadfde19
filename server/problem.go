package server

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/policy"
)

// httpError is an error with a status of its own.
type httpError struct {
	status int
	err    error
}

func (e *httpError) Error() string { return e.err.Error() }
func (e *httpError) Unwrap() error { return e.err }

func withStatus(status int, code noregret.Code, place, format string, args ...any) error {
	return &httpError{status, noregret.Errorf(code, place, format, args...)}
}

func unavailable(err error) error {
	return &httpError{http.StatusServiceUnavailable, noregret.Errorf(noregret.Internal, "", "%w", err)}
}

// statusOf maps an error to its HTTP status, in this one place.
func statusOf(err error) int {
	if e, ok := errors.AsType[*httpError](err); ok {
		return e.status
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge
	}
	if _, ok := errors.AsType[policy.TokenError](err); ok {
		return http.StatusBadRequest
	}
	switch noregret.CodeOf(err) {
	case noregret.BadInput, noregret.Usage:
		return http.StatusBadRequest
	case noregret.NotFound:
		return http.StatusNotFound
	}
	return http.StatusInternalServerError
}

// writeError answers with a problem. What happened inside is not told.
func (s *Server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	status := statusOf(err)
	p := policy.Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status,
		Code: string(noregret.CodeOf(err)),
	}
	if _, ok := errors.AsType[policy.TokenError](err); ok {
		p.Code = string(noregret.BadInput)
	}
	if e, ok := errors.AsType[*noregret.Error](err); ok {
		p.Detail, p.Place = e.Message, e.Place
	} else {
		p.Detail = err.Error()
	}
	if status == http.StatusRequestEntityTooLarge {
		p.Code = string(noregret.BadInput)
	}
	if status == http.StatusInternalServerError {
		s.config.Logger.Error("a request failed", "route", r.Pattern, "error", err)
		p.Detail, p.Place = "the service has failed to answer; its log says why", ""
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	h := w.Header()
	h.Del("ETag")
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	body, err := json.Marshal(p)
	if err != nil {
		return // strings and numbers are always written
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}
