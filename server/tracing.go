package server

import (
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/noregret/noregret/server/internal/web"
)

// traceRequests returns a handler that makes a span of each request, except probes and requests for
// metrics. A nil provider returns next itself. The span continues the trace of the client's headers
// (W3C Trace Context). It has the route and no path, query, address or program of the client: they
// may name a unit.
func traceRequests(provider trace.TracerProvider, next http.Handler) http.Handler {
	if provider == nil {
		return next
	}
	tracer := provider.Tracer("github.com/noregret/noregret/server")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/livez", "/readyz", "/readyz/writes", "/metrics":
			next.ServeHTTP(w, r)
			return
		}
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, span := tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
		r, answer := r.WithContext(ctx), &measured{ResponseWriter: w}
		defer func() {
			if r.Pattern != "" { // which the multiplexer has set
				span.SetName(r.Pattern)
			}
			span.SetAttributes(semconv.HTTPRequestMethodKey.String(r.Method), semconv.HTTPRoute(r.Pattern),
				semconv.HTTPResponseBodySize(int(answer.bytes)),
				attribute.String("noregret.request_id", w.Header().Get(web.RequestID)))
			if r.ContentLength >= 0 {
				span.SetAttributes(semconv.HTTPRequestBodySize(int(r.ContentLength)))
			}
			if answer.status != 0 {
				span.SetAttributes(semconv.HTTPResponseStatusCode(answer.status))
			}
			if answer.status >= http.StatusInternalServerError {
				span.SetStatus(codes.Error, "")
			}
			span.End()
		}()
		next.ServeHTTP(answer, r)
		answer.finish(r)
	})
}
