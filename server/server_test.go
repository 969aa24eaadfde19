package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/server/internal/access"
)

// TestDocument: every route is in the OpenAPI document and the other way round, with its role and
// its parameters.
func TestDocument(t *testing.T) {
	w := newWorld(t)
	paths := doc().all["paths"].(map[string]any)
	in := map[string]bool{}
	for _, rt := range w.server.router.all {
		key := rt.Method + " " + strings.TrimSuffix(rt.Pattern, "{$}")
		in[key] = true
		op, _ := follow(t, "paths", strings.TrimSuffix(rt.Pattern, "{$}"), strings.ToLower(rt.Method))
		if op == nil {
			t.Errorf("%s is not in the document", key)
			continue
		}
		if summary, _ := op["summary"].(string); rt.Role != access.Anyone &&
			!strings.Contains(summary, "role "+string(rt.Role)) {
			t.Errorf("%s: the summary %q does not name the role %s", key, summary, rt.Role)
		}
		if _, open := op["security"]; open != (rt.Role == access.Anyone) {
			t.Errorf("%s: the document and the route differ in who may", key)
		}
		if op["operationId"] == nil || op["responses"] == nil {
			t.Errorf("%s: no operationId or responses", key)
		}
	}
	for path, v := range paths {
		for method := range v.(map[string]any) {
			if key := strings.ToUpper(method) + " " + path; method != "parameters" && !in[key] {
				t.Errorf("the document has %s, which is no route", key)
			}
		}
	}
	status, b := w.do("GET", "/openapi.json", "")
	if status != 200 || !bytes.Contains(b, []byte(`"openapi":"3.1.0"`)) {
		t.Errorf("status %d: %.100s", status, b)
	}
}

// TestWholeLoop goes once around: definition, decision, exposure, feedback, round, report,
// explanation.
func TestWholeLoop(t *testing.T) {
	w := newWorld(t)
	var a experiment.Applied
	w.get(201, &a, "PUT", "/v1/experiments/toy", toy, "Content-Type", "application/yaml")
	if !a.Created || !a.Changed || a.Version != 1 {
		t.Errorf("%+v", a)
	}
	w.get(200, &a, "PUT", "/v1/experiments/toy", toy, "Content-Type", "text/yaml")
	if a.Created || a.Changed {
		t.Errorf("the same again: %+v", a)
	}
	var d experiment.Definition
	w.get(200, &d, "GET", "/v1/experiments/toy", "")
	if d.Name != "toy" || d.Unit != "user" {
		t.Errorf("%+v", d)
	}
	units := []string{}
	for i := range 300 {
		units = append(units, fmt.Sprint("user-", i))
	}
	ds := w.decide("toy", units...)
	again := w.decide("toy", units...)
	for i := range ds {
		if ds[i].Arm != again[i].Arm || ds[i].Unit != units[i] {
			t.Fatalf("%+v and %+v", ds[i], again[i])
		}
	}
	var exposed, reported []item
	for _, d := range ds {
		exposed = append(exposed, item{Token: d.Token})
		x := map[string]float64{"control": 0, "gain": 2, "guard": 0}[d.Arm]
		y := map[string]float64{"control": 0.5, "gain": -2, "guard": 2}[d.Arm]
		reported = append(reported, item{d.Token, map[string]float64{"x": x, "y": y}})
	}
	if f := w.post("/v1/exposures", exposed...); f.Accepted != 300 {
		t.Errorf("%+v", f)
	}
	if f := w.post("/v1/feedback", reported...); f.Accepted != 300 {
		t.Errorf("%+v", f)
	}
	tampered := tamper(ds[0].Token)
	f := w.post("/v1/feedback", reported[0], item{tampered, map[string]float64{"x": 1}},
		item{ds[1].Token, map[string]float64{"y": 99}}, item{"nonsense", nil})
	if f.Duplicate != 1 || f.Rejected != 3 || f.Items[1].Error == "" || f.Items[0].Status != "duplicate" {
		t.Errorf("%+v", f)
	}
	w.wait(time.Minute)
	w.server.Tick() // the round closes
	w.wait(10 * time.Minute)
	w.server.Tick() // its window, too
	w.wait(time.Minute)
	late := w.post("/v1/feedback", item{ds[0].Token, map[string]float64{"x": 1}})
	if late.Late != 1 {
		t.Errorf("%+v", late)
	}
	w.post("/v1/exposures", item{Token: w.decide("toy", units...)[0].Token})
	var r experiment.Report
	w.get(200, &r, "GET", "/v1/experiments/toy/report", "")
	if r.Version != 2 || r.Round != 2 ||
		r.Feedback != (experiment.Counts{Accepted: 300, Duplicate: 1, Late: 1, Rejected: 2}) {
		t.Errorf("version %d, round %d, %+v", r.Version, r.Round, r.Feedback)
	}
	n := r.HoldBack.N
	for _, a := range r.Arms {
		n += a.N
	}
	if n != 301 || r.Arms["gain"].Metrics["x"].Mean == nil || *r.Arms["gain"].Metrics["x"].Mean != 2 ||
		r.Mixture["control"] < .2 || r.Mixture["control"] > .2+1e-12 {
		t.Errorf("%d units, %+v, %v", n, r.Arms, r.Mixture)
	}
	var e experiment.Explanation
	w.get(200, &e, "GET", "/v1/experiments/toy/explain?token="+ds[7].Token, "")
	if !e.Consistent || e.Arm != ds[7].Arm || e.Version != 1 || e.Propensity != ds[7].Propensity {
		t.Errorf("%+v", e)
	}
	w.get(400, nil, "GET", "/v1/experiments/toy/explain?token="+tampered, "")
	if logs := w.logs.String(); strings.Contains(logs, "user-") || strings.Contains(logs, ds[0].Token) {
		t.Errorf("the logs hold units or tokens: %s", logs)
	}
}

