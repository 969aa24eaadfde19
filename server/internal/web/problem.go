package web

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/policy"
)

// statusError is an error with a status of its own.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

// WithStatus is [noregret.Errorf] with a status of its own.
func WithStatus(status int, code noregret.Code, place, format string, args ...any) error {
	return &statusError{status, noregret.Errorf(code, place, format, args...)}
}

// Unavailable is the error of a request that the service cannot answer now.
func Unavailable(err error) error {
	return &statusError{http.StatusServiceUnavailable, noregret.Errorf(noregret.Internal, "", "%w", err)}
}

// Conflict gives bad input the status 409, for what the state of an experiment does not allow. It
// returns other errors as they are.
func Conflict(err error) error {
	if noregret.CodeOf(err) == noregret.BadInput {
		return &statusError{http.StatusConflict, err}
	}
	return err
}

// StatusOf maps an error to its HTTP status. It is the only place that does.
func StatusOf(err error) int {
	if e, ok := errors.AsType[*statusError](err); ok {
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

// RequestID is the header of the identifier of a request, which is that of its answer, too.
const RequestID = "X-Request-Id"

// InternalFailure is what a client reads instead of an error whose details stay in the service's
// log.
const InternalFailure = "the service has failed to answer; its log says why"

// WriteError answers with a problem (RFC 9457). The details of an internal error go to the log
// only.
func WriteError(w http.ResponseWriter, r *http.Request, log *slog.Logger, err error) {
	status := StatusOf(err)
	p := api.Problem{
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
		log.Error("a request failed", "route", r.Pattern, "error", err, "request", w.Header().Get(RequestID))
		p.Detail, p.Place = InternalFailure, ""
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
		return // a Problem has only strings and numbers, which can always be written
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}
