// Package web holds what the API and the dashboard of the decision service share: the form of a
// route, strict reading of bodies, writing of answers, and the one mapping of errors to statuses.
package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/strictjson"
)

// Handler answers a request. Where it returns an error and has written nothing, the error is the
// answer ([WriteError]).
type Handler func(w http.ResponseWriter, r *http.Request) error

// Stream is a class of long-running requests. Each class has its own concurrency limit.
type Stream int

// The classes of streams.
const (
	NoStream   Stream = iota // an ordinary request, bounded in time
	Polls                    // long polls of a policy that wait for a change
	Exports                  // exports of the log
	Dashboards               // pages that are kept up to date
	StreamCount
)

// String names the requests of the class.
func (k Stream) String() string {
	return [StreamCount]string{"short requests", "long polls", "exports", "dashboards"}[k]
}

// Recorder records the status of an answer.
type Recorder struct {
	http.ResponseWriter
	// Status is that of the answer, 0 before it is written.
	Status int
	// WriteTimeout bounds each write of a stream, 0 for the server's own limit: a client that does
	// not read is cut off.
	WriteTimeout time.Duration
	// Before is called before the headers of the answer are written, nil for nothing.
	Before func(h http.Header)
	// Compress says that the answer may be compressed, and Gzip that the client takes gzip.
	Compress, Gzip bool
}

// WriteHeader implements [http.ResponseWriter].
func (r *Recorder) WriteHeader(status int) {
	if r.Status == 0 {
		r.begin(status)
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (r *Recorder) Write(b []byte) (int, error) {
	if r.Status == 0 {
		r.begin(http.StatusOK)
	}
	if r.WriteTimeout > 0 {
		_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(time.Now().Add(r.WriteTimeout))
	}
	return r.ResponseWriter.Write(b)
}

// begin notes the status of the answer.
func (r *Recorder) begin(status int) {
	if r.Status = status; r.Before != nil {
		r.Before(r.Header())
	}
}

// Unwrap is for [http.ResponseController].
func (r *Recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteJSON answers with a value.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	b, err := EncodeJSON(v)
	if err != nil {
		return err
	}
	return WriteBytes(w, status, "application/json", b)
}

// EncodeJSON returns the bytes with which [WriteJSON] answers.
func EncodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// WriteBytes answers with a body of the media type. Unless the handler has set Cache-Control, the
// answer is not stored. A larger body is compressed if the route allows it and the client takes it.
// It does not report that the client has disconnected.
func WriteBytes(w http.ResponseWriter, status int, media string, b []byte) error {
	return write(w, status, media, b, func() []byte { return compress(b) })
}

// MaxDepth is how many lists and objects of JSON may be nested within each other in a request.
const MaxDepth = 64

// ReadJSON reads a body of JSON strictly, in time linear in its length. Errors name the kind of a
// value, not the value, which may be a unit or a secret.
func ReadJSON(r *http.Request, v any) error {
	b, err := Body(r, "application/json")
	if err != nil {
		return err
	}
	return DecodeJSON(b, v)
}

// ReadOptionalJSON is [ReadJSON] for a body that may be empty, which changes nothing in v.
func ReadOptionalJSON(r *http.Request, v any) error {
	b, err := Body(r, "application/json")
	if err != nil || len(b) == 0 {
		return err
	}
	return DecodeJSON(b, v)
}

// DecodeJSON decodes JSON of a request as [ReadJSON] does. It is the one reader of JSON in
// requests.
func DecodeJSON(b []byte, v any) error { return decode(b, v, strictjson.Rules{}) }

// DecodeLenientJSON is [DecodeJSON] for clients of other services: unknown fields are passed over,
// and null is a missing field.
func DecodeLenientJSON(b []byte, v any) error { return decode(b, v, strictjson.Rules{Lenient: true}) }

func decode(b []byte, v any, rules strictjson.Rules) error {
	rules.Hide, rules.Depth = true, MaxDepth
	err := strictjson.Decode(b, v, rules)
	if e, ok := errors.AsType[*noregret.Error](err); ok && e.Place == "" {
		e.Place = "body"
	}
	return err
}

// InPlace returns an error of [DecodeJSON] about a part of a request, with the part's place.
func InPlace(place string, err error) error {
	e, ok := errors.AsType[*noregret.Error](err)
	if !ok {
		return err
	}
	if e.Place != "body" {
		place += "." + e.Place
	}
	return noregret.BadInputf(place, "%s", e.Message)
}

// Body reads a request's body of one of the media types; a request without a type has the first.
func Body(r *http.Request, types ...string) ([]byte, error) {
	if t := r.Header.Get("Content-Type"); t != "" && t != types[0] {
		media, _, err := mime.ParseMediaType(t)
		known := false
		for _, want := range types {
			known = known || media == want
		}
		if err != nil || !known {
			return nil, WithStatus(http.StatusUnsupportedMediaType, noregret.Usage, "Content-Type", "%q: want %s", t,
				strings.Join(types, " or "))
		}
	}
	in, err := decoded(r)
	if err != nil {
		return nil, err
	}
	var all bytes.Buffer
	all.Grow(int(min(max(r.ContentLength, 0), 64<<10)) + bytes.MinRead)
	_, err = all.ReadFrom(in)
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, WithStatus(http.StatusRequestEntityTooLarge, noregret.BadInput, "body", "more than %d bytes",
			e.Limit)
	}
	if err != nil {
		return nil, WithStatus(http.StatusBadRequest, noregret.BadInput, "body",
			"the body is incomplete, or not what Content-Encoding says")
	}
	return all.Bytes(), nil
}

// decoded returns the body of a request as it was before gzip compressed it. The bound of the body
// ([Limit]) holds before and after: what a few bytes decompress to is not read beyond it.
func decoded(r *http.Request) (io.Reader, error) {
	switch encoding := strings.ToLower(strings.Join(r.Header.Values("Content-Encoding"), ", ")); encoding {
	case "", "identity":
		return r.Body, nil
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, WithStatus(http.StatusBadRequest, noregret.BadInput, "body", "not a body of gzip")
		}
		limit, _ := r.Context().Value(limitKey{}).(int64)
		return http.MaxBytesReader(nil, z, limit), nil
	default:
		return nil, WithStatus(http.StatusUnsupportedMediaType, noregret.Usage, "Content-Encoding",
			"%q: want gzip or none", encoding)
	}
}

// limitKey is the context's key of a body's limit.
type limitKey struct{}

// Limit returns the request with a bound of its body, in bytes. Bodies that are compressed are read
// only after it.
func Limit(w http.ResponseWriter, r *http.Request, most int64) *http.Request {
	if r.Header.Get("Content-Encoding") != "" {
		r = r.WithContext(context.WithValue(r.Context(), limitKey{}, most))
	}
	r.Body = http.MaxBytesReader(w, r.Body, most)
	return r
}

// Matches reports whether If-None-Match names the tag.
func Matches(r *http.Request, tag string) bool {
	for _, h := range r.Header.Values("If-None-Match") {
		for part := range strings.SplitSeq(h, ",") {
			part = strings.TrimPrefix(strings.TrimSpace(part), "W/")
			if part == tag || part == "*" {
				return true
			}
		}
	}
	return false
}