// TestOperator: pause, resume, rollback and delete, and what else there is to look at.
func TestOperator(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	units := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	token := w.decide("toy", units...)[0].Token
	var s experiment.Summary
	for _, step := range []struct {
		path   string
		status int
		state  experiment.Status
	}{
		{"pause", 200, "paused"},
		{"pause", 409, ""},
		{"resume", 200, "running"},
		{"rollback", 200, "rolled_back"},
		{"resume", 200, "running"},
	} {
		w.get(step.status, &s, "POST", "/v1/experiments/toy/"+step.path, `{"reason": "a test"}`)
		if step.status == 200 && s.State != step.state {
			t.Errorf("%s: %+v", step.path, s)
		}
		if step.state == "rolled_back" {
			for _, d := range w.decide("toy", units...) {
				if d.Arm != "control" || d.Propensity != 1 {
					t.Errorf("rolled back: %+v", d)
				}
			}
		}
	}
	w.get(200, nil, "GET", "/v1/experiments", "")
	w.get(200, nil, "GET", "/v1/state", "")
	w.get(200, nil, "GET", "/metrics", "")
	w.get(200, nil, "GET", "/v1/definition.schema.json", "")
	w.get(204, nil, "DELETE", "/v1/experiments/toy", "")
	w.get(404, nil, "GET", "/v1/experiments/toy/report", "")
	if f := w.post("/v1/feedback", item{token, map[string]float64{"x": 1}}); f.Rejected != 1 {
		t.Errorf("feedback for what is gone: %+v", f)
	}
}

