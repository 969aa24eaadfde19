package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/web"
)

const privateToy = `name: secret
arms: [{name: control, value: 0}, {name: gain, value: 1}]
control: {arm: control, share: 0.3}
metrics: [{name: buy, range: [0, 100], default: 0}, {name: n, kind: count, range: [0, 10], default: 1}]
objective: {goals: [{metric: buy}]}
guardrails: [{metric: n, max: 9, hard: false}]
round: {length: 1m, min_units: 10}
attribution_window: 10m
privacy: {epsilon: 1, delta: 1e-6, unit_contribution: 2, rounds: 8}
`

// privateServer is a service with a private experiment and a clock of its own. Its noise has a
// seed.
func privateServer(t *testing.T, change ...func(*Config)) *world {
	t.Helper()
	w := newWorld(t, append([]func(*Config){func(c *Config) {
		c.noise = []dp.Option{dp.WithInsecureDeterministicNoiseForTesting(5)}
		c.Keys = &policy.Keys{Current: 1, Secrets: map[byte][]byte{1: bytes.Repeat([]byte{7}, 32)}}
	}}, change...)...)
	w.apply(privateToy)
	return w
}

// privateRound decides for units, exposes them, reports for them and waits until the round is over.
func (w *world) privateRound(units []string, value func(i int) map[string]float64) (tokens []string) {
	w.t.Helper()
	tokens = w.privateFeedback(units, value)
	w.wait(time.Minute)
	w.server.Tick()
	return tokens
}

// privateFeedback decides for units, exposes them and reports what value returns for them.
func (w *world) privateFeedback(units []string, value func(i int) map[string]float64) (tokens []string) {
	w.t.Helper()
	var shown, said []item
	for i, d := range w.decide("secret", units...) {
		shown = append(shown, item{Token: d.Token})
		tokens = append(tokens, d.Token)
		if v := value(i); v != nil {
			said = append(said, item{Token: d.Token, Metrics: v})
		}
	}
	if f := w.post("/v1/exposures", shown...); f.Accepted != len(shown) {
		w.t.Fatalf("exposures: %+v", f)
	}
	if len(said) > 0 {
		if f := w.post("/v1/feedback", said...); f.Accepted != len(said) {
			w.t.Fatalf("feedback: %+v", f)
		}
	}
	return tokens
}

// matured waits until all windows are closed and released.
func (w *world) matured() {
	w.t.Helper()
	for range 2 {
		w.wait(20 * time.Minute)
		w.server.Tick()
	}
	w.server.Tick()
}

