// Package otlp sends the spans of OpenTelemetry's SDK to a collector: OTLP over HTTP, version 1, as
// protocol buffers.
//
//	client, err := otlp.New("http://127.0.0.1:4318", os.Getenv)
//	exporter := otlptrace.NewUnstarted(client)
//	provider := trace.NewTracerProvider(trace.WithBatcher(exporter))
//
// OpenTelemetry's own client for HTTP, otlptracehttp, imports gRPC for one type of its requests: a
// hundred packages that a program without gRPC compiles for nothing. The conversion of spans is
// OpenTelemetry's, package otlptrace; this package holds the request, the variables of the
// environment and what to do with the answers.
package otlp
