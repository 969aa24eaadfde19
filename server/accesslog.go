package server

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// setRequestID gives an answer the identifier of its request: that of the client if it has a right
// one, otherwise a new one.
func setRequestID(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(web.RequestID)
	if !goodRequestID(id) {
		id = rand.Text()
	}
	w.Header().Set(web.RequestID, id)
}

// goodRequestID reports whether an identifier has 1 to 128 letters, digits, "-", "_" and ".".
func goodRequestID(id string) bool {
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return id != "" && len(id) <= 128
}

// accessKey is the context's key of the *accessed of a request that is logged.
type accessKey struct{}

// accessed is what the handlers tell the access log of a request.
type accessed struct{ token string }

// noteToken tells the access log whose token a request has.
func noteToken(ctx context.Context, p *access.Principal) {
	if a, ok := ctx.Value(accessKey{}).(*accessed); ok && p != nil {
		a.token = p.Name
	}
}

// observe returns a handler with the traces and the access log of the configuration.
func (c *Limits) observe(proxies access.Proxies, next http.Handler) http.Handler {
	return traceRequests(c.Traces, logAccess(c.AccessLog, proxies, next))
}

// logAccess returns a handler that writes a line for each request that next has answered. A nil
// logger returns next itself. Neither the path nor the query is logged, which may name a unit.
func logAccess(log *slog.Logger, proxies access.Proxies, next http.Handler) http.Handler {
	if log == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin, a, rec := time.Now(), &accessed{}, &measured{ResponseWriter: w}
		outer := r
		r = r.WithContext(context.WithValue(r.Context(), accessKey{}, a))
		defer func() {
			outer.Pattern = r.Pattern // for the name of the span
			name := r.PathValue("name")
			if name == "" {
				name = r.PathValue("key") // of OFREP
			}
			var more []slog.Attr
			if s := trace.SpanContextFromContext(r.Context()); s.IsValid() {
				more = append(more, slog.String("trace", s.TraceID().String()))
			}
			log.LogAttrs(r.Context(), slog.LevelInfo, "request", append([]slog.Attr{
				slog.String("id", w.Header().Get(web.RequestID)), slog.String("client", proxies.Client(r)),
				slog.String("token", a.token), slog.String("method", r.Method), slog.String("route", r.Pattern),
				slog.String("experiment", name), slog.Int("status", rec.status), slog.Int64("bytes", rec.bytes),
				slog.Float64("seconds", time.Since(begin).Seconds()),
			}, more...)...)
		}()
		next.ServeHTTP(rec, r)
		rec.finish(r)
	})
}

// measured notes the status and the size of an answer.
type measured struct {
	http.ResponseWriter
	status int // 0 if nothing was answered
	bytes  int64
}

// WriteHeader implements [http.ResponseWriter].
func (a *measured) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (a *measured) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	n, err := a.ResponseWriter.Write(b)
	a.bytes += int64(n)
	return n, err
}

// finish notes the status of an answer without a body, which net/http sends when the handler has
// returned, unless the client of r has gone.
func (a *measured) finish(r *http.Request) {
	if a.status == 0 && r.Context().Err() == nil {
		a.status = http.StatusOK
	}
}

// Unwrap is for [http.ResponseController].
func (a *measured) Unwrap() http.ResponseWriter { return a.ResponseWriter }
