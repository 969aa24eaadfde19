package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.uber.org/goleak"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/policy"
)

// world is a service with a clock of its own, on a file system in memory.
type world struct {
	t      testing.TB
	server *Server
	config Config
	http   *httptest.Server
	logs   *lockedBuffer
	mu     sync.Mutex
	now    time.Time
	token  string
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// noLeaks checks at the end of a test that it has ended its goroutines. A test whose disk fails
// does not call it: a failed pebble cannot be ended (eventlog/DESIGN.md).
func noLeaks(t testing.TB) {
	t.Helper()
	running := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, running) })
}

// testConfig is the default on a file system in memory, where rounds close only when something else
// happens.
func testConfig(t testing.TB) Config {
	c := DefaultConfig(t.TempDir())
	c.FS, c.Tick = vfs.NewMem(), time.Hour
	return c
}

func newWorld(t testing.TB, change ...func(*Config)) *world {
	t.Helper()
	noLeaks(t)
	return newLeakyWorld(t, change...)
}

func newLeakyWorld(t testing.TB, change ...func(*Config)) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), logs: &lockedBuffer{}}
	w.config = testConfig(t)
	w.config.Now = func() time.Time {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.now
	}
	w.config.Logger = slog.New(slog.NewTextHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, c := range change {
		c(&w.config)
	}
	w.start()
	t.Cleanup(func() {
		w.http.Close()
		if err := w.server.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) start() {
	w.t.Helper()
	s, err := New(w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	w.server = s
	w.http = httptest.NewServer(s.Handler())
}

// restart ends the service and begins it anew on the same log.
func (w *world) restart() {
	w.t.Helper()
	w.http.Close()
	if err := w.server.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.start()
}

// settle waits until the writer is idle: until it has finished the commands before this one and the
// snapshot and the compaction that they have started. The log does not change afterwards.
func (w *world) settle() {
	w.t.Helper()
	if _, err := w.server.writer.submit(context.Background(), &command{}); err != nil {
		w.t.Fatal(err)
	}
	w.server.writer.snapshots.running.Wait()
}

func (w *world) wait(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// do sends a request with a JSON body, if any, and the token.
func (w *world) do(method, path, body string, header ...string) (int, []byte) {
	w.t.Helper()
	r, err := http.NewRequest(method, w.http.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if w.token != "" {
		r.Header.Set("Authorization", "Bearer "+w.token)
	}
	resp, b := w.send(r, header...)
	return resp.StatusCode, b
}

// send sends a request with further headers, follows no redirection, and checks the answer against
// the OpenAPI document.
func (w *world) send(r *http.Request, header ...string) (*http.Response, []byte) {
	w.t.Helper()
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	checkAnswer(w.t, w.server, r, resp, b)
	return resp, b
}

// get sends a request, requires the given status and reads the answer into v.
func (w *world) get(status int, v any, method, path, body string, header ...string) {
	w.t.Helper()
	got, b := w.do(method, path, body, header...)
	if got != status {
		w.t.Fatalf("%s %s: status %d, want %d: %s", method, path, got, status, b)
	}
	if v != nil {
		if err := json.Unmarshal(b, v); err != nil {
			w.t.Fatalf("%s %s: %v: %s", method, path, err, b)
		}
	}
}

const toy = `name: toy
arms:
  - {name: control, value: {boost: 0}}
  - {name: gain, value: {boost: 1}}
  - {name: guard, value: {boost: -1}}
control: {arm: control, share: 0.2}
metrics:
  - {name: x}
  - {name: y, range: [-10, 10]}
objective: {goals: [{metric: x}]}
guardrails: [{metric: y, min: 0, hard: false}]
round: {length: 1m, min_units: 10}
attribution_window: 10m
hold_back: 0.1
`

func (w *world) apply(text string) {
	w.t.Helper()
	d, err := definition.Parse("d", []byte(text))
	if err != nil {
		w.t.Fatal(err)
	}
	if status, b := w.do("PUT", "/v1/experiments/"+d.Name, text, "Content-Type", "application/yaml"); status/100 != 2 {
		w.t.Fatalf("status %d: %s", status, b)
	}
}

type decision struct {
	Unit       string
	Arm        string
	Value      json.RawMessage
	Propensity float64
	Version    uint64
	Token      string
}

func (w *world) decide(name string, units ...string) []decision {
	w.t.Helper()
	in, err := json.Marshal(map[string]any{"units": units})
	if err != nil {
		w.t.Fatal(err)
	}
	var out struct{ Decisions []decision }
	w.get(200, &out, "POST", "/v1/experiments/"+name+"/decide", string(in))
	return out.Decisions
}

type item struct {
	Token   string             `json:"token"`
	Metrics map[string]float64 `json:"metrics,omitempty"`
}

func (w *world) post(path string, items ...item) policy.FeedbackResult {
	w.t.Helper()
	in, err := json.Marshal(map[string]any{"items": items})
	if err != nil {
		w.t.Fatal(err)
	}
	var out policy.FeedbackResult
	w.get(200, &out, "POST", path, string(in))
	return out
}

// doc is the compiled OpenAPI document.
var doc = sync.OnceValue(func() (d struct {
	all      map[string]any
	compiler *jsonschema.Compiler
	mu       *sync.Mutex
},
) {
	text, err := openAPIJSON()
	if err != nil {
		panic(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		panic(err)
	}
	d.all, d.mu = v.(map[string]any), &sync.Mutex{}
	d.compiler = jsonschema.NewCompiler()
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := d.compiler.AddResource("https://noregret.dev/openapi.json", v); err != nil {
		panic(err)
	}
	return d
})

// follow follows a path of keys, resolving references, and returns the node and its JSON pointer.
func follow(t testing.TB, keys ...string) (map[string]any, string) {
	t.Helper()
	node, pointer := doc().all, ""
	down := func(key string) bool {
		next, ok := node[key].(map[string]any)
		if ok {
			node = next
			pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		}
		return ok
	}
	for _, key := range keys {
		if !down(key) {
			return nil, ""
		}
		if ref, ok := node["$ref"].(string); ok {
			node, pointer = doc().all, ""
			for _, k := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
				down(k)
			}
		}
	}
	return node, pointer
}

// checkAnswer checks an answer against the document's schema for its route, status and media type.
func checkAnswer(t testing.TB, s *Server, r *http.Request, resp *http.Response, b []byte) {
	t.Helper()
	_, pattern := routeOf(s, r)
	if pattern == "" {
		return
	}
	status := http.StatusText(resp.StatusCode)
	keys := []string{"paths", pattern, strings.ToLower(r.Method), "responses", jsonInt(resp.StatusCode)}
	answer, _ := follow(t, keys...)
	if answer == nil {
		keys[4] = "default"
		if answer, _ = follow(t, keys...); answer == nil {
			t.Errorf("%s %s: the status %d is not in the document: %s", r.Method, pattern, resp.StatusCode, status)
			return
		}
	}
	if len(b) == 0 {
		return
	}
	media, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	schema, pointer := follow(t, append(keys, "content", media, "schema")...)
	if schema == nil {
		t.Errorf("%s %s: status %d: the media type %q is not in the document: %s", r.Method, pattern,
			resp.StatusCode, media, b)
		return
	}
	if !strings.HasSuffix(media, "json") {
		return
	}
	doc().mu.Lock()
	defer doc().mu.Unlock()
	compiled, err := doc().compiler.Compile("https://noregret.dev/openapi.json#" + pointer)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	if err := compiled.Validate(v); err != nil {
		t.Errorf("%s %s: %v\n%s", r.Method, pattern, err, b)
	}
}

func jsonInt(n int) string {
	b, _ := json.Marshal(n)
	return string(b)
}

// routeOf returns the route of a request.
func routeOf(s *Server, r *http.Request) (http.Handler, string) {
	h, pattern := s.router.mux.Handler(r)
	method, path, ok := strings.Cut(pattern, " ")
	if !ok || method != r.Method {
		return h, ""
	}
	return h, strings.TrimSuffix(path, "{$}")
}
