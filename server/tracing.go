package server

import (
	"context"
	"net/http"
	"net/url"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/noregret/noregret/server/internal/web"
)

// tracedKey is the context's key of the request of which otelhttp sees a part.
type tracedKey struct{}

// traceRequests returns a handler that makes a span of each request, except probes and requests for
// metrics. A nil provider returns next itself. A span has the route and no path, query, address or
// program of the client: they may name a unit.
func traceRequests(provider trace.TracerProvider, next http.Handler) http.Handler {
	if provider == nil {
		return next
	}
	traced := otelhttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, part *http.Request) {
		r := part.Context().Value(tracedKey{}).(*http.Request).WithContext(part.Context())
		span := trace.SpanFromContext(r.Context())
		next.ServeHTTP(w, r)
		part.Pattern = r.Pattern // names the span
		span.SetAttributes(attribute.String("http.route", r.Pattern),
			attribute.String("noregret.request_id", w.Header().Get(web.RequestID)))
	}), "request", otelhttp.WithTracerProvider(provider), otelhttp.WithMeterProvider(metricnoop.NewMeterProvider()),
		otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string {
			if r.Pattern == "" {
				return r.Method
			}
			return r.Pattern
		}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/livez", "/readyz", "/readyz/writes", "/metrics":
			next.ServeHTTP(w, r)
			return
		}
		part := &http.Request{
			Method: r.Method, URL: &url.URL{}, Header: http.Header{}, Body: http.NoBody,
			Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor, TLS: r.TLS,
		}
		for _, name := range []string{"Traceparent", "Tracestate"} {
			if v := r.Header.Values(name); len(v) > 0 {
				part.Header[name] = v
			}
		}
		traced.ServeHTTP(w, part.WithContext(context.WithValue(r.Context(), tracedKey{}, r)))
	})
}