// TestRecovery: after a restart, from snapshots or without, the state is the same and is a fold of
// the log.
func TestRecovery(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.SnapshotEvery = 5; c.Retain = time.Hour })
	w.apply(toy)
	for round := range 12 {
		var items []item
		var units []string
		for i := range 20 {
			units = append(units, fmt.Sprintf("u%d-%d", round, i))
		}
		for _, d := range w.decide("toy", units...) {
			items = append(items, item{d.Token, map[string]float64{"x": float64(round), "y": 1}})
		}
		w.post("/v1/feedback", items...)
		for i := range items {
			items[i].Metrics = nil
		}
		w.post("/v1/exposures", items...)
		w.wait(time.Minute)
		w.server.Tick()
		if round == 8 {
			w.wait(2 * time.Hour) // what is older may go
			w.server.Tick()
		}
		w.settle()
		want, err := w.server.State()
		if err != nil {
			t.Fatal(err)
		}
		if round%3 == 1 {
			before := w.decide("toy", units...)
			w.restart()
			after := w.decide("toy", units...)
			if got, err := w.server.State(); err != nil || got != want {
				t.Fatalf("round %d: %+v became %+v, %v", round, want, got, err)
			}
			if before[0].Token != after[0].Token || before[3].Token != after[3].Token {
				t.Error("the tokens differ: the keys were not kept")
			}
		}
		if stats := w.server.log.Stats(); stats.First == 1 {
			state := experiment.NewState()
			if err := Fold(context.Background(), w.server.log, state, stats.Last); err != nil {
				t.Fatal(err)
			}
			if digest, err := state.Digest(); err != nil || digest != want.Digest || state.Position() != want.Position {
				t.Fatalf("round %d: the fold of the log is %s at %d, the state %+v", round, digest, state.Position(),
					want)
			}
		}
	}
	if w.server.log.Stats().First == 1 {
		t.Error("nothing was compacted")
	}
	if status, b := w.do("GET", "/v1/export?from=1", ""); status != http.StatusGone {
		t.Errorf("status %d: %s", status, b)
	}
}

// TestDecideTakesNoLock: decisions are answered while the state is locked and the writer stands
// still.
func TestDecideTakesNoLock(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	w.server.live.mu.Lock()
	ds := w.decide("toy", "a", "b")
	w.get(200, nil, "POST", "/ofrep/v1/evaluate/flags/toy", `{"context": {"targetingKey": "a"}}`)
	w.server.live.mu.Unlock()
	if len(ds) != 2 {
		t.Error(ds)
	}
	last := w.server.log.Stats().Last
	w.decide("toy", "c")
	if got := w.server.log.Stats().Last; got != last {
		t.Errorf("deciding wrote to the log: %d events after %d", got, last)
	}
}

// TestImmediateExposure: the option counts units when they are decided for, durably.
func TestImmediateExposure(t *testing.T) {
	w := newWorld(t)
	w.apply(strings.Replace(toy, "hold_back: 0.1", "exposure: immediate", 1))
	w.decide("toy", "a", "b", "a")
	w.get(200, nil, "POST", "/ofrep/v1/evaluate/flags/toy", `{"context": {"targetingKey": "c"}}`)
	r, err := w.server.Report("toy")
	if err != nil {
		t.Fatal(err)
	}
	if r.Health.Exposures != (experiment.Counts{Accepted: 3, Duplicate: 1}) {
		t.Errorf("%+v", r.Health.Exposures)
	}
}

