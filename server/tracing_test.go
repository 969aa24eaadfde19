package server

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// TestTraces: each request is a span named after its route, in the trace of the client, with the
// request's identifier and without what may name a unit. Probes have none. The access log names the
// trace.
func TestTraces(t *testing.T) {
	t.Run("alone", func(t *testing.T) { checkTraces(t, false) })
	t.Run("with an access log", func(t *testing.T) { checkTraces(t, true) })
}

func checkTraces(t *testing.T, accessLog bool) {
	spans := tracetest.NewSpanRecorder()
	var lines lockedBuffer
	w := newWorld(t, func(c *Config) {
		c.Traces = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
		if accessLog {
			c.AccessLog = slog.New(slog.NewJSONHandler(&lines, nil))
		}
	})
	w.apply(toy)
	begin := len(spans.Ended())
	const id = "0af7651916cd43dd8448eb211c80319c"
	w.do("POST", "/v1/experiments/toy/decide", `{"units": ["secret-unit"]}`, "Traceparent", "00-"+id+"-b7ad6b7169203331-01",
		"X-Request-Id", "mine")
	w.do("GET", "/v1/experiments/toy/explain?token=secret-unit", "", "User-Agent", "secret-unit")
	w.do("GET", "/secret-unit", "")
	w.do("GET", "/livez", "")
	w.do("GET", "/readyz", "")
	w.do("GET", "/metrics", "")
	got := spans.Ended()[begin:]
	want := []string{"POST /v1/experiments/{name}/decide", "GET /v1/experiments/{name}/explain", "/"}
	if len(got) != len(want) {
		t.Fatalf("%d spans, want %d", len(got), len(want))
	}
	for i, s := range got {
		text := fmt.Sprint(s.Name(), s.Attributes(), s.Events())
		if s.Name() != want[i] || strings.Contains(text, "secret") || strings.Contains(text, "127.0.0.1") {
			t.Errorf("span %d: %s, want %s", i, text, want[i])
		}
	}
	first := got[0]
	if first.SpanContext().TraceID().String() != id || first.Parent().SpanID().String() != "b7ad6b7169203331" {
		t.Errorf("the span %v is not in the client's trace", first.SpanContext())
	}
	if text := fmt.Sprint(first.Attributes()); !strings.Contains(text, "mine") || !strings.Contains(text, "200") {
		t.Errorf("attributes %s", text)
	}
	if got[1].SpanContext().TraceID() == first.SpanContext().TraceID() {
		t.Error("a request without a trace is in that of another")
	}
	if accessLog && !strings.Contains(lines.String(), `"trace":"`+id+`"`) {
		t.Errorf("the access log does not name the trace: %s", lines.String())
	}
}
