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
	"go.yaml.in/yaml/v3"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
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
// happens, and experiments are deleted for good.
func testConfig(t testing.TB) Config {
	c := DefaultConfig(t.TempDir())
	c.FS, c.Tick, c.DeleteGrace = vfs.NewMem(), time.Hour, 0
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
	w.end()
	w.start()
}

// end ends the service.
func (w *world) end() {
	w.t.Helper()
	w.http.Close()
	if err := w.server.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// settle waits until the writer is idle: until it has finished the commands before this one and the
// snapshot and the compaction that they have started. The log does not change afterwards.
func (w *world) settle() {
	w.t.Helper()
	if err := w.idle(); err != nil {
		w.t.Fatal(err)
	}
}

// idle is settle for a log that may have failed, whose error it returns. The writer starts a
// snapshot after it has answered the command that caused it, so waiting for the snapshots alone
// would race with that start.
func (w *world) idle() error {
	_, err := w.server.writer.submit(context.Background(), &command{})
	w.server.writer.snapshots.running.Wait()
	return err
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

// send sends a request with further headers, follows no redirection, and checks the answer and, if
// the service accepts it, the request against the OpenAPI document.
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
	checkRequest(w.t, w.server, r, resp.StatusCode, b)
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

func (w *world) post(path string, items ...item) api.FeedbackResult {
	w.t.Helper()
	in, err := json.Marshal(map[string]any{"items": items})
	if err != nil {
		w.t.Fatal(err)
	}
	var out api.FeedbackResult
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
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(openAPI))
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
	if pattern == "" || r.Method == http.MethodOptions { // what browsers ask is no operation
		return
	}
	status := http.StatusText(resp.StatusCode)
	keys := []string{"paths", pattern, strings.ToLower(r.Method), "responses", jsonInt(resp.StatusCode)}
	answer, _ := follow(t, keys...)
	if answer == nil {
		keys[4] = jsonInt(resp.StatusCode/100) + "XX"
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
	if err := validate(t, pointer, b); err != nil {
		t.Errorf("%s %s: %v\n%s", r.Method, pattern, err, b)
	}
}

// validate checks JSON against the schema at a pointer in the document.
func validate(t testing.TB, pointer string, b []byte) error {
	t.Helper()
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
	return compiled.Validate(v)
}

// checkRequest checks the body of a request that the service has accepted against the document's
// schema for its route and media type. Rejected items need not be valid.
func checkRequest(t testing.TB, s *Server, r *http.Request, status int, answer []byte) {
	t.Helper()
	_, pattern := routeOf(s, r)
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if status/100 != 2 || pattern == "" || r.GetBody == nil || media == "" || r.Header.Get("Content-Encoding") != "" {
		return
	}
	body, err := r.GetBody()
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(body)
	if err != nil || len(b) == 0 {
		return
	}
	keys := []string{"paths", pattern, strings.ToLower(r.Method), "requestBody", "content", media, "schema"}
	schema, pointer := follow(t, keys...)
	if schema == nil {
		t.Errorf("%s %s: the media type %q of the request is not in the document", r.Method, pattern, media)
		return
	}
	switch {
	case strings.HasSuffix(media, "yaml"):
		var v any
		if err := yaml.Unmarshal(b, &v); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if b, err = json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	case !strings.HasSuffix(media, "json"):
		return
	case bytes.Contains(answer, []byte(`"status":"rejected"`)):
		if b = acceptedItems(b, answer); b == nil {
			return
		}
	}
	if err := validate(t, pointer, b); err != nil {
		t.Errorf("%s %s: the request was accepted, but is not as the document says: %v\n%s", r.Method, pattern, err, b)
	}
}

// acceptedItems returns a request without the items that the answer has rejected, nil if none is
// left.
func acceptedItems(request, answer []byte) []byte {
	var in map[string]any
	var out api.FeedbackResult
	if json.Unmarshal(request, &in) != nil || json.Unmarshal(answer, &out) != nil {
		return nil
	}
	items, _ := in["items"].([]any)
	var kept []any
	for i := range items {
		if i < len(out.Items) && out.Items[i].Status != api.Rejected {
			kept = append(kept, items[i])
		}
	}
	if in["items"] = kept; len(kept) == 0 {
		return nil
	}
	b, _ := json.Marshal(in)
	return b
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