func (w *world) report(name string) *api.Report {
	w.t.Helper()
	r, err := w.server.Report(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// The released sums are the report's, the mixture follows from them, and the ledger has one run
// with as many steps.
func TestPrivateExperiment(t *testing.T) {
	w := privateServer(t)
	for round := range 3 {
		w.privateRound(unitNames(fmt.Sprint("r", round, "-"), 400), func(int) map[string]float64 {
			return map[string]float64{"buy": 60}
		})
	}
	w.matured()
	r := w.report("secret")
	p := r.Privacy
	if p == nil || p.Released != 3 || p.Waiting != 0 || p.Unknown != "" || p.Spent > 1 || p.Spent < 0.9 {
		t.Fatalf("%+v", p)
	}
	n, sum := int64(0), 0.0
	for arm, c := range p.Counts {
		n += c
		sum += p.Sums[arm]["buy"]
		want := min(max(p.Sums[arm]["buy"]/float64(c), 0), 100)
		if got := r.Arms[arm].Metrics["buy"].Mean; got == nil || *got-want > 1e-9 || want-*got > 1e-9 {
			t.Errorf("%s: the mean is not that of the released sums, %v", arm, want)
		}
	}
	if d := sum/60 - float64(n); n != 1200 || d == 0 || d*60 > 10*p.Noise["buy"] || -d*60 > 10*p.Noise["buy"] {
		t.Errorf("%d decisions, sum %v with noise %v: want 1200 and about 72000", n, sum, p.Noise["buy"])
	}
	for _, want := range []string{
		"protected:", "not protected:", "at most 2", "data directory", "sent feedback at all",
	} {
		if !strings.Contains(p.Statement, want) {
			t.Errorf("the statement has no %q:\n%s", want, p.Statement)
		}
	}
	names, err := PrivateNames(w.config.Data)
	if err != nil || len(names) != 1 || names[0] != "secret" {
		t.Fatal(names, err)
	}
	_, runs, err := w.server.writer.privacy.ledger.Account("secret")
	if err != nil || len(runs) != 1 || runs[0].Steps != 3 {
		t.Errorf("%+v, %v", runs, err)
	}
	before := w.report("secret").Privacy
	w.restart()
	after := w.report("secret").Privacy
	if fmt.Sprint(after.Sums) != fmt.Sprint(before.Sums) || after.Spent != before.Spent {
		t.Errorf("after a restart: %+v, want %+v", after, before)
	}
	w.privateRound(unitNames("late", 50), func(int) map[string]float64 { return nil })
	w.matured()
	if p := w.report("secret").Privacy; p.Released != 4 || p.Ended != "" {
		t.Errorf("after a restart: %+v", p)
	}
}

// volatile are the parts of answers that differ between any two runs, for reasons that have nothing
// to do with feedback.
var volatile = regexp.MustCompile(`(?m)^(go_|process_|noregret_http_|noregret_log_groups|` +
	`noregret_connections|promhttp_|# ).*$|"digest":"[0-9a-f]+"|"secret":"[^"]*"|name="secret" value="[^"]*"`)

// pictures are the charts of the dashboard.
var pictures = []string{"mixture", "lift", "objective", "regret", "guardrail-0"}

// privateAnswers returns the answers of all GET routes to an experiment whose units report by a
// function. The noise of both is the same where the sums are.
func privateAnswers(t *testing.T, given *[][]float64, value func(i int) map[string]float64) map[string]string {
	t.Helper()
	w := privateServer(t, func(c *Config) {
		step := 0
		c.released = func(sums []float64) {
			if step < len(*given) {
				copy(sums, (*given)[step])
			} else {
				*given = append(*given, slices.Clone(sums))
			}
			step++
		}
	})
	var tokens []string
	for round := range 3 {
		tokens = append(tokens, w.privateRound(unitNames(fmt.Sprint("r", round, "-"), 60), value)...)
	}
	w.matured()
	w.privateRound(unitNames("last", 30), value)
	w.privateFeedback(unitNames("probed", 30), value)
	probes := w.probe(unitNames("probed", 30))
	out := w.allAnswers("secret", tokens[3])
	maps.Copy(out, probes)
	return out
}

// probe returns the answers to somebody else who decides for the units, which gives tokens of
// them, and reports each metric alone and both together.
func (w *world) probe(units []string) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for _, metrics := range []string{`{"buy":0}`, `{"n":0}`, `{"buy":1,"n":1}`} {
		var items []string
		for _, d := range w.decide("secret", units...) {
			items = append(items, fmt.Sprintf(`{"token":%q,"metrics":%s}`, d.Token, metrics))
		}
		status, b := w.do("POST", "/v1/feedback", `{"items":[`+strings.Join(items, ",")+`]}`)
		out["POST /v1/feedback "+metrics] = fmt.Sprint(status, " ", string(b))
	}
	return out
}

// allAnswers returns the answers of all GET routes by their path, those about experiments to one of
// them. A stream is represented by its first event, which has all its parts.
func (w *world) allAnswers(name, token string) map[string]string {
	w.t.Helper()
	// noregret_open_memory_bytes counts pages until the garbage collector has found that nothing
	// refers to them.
	for range 5 {
		done := make(chan struct{})
		runtime.AddCleanup(new(world), func(done chan struct{}) { close(done) }, done)
		runtime.GC()
		<-done
	}
	out := map[string]string{}
	for _, rt := range w.server.router.all {
		if rt.Method != http.MethodGet {
			continue
		}
		for i := range 4 * len(pictures) {
			picture := pictures[i/4] + []string{".svg", ".csv", ".json", ".png"}[i%4]
			path := strings.NewReplacer("{name}", name, "{$}", "", "{picture}", picture, "{file}", "style.css",
				"{version}", "2").Replace(rt.Pattern)
			if strings.HasSuffix(path, "explain") {
				path += "?token=" + token
			}
			if _, done := out[path]; done {
				continue
			}
			var status int
			var b []byte
			if rt.Stream == web.Dashboards {
				status, b = w.firstEvent(path)
			} else {
				status, b = w.do("GET", path, "")
			}
			out[path] = fmt.Sprint(status, " ", volatile.ReplaceAllString(string(b), ""))
		}
	}
	return out
}

// firstEvent returns the data of the first event of a stream, or another answer as it is.
func (w *world) firstEvent(path string) (status int, body []byte) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.http.URL+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if ok || resp.StatusCode != http.StatusOK {
			return resp.StatusCode, bytes.Clone(data)
		}
	}
	w.t.Fatalf("%s: status %d without an event: %v", path, resp.StatusCode, lines.Err())
	return 0, nil
}

