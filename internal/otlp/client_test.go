package otlp

import (
	"compress/gzip"
	"context"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// environment returns a getenv of fixed variables.
func environment(v map[string]string) func(string) string {
	return func(name string) string { return v[name] }
}

// collector answers each request by the next of the answers and keeps what it got.
type collector struct {
	*httptest.Server
	requests []*http.Request
	bodies   [][]byte
}

func newCollector(t *testing.T, answers ...func(w http.ResponseWriter)) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			in = z
		}
		b, err := io.ReadAll(in)
		if err != nil {
			t.Error(err)
		}
		c.requests, c.bodies = append(c.requests, r), append(c.bodies, b)
		if n := len(c.requests) - 1; n < len(answers) {
			answers[n](w)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func status(code int) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "0")
		http.Error(w, "busy", code)
	}
}

// upload sends one span by a client.
func upload(t *testing.T, c *Client) error {
	t.Helper()
	defer c.Stop(t.Context())
	return c.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{SchemaUrl: "a-schema"}})
}

// TestSpansArrive: the spans of the SDK reach the collector as an ExportTraceServiceRequest, with
// the headers of the environment, compressed or not.
func TestSpansArrive(t *testing.T) {
	for _, compression := range []string{"", "gzip"} {
		at := newCollector(t)
		c, err := New("", environment(map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT":    at.URL + "/base/",
			"OTEL_EXPORTER_OTLP_HEADERS":     "api-key=a%20b, x-two = 2",
			"OTEL_EXPORTER_OTLP_COMPRESSION": compression,
		}))
		if err != nil {
			t.Fatal(err)
		}
		exporter := otlptrace.NewUnstarted(c)
		if err := exporter.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
		_, span := provider.Tracer("tracer").Start(t.Context(), "a-span")
		span.End()
		if err := provider.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(at.requests) != 1 {
			t.Fatalf("%d requests, want 1", len(at.requests))
		}
		r := at.requests[0]
		got := []string{r.Method, r.URL.Path}
		for _, name := range []string{"Api-Key", "X-Two", "Content-Type"} {
			got = append(got, r.Header.Get(name))
		}
		want := []string{"POST", "/base/v1/traces", "a b", "2", "application/x-protobuf"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("request (-want +got):\n%s", d)
		}
		var data tracepb.TracesData
		if err := proto.Unmarshal(at.bodies[0], &data); err != nil {
			t.Fatal(err)
		}
		if name := data.ResourceSpans[0].ScopeSpans[0].Spans[0].Name; name != "a-span" {
			t.Errorf("the span is named %q, want a-span", name)
		}
	}
}

// TestAnswers: what is tried again, what is an error, and how many requests each takes.
func TestAnswers(t *testing.T) {
	partial := func(w http.ResponseWriter) {
		var message []byte
		message = protowire.AppendVarint(protowire.AppendTag(message, 1, protowire.VarintType), 3)
		message = protowire.AppendString(protowire.AppendTag(message, 2, protowire.BytesType), "too old")
		w.Header().Set("Content-Type", "application/x-protobuf")
		_, _ = w.Write(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), message))
	}
	empty := func(w http.ResponseWriter) { w.Header().Set("Content-Type", "application/x-protobuf") }
	broken := func(w http.ResponseWriter) {
		empty(w)
		_, _ = w.Write([]byte{0x0a, 0xff})
	}
	for name, c := range map[string]struct {
		answers  []func(http.ResponseWriter)
		requests int
		err      string // in the error, "" for none
	}{
		"accepted":         {nil, 1, ""},
		"empty":            {[]func(http.ResponseWriter){empty}, 1, ""},
		"another form":     {[]func(http.ResponseWriter){broken}, 1, ""},
		"busy":             {[]func(http.ResponseWriter){status(429), status(503), status(502), status(504)}, 5, ""},
		"refused":          {[]func(http.ResponseWriter){status(400)}, 1, "400 Bad Request"},
		"an error":         {[]func(http.ResponseWriter){status(500)}, 1, "500 Internal"},
		"busy and refused": {[]func(http.ResponseWriter){status(429), status(401)}, 2, "401"},
		"partial success":  {[]func(http.ResponseWriter){partial}, 1, `refused 3 spans: "too old"`},
	} {
		t.Run(name, func(t *testing.T) {
			at := newCollector(t, c.answers...)
			client, err := New(at.URL, environment(nil))
			if err != nil {
				t.Fatal(err)
			}
			err = upload(t, client)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want one with %q", err, c.err)
			}
			if len(at.requests) != c.requests {
				t.Errorf("%d requests, want %d", len(at.requests), c.requests)
			}
		})
	}
}