// TestLongPoll: a client that has the policy waits until it changes.
func TestLongPoll(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	get := func(tag, wait string) (*http.Response, *experiment.Policy) {
		r, err := http.NewRequest("GET", w.http.URL+"/v1/experiments/toy/policy?wait="+wait, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("If-None-Match", tag)
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Error(err)
			return nil, nil
		}
		defer func() { _ = resp.Body.Close() }()
		var b bytes.Buffer
		_, _ = b.ReadFrom(resp.Body)
		if resp.StatusCode != 200 {
			return resp, nil
		}
		p, err := experiment.ParsePolicy(b.Bytes())
		if err != nil {
			t.Error(err)
		}
		return resp, p
	}
	first, p := get("", "0s")
	tag := first.Header.Get("ETag")
	for i, d := range w.decide("toy", "a", "b", "c", "d") {
		if got := p.Decide([]string{"a", "b", "c", "d"}[i]); got.Name != d.Arm || got.Propensity != d.Propensity {
			t.Errorf("the client's %+v, the server's %+v", got, d)
		}
	}
	if r, _ := get(tag, "0s"); r.StatusCode != http.StatusNotModified {
		t.Errorf("status %d", r.StatusCode)
	}
	if r, _ := get(tag, "5ms"); r.StatusCode != http.StatusNotModified || r.Header.Get("ETag") != tag {
		t.Errorf("status %d", r.StatusCode)
	}
	done := make(chan *experiment.Policy)
	go func() {
		_, p := get(tag, "1m")
		done <- p
	}()
	w.get(200, nil, "POST", "/v1/experiments/toy/rollback", "")
	if p := <-done; p == nil || p.Version != 2 || p.State != experiment.RolledBack {
		t.Errorf("%+v", p)
	}
	w.get(400, nil, "GET", "/v1/experiments/toy/policy?wait=2h", "")
	w.get(404, nil, "GET", "/v1/experiments/none/policy", "")
	go func() {
		r, _ := get(w.server.policies.get("toy").policy.Digest, "0s")
		_ = r
		_, p := get(`"`+w.server.policies.get("toy").policy.Digest+`"`, "1m")
		done <- p
	}()
	w.server.Drain() // ends the poll
	if p := <-done; p != nil {
		t.Errorf("a poll that was ended got %+v", p)
	}
	w.get(503, nil, "GET", "/readyz", "")
	w.get(200, nil, "GET", "/livez", "")
}

// sendBy sends a request and reads the answer.
func sendBy(client *http.Client, method, url, body, media string) (int, []byte, error) {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", media)
	resp, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	var b bytes.Buffer
	_, err = b.ReadFrom(resp.Body)
	return resp.StatusCode, b.Bytes(), err
}

// TestServeDrains: requests that run when the end comes are answered, and what was answered is
// kept.
func TestServeDrains(t *testing.T) {
	noLeaks(t)
	fs := vfs.NewMem()
	config := Config{Data: t.TempDir(), FS: fs, Tick: time.Hour}
	s, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	served := make(chan error)
	go func() { served <- s.Serve(ctx, l, nil, 20*time.Second) }()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	base := "http://" + l.Addr().String()
	send := func(method, path, body, media string) (int, []byte, error) {
		return sendBy(client, method, base+path, body, media)
	}
	if status, b, err := send("PUT", "/v1/experiments/toy", toy, "application/yaml"); err != nil || status != 201 {
		t.Fatalf("%d %s %v", status, b, err)
	}
	var mu sync.Mutex
	acknowledged := 0
	var wg sync.WaitGroup
	for c := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; ; i++ {
				_, b, err := send("POST", "/v1/experiments/toy/decide", fmt.Sprintf(`{"units": ["%d-%d"]}`, c, i),
					"application/json")
				var out struct{ Decisions []decision }
				if err != nil || json.Unmarshal(b, &out) != nil || len(out.Decisions) == 0 {
					return
				}
				status, b, err := send("POST", "/v1/feedback",
					fmt.Sprintf(`{"items": [{"token": %q, "metrics": {"x": 1}}]}`, out.Decisions[0].Token),
					"application/json")
				if err != nil || status != 200 {
					return
				}
				if !bytes.Contains(b, []byte(`"accepted":1`)) {
					t.Errorf("%s", b)
				}
				mu.Lock()
				if acknowledged++; acknowledged == 40 {
					cancel()
				}
				mu.Unlock()
			}
		}()
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	again, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}()
	r, err := again.Report("toy")
	if err != nil {
		t.Fatal(err)
	}
	// A request whose answer was lost with its connection may have been taken, too: at most one a
	// client.
	if got := int(r.Feedback.Accepted); got < acknowledged || got > acknowledged+4 {
		t.Errorf("%d items were acknowledged, %d are there", acknowledged, got)
	}
	if _, err := s.writer.submit(context.Background(), &command{}); err == nil {
		t.Error("the closed service took a command")
	}
}

