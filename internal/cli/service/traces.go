package service

import (
	"context"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/otlp"
	"github.com/noregret/noregret/server"
)

// tracesEnd bounds how long the end of the service waits for the collector of traces.
const tracesEnd = 5 * time.Second

// checkTraces checks --traces.
func (o *listening) checkTraces() error {
	u, err := url.Parse(o.traces)
	if o.traces != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return noregret.Errorf(noregret.Usage, "--traces",
			"%q: want the URL of a collector, such as http://127.0.0.1:4318", o.traces)
	}
	return nil
}

// openTraces sets the provider of traces of the service, if --traces or one of OpenTelemetry's own
// variables for the collector is set, and OTEL_SDK_DISABLED is not true. Call end at the end.
func (o *listening) openTraces(ctx context.Context, l *server.Limits) (end func(), err error) {
	if strings.EqualFold(strings.TrimSpace(os.Getenv("OTEL_SDK_DISABLED")), "true") ||
		o.traces == "" && !otlp.Configured(os.Getenv) {
		return func() {}, nil
	}
	client, err := otlp.New(o.traces, os.Getenv)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, noregret.Errorf(noregret.Usage, "--traces", "%w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "noregret")),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, noregret.Errorf(noregret.Usage, "OTEL_RESOURCE_ATTRIBUTES", "%w", err)
	}
	logger := l.Logger
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		logger.Warn("traces could not be sent", "error", err)
	}))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	l.Traces = provider
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), tracesEnd)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			logger.Warn("the last traces could not be sent", "error", err)
		}
	}, nil
}
