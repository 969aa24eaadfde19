package service

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestTracesAreSent: the spans reach the collector of --traces, or that of OpenTelemetry's
// variable, with the name of the service. Without both there is no provider.
func TestTracesAreSent(t *testing.T) {
	for _, variable := range []bool{false, true} {
		got := make(chan []byte, 10)
		collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			var in io.Reader = r.Body
			if r.Header.Get("Content-Encoding") == "gzip" {
				in, _ = gzip.NewReader(r.Body)
			}
			b, _ := io.ReadAll(in)
			got <- append([]byte(r.URL.Path+" "), b...)
		}))
		o := &serveOptions{listening: listening{traces: collector.URL}}
		o.Logger = slog.New(slog.DiscardHandler)
		if variable {
			o.traces = ""
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
		}
		if err := o.checkTraces(); err != nil {
			t.Fatal(err)
		}
		end, err := o.openTraces(t.Context(), &o.Limits)
		if err != nil || o.Traces == nil {
			t.Fatalf("no traces: %v", err)
		}
		_, span := o.Traces.Tracer("test").Start(t.Context(), "a-span")
		span.End()
		end()
		collector.Close()
		close(got)
		b := <-got
		if !bytes.HasPrefix(b, []byte("/v1/traces ")) || !bytes.Contains(b, []byte("a-span")) ||
			!bytes.Contains(b, []byte("noregret")) {
			t.Errorf("by a variable: %t: the collector got %q", variable, b)
		}
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	o := &serveOptions{}
	if end, err := o.openTraces(t.Context(), &o.Limits); err != nil || o.Traces != nil {
		t.Errorf("traces without a collector: %v", err)
	} else {
		end()
	}
}

// TestTracesAreDisabled: OTEL_SDK_DISABLED=true, in small letters or capitals, means no traces, not
// even with --traces. Every other value means false, as OpenTelemetry requires.
func TestTracesAreDisabled(t *testing.T) {
	for value, want := range map[string]bool{
		"true": false, "TRUE": false, "False": true, "1": true, "yes": true, "": true,
	} {
		t.Setenv("OTEL_SDK_DISABLED", value)
		o := &serveOptions{listening: listening{traces: "http://127.0.0.1:9"}}
		o.Logger = slog.New(slog.DiscardHandler)
		end, err := o.openTraces(t.Context(), &o.Limits)
		if err != nil {
			t.Fatal(err)
		}
		end()
		if (o.Traces != nil) != want {
			t.Errorf("OTEL_SDK_DISABLED=%q: traces %t, want %t", value, o.Traces != nil, want)
		}
	}
}