func TestMetricsAreWellFormed(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	w.decide("toy", "a", "b")
	families, err := w.server.metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	_, b := w.do("GET", "/metrics", "")
	for _, want := range []string{
		`noregret_decisions_total{experiment="toy"} 2`, `noregret_policy_version{experiment="toy"} 1`,
		`noregret_log_last_position 1`,
		`noregret_guardrail_state{experiment="toy",guardrail="0",metric="y"} 0`,
		`noregret_http_request_duration_seconds_bucket{route="POST /v1/experiments/{name}/decide"`,
		`noregret_http_requests_total{code="200",route="POST /v1/experiments/{name}/decide"} 1`,
	} {
		if !bytes.Contains(b, []byte(want)) {
			t.Errorf("%s is missing", want)
		}
	}
}

func TestRateLimit(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Rate, c.Burst = 0.001, 3 })
	got := []int{}
	for range 5 {
		status, _ := w.do("GET", "/v1/experiments", "")
		got = append(got, status)
	}
	if !slices.Equal(got, []int{200, 200, 200, 429, 429}) {
		t.Error(got)
	}
	w.get(200, nil, "GET", "/livez", "")
}

func TestConfigRefused(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no directory": func(c *Config) {
			c.Data = ""
		}, "tick": func(c *Config) { c.Tick = 1 }, "body": func(c *Config) { c.MaxBody = 1 },
		"items": func(c *Config) {
			c.MaxItems = -1
		}, "answer": func(c *Config) {
			c.MaxAnswer = 1023
		}, "streams": func(c *Config) {
			c.MaxStreams = -1
		}, "rate": func(c *Config) { c.Rate = -1 }, "burst": func(c *Config) { c.Burst = -1 },
		"time": func(c *Config) { c.RequestTime = -1 }, "tokens": func(c *Config) { c.Tokens = "/nowhere" },
		"keys": func(c *Config) { c.Keys = &experiment.Keys{} },
	} {
		c := Config{Data: t.TempDir(), FS: vfs.NewMem()}
		change(&c)
		if s, err := New(c); err == nil {
			_ = s.Close()
			t.Errorf("%s was taken", name)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "keys.json"), []byte(`{"current": 1, "secrets": {"1": "AAAA"}}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := New(Config{Data: dir, FS: vfs.NewMem()}); err == nil {
		_ = s.Close()
		t.Error("short keys were taken")
	}
}

// TestKeysAreSecret: nobody else can read the keys.
func TestKeysAreSecret(t *testing.T) {
	w := newWorld(t)
	info, err := os.Stat(filepath.Join(w.config.Data, "keys.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

// tamper changes a character of a token's signature.
func tamper(token string) string {
	b := []byte(token)
	if i := len(b) - 5; b[i] == 'A' {
		b[i] = 'B'
	} else {
		b[i] = 'A'
	}
	return string(b)
}

// TestRefusedSumsComeAgain: a report of sums of which nothing counted does not use up its number.
func TestRefusedSumsComeAgain(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	send := func(units, sequence int) (f experiment.Fates) {
		w.get(200, &f, "POST", "/v1/aggregates",
			fmt.Sprintf(
				`{"experiment": "toy", "source": "s", "sequence": %d, "items": [{"version": 1, "arm": "gain", "units": %d}]}`, sequence, units))
		return f
	}
	if f := send(-2, 1); f.Rejected != 1 {
		t.Errorf("%+v", f)
	}
	if f := send(2, 1); f.Accepted != 1 {
		t.Errorf("corrected: %+v", f)
	}
	if f := send(2, 1); f.Duplicate != 1 {
		t.Errorf("again: %+v", f)
	}
}