// TestStopEndsUploads: an upload that waits for its next try ends with the client.
func TestStopEndsUploads(t *testing.T) {
	var client *Client
	at := newCollector(t, func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "50")
		w.WriteHeader(http.StatusServiceUnavailable)
		if err := client.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	client, err := New(at.URL, environment(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := client.UploadTraces(context.Background(), nil); err == nil {
		t.Error("no error for spans that are lost")
	}
}

// TestCertificates: a collector with a certificate of its own is trusted by CERTIFICATE alone.
func TestCertificates(t *testing.T) {
	at := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	at.Config.ErrorLog = nil
	defer at.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: at.Certificate().Raw})
	if err := os.WriteFile(file, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := New(at.URL, environment(map[string]string{"OTEL_EXPORTER_OTLP_CERTIFICATE": file}))
	if err != nil {
		t.Fatal(err)
	}
	if err := upload(t, client); err != nil {
		t.Error(err)
	}
	if _, err := New(at.URL, environment(map[string]string{"OTEL_EXPORTER_OTLP_CERTIFICATE": file + "x"})); err == nil {
		t.Error("a missing file of certificates is accepted")
	}
}

// TestSettings: the endpoints, the order of variables, and values that are refused by name.
func TestSettings(t *testing.T) {
	const all, traces = "OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"
	for _, c := range []struct {
		flag string
		env  map[string]string
		want string // the endpoint, or after "!" a part of the error
	}{
		{"http://c:4318", nil, "http://c:4318/v1/traces"},
		{"http://c:4318/", nil, "http://c:4318/v1/traces"},
		{"https://c/own", nil, "https://c/own"},
		{"", map[string]string{all + "ENDPOINT": "http://a"}, "http://a/v1/traces"},
		{"", map[string]string{all + "ENDPOINT": "http://a", traces + "ENDPOINT": "http://b/x"}, "http://b/x"},
		{"", map[string]string{traces + "ENDPOINT": "http://b"}, "http://b/"},
		{"http://c", map[string]string{all + "ENDPOINT": "http://a"}, "http://c/v1/traces"},
		{"", nil, "!ENDPOINT"},
		{"c:4318", nil, "!the URL of a collector"},
		{"http://c", map[string]string{all + "TIMEOUT": "10s"}, "!OTEL_EXPORTER_OTLP_TIMEOUT"},
		{"http://c", map[string]string{traces + "TIMEOUT": "0"}, "!OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"},
		{"http://c", map[string]string{all + "COMPRESSION": "zstd"}, "!gzip or none"},
		{"http://c", map[string]string{all + "PROTOCOL": "grpc"}, "!http/protobuf"},
		{"http://c", map[string]string{all + "HEADERS": "secret"}, "!pairs key=value"},
		{"http://c", map[string]string{all + "HEADERS": "a=%zz"}, "!pairs key=value"},
		{"http://c", map[string]string{all + "HEADERS": "a b=c"}, "!pairs key=value"},
		{"http://c", map[string]string{all + "HEADERS": "a=b%0d%0aEvil:1"}, "!pairs key=value"},
		{"http://c", map[string]string{all + "CLIENT_KEY": "/none"}, "!CLIENT_CERTIFICATE"},
	} {
		s, err := readSettings(c.flag, environment(c.env))
		part, wrong := strings.CutPrefix(c.want, "!")
		switch {
		case wrong && (err == nil || !strings.Contains(err.Error(), part)):
			t.Errorf("%q %v: error %v, want one with %q", c.flag, c.env, err, part)
		case !wrong && (err != nil || s.endpoint != c.want):
			t.Errorf("%q %v: endpoint %q (%v), want %q", c.flag, c.env, s.endpoint, err, c.want)
		}
	}
	if Configured(environment(nil)) || !Configured(environment(map[string]string{traces + "ENDPOINT": "x"})) {
		t.Error("Configured is wrong")
	}
}