// No answer of the service depends on the feedback of a private experiment beyond what is released:
// with the same releases all answers are the same, byte for byte, whatever was reported and for how
// many units. That covers reports, policies, explanations, pages, their streams of changes,
// pictures, metrics, states and exports.
func TestPrivateAnswers(t *testing.T) {
	testsize.NoRace(t)
	var releases [][]float64
	loud := privateAnswers(t, &releases, func(int) map[string]float64 {
		return map[string]float64{"buy": 73.125, "n": 7}
	})
	if len(releases) != 3 {
		t.Fatalf("%d releases", len(releases))
	}
	if len(loud) < 20 {
		t.Fatalf("only %d answers: %v", len(loud), loud)
	}
	for _, path := range []string{
		"/v1/experiments/secret/report", "/v1/experiments/secret/policy", "/v1/export", "/metrics",
		"/experiments/secret", "/live", "/experiments/secret/live",
	} {
		if !strings.HasPrefix(loud[path], "200 ") {
			t.Errorf("%s: %.300s", path, loud[path])
		}
	}
	for _, picture := range []string{
		"mixture.csv", "mixture.json", "objective.png", "objective.csv", "regret.svg", "guardrail-0.csv",
	} {
		if path := "/experiments/secret/pictures/" + picture; !strings.HasPrefix(loud[path], "200 ") {
			t.Errorf("%s: %.300s", path, loud[path])
		}
	}
	for _, metrics := range []string{`{"buy":0}`, `{"n":0}`, `{"buy":1,"n":1}`} {
		if got := loud["POST /v1/feedback "+metrics]; !strings.HasPrefix(got, `200 {"accepted":30,"duplicate":0,"late":0,`) {
			t.Errorf("feedback %s of somebody else: %.300s", metrics, got)
		}
	}
	for _, path := range []string{"/v1/snapshot", "/v1/backup"} {
		if !strings.HasPrefix(loud[path], "403 ") {
			t.Errorf("%s: %.300s", path, loud[path])
		}
	}
	for _, want := range []string{"spent of", "3 of 8 releases", "not protected:"} {
		for _, path := range []string{"/experiments/secret", "/experiments/secret/live"} {
			if !strings.Contains(loud[path], want) {
				t.Errorf("%s has no %q", path, want)
			}
		}
	}
	for path, body := range loud {
		if strings.Contains(body, "73.125") {
			t.Errorf("%s has a reported value: %.2000s", path, body)
		}
	}
	for name, value := range map[string]func(i int) map[string]float64{
		// One item is sent, since the metrics count the requests with feedback.
		"one": func(i int) map[string]float64 {
			return map[bool]map[string]float64{true: {"n": 3}}[i == 5]
		},
		"other": func(i int) map[string]float64 { return map[string]float64{"buy": float64(i) * 1e9} },
	} {
		for path, body := range privateAnswers(t, &releases, value) {
			if body != loud[path] {
				at := 0
				for at < min(len(body), len(loud[path])) && body[at] == loud[path][at] {
					at++
				}
				at = max(0, at-200)
				t.Errorf("%s: %s shows the feedback: ...%.700s\n...%.700s", name, path, body[at:], loud[path][at:])
			}
		}
	}
}
