package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/access"
)

// quietRoles are the roles of a reader: all that no administrator needs.
const quietRoles = "read, decide, feedback, aggregate"

// quietWorld is a service with a private and a public experiment, with tokens, and with a clock and
// keys and noise that are given. It copies the releases of the first such service.
func quietWorld(t *testing.T, given *[][]float64) *world {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	text := fmt.Sprintf("tokens:\n  - {name: boss, roles: [admin], token: 0123456789abcdef-boss}\n"+
		"  - {name: reader, roles: [%s], sources: [s], token: 0123456789abcdef-reader}\n"+
		"  - {name: limited, roles: [admin], experiments: [secret, toy], token: 0123456789abcdef-limited}\n",
		quietRoles)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	step := 0
	w := newWorld(t, func(c *Config) {
		c.Tokens, c.SnapshotEvery, c.Retain = path, 5, 2*time.Hour
		c.noise = []dp.Option{dp.WithInsecureDeterministicNoiseForTesting(5)}
		c.Keys = &policy.Keys{Current: 1, Secrets: map[byte][]byte{1: bytes.Repeat([]byte{7}, 32)}}
		c.released = func(sums []float64) {
			if step < len(*given) {
				copy(sums, (*given)[step])
			} else {
				*given = append(*given, slices.Clone(sums))
			}
			step++
		}
	})
	w.as("boss")
	w.apply(privateToy)
	w.apply(toy)
	w.as("reader")
	return w
}

// quietVolatile is what two services differ in that get the same requests: what is drawn for each
// page or request.
var quietVolatile = regexp.MustCompile(`"secret":"[^"]*"|name="secret" value="[^"]*"`)

// see returns what tokens that do not operate the log see on all their routes, with the status and
// the headers of the answers.
func (w *world) see(stage, token string, out map[string]string) {
	w.t.Helper()
	for _, as := range []string{"reader", "limited"} {
		w.as(as)
		for _, rt := range w.server.router.all {
			if rt.Method != http.MethodGet || as == "reader" && rt.Role == access.Admin {
				continue
			}
			for _, path := range quietPaths(rt.Pattern, token) {
				r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.http.URL+path, nil)
				if err != nil {
					w.t.Fatal(err)
				}
				r.Header.Set("Authorization", "Bearer "+w.token)
				var text string
				if strings.HasSuffix(rt.Pattern, "/live") {
					text = w.firstParts(r)
				} else {
					resp, b := w.send(r)
					resp.Header.Del("Date")
					resp.Header.Del("X-Request-Id")
					text = fmt.Sprint(resp.StatusCode, " ", resp.Header, " ", string(b))
				}
				out[fmt.Sprintf("%s: %s %s", stage, as, path)] = quietVolatile.ReplaceAllString(text, "")
			}
		}
	}
	w.as("reader")
}

// quietPaths returns the paths of a route for the private and the public experiment.
func quietPaths(pattern, token string) (out []string) {
	for _, name := range []string{"secret", "toy"} {
		for _, picture := range []string{
			"mixture.svg", "objective.csv", "regret.json", "lift.csv", "guardrail-0.csv",
		} {
			path := strings.NewReplacer("{name}", name, "{$}", "", "{picture}", picture, "{file}", "style.css",
				"{version}", "2").Replace(pattern)
			switch {
			case strings.HasSuffix(path, "/explain"):
				path += "?token=" + token
			case path == "/v1/export":
				path += "?experiment=" + name
				out = append(out, "/v1/export", "/v1/export?from=3", "/v1/export?from=1000")
			}
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// firstParts returns the first event of a stream.
func (w *world) firstParts(r *http.Request) string {
	w.t.Helper()
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var b []byte
	for piece := make([]byte, 1<<16); !bytes.Contains(b, []byte("\n\n")) && err == nil; {
		var n int
		n, err = resp.Body.Read(piece)
		b = append(b, piece[:n]...)
	}
	return fmt.Sprint(resp.StatusCode, " ", string(b))
}

// quietReport sends feedback for some units of a private experiment, and for others as people do
// who want to find out: twice, with values out of range, for several units at once.
func (w *world) quietReport(tokens []string, all bool) {
	w.t.Helper()
	changed := w.server.live.Changed()
	for i, token := range tokens {
		if !all && i != 3 {
			continue
		}
		w.wait(1700 * time.Millisecond) // the clock runs
		if f := w.post("/v1/feedback", item{token, map[string]float64{"buy": 60 + 1e6*float64(i%2)}}); f.Accepted != 1 {
			w.t.Fatalf("%+v", f)
		}
		if i%3 == 0 {
			w.post("/v1/feedback", item{token, map[string]float64{"n": 3}}, item{tokens[0], map[string]float64{"x": 3}},
				item{"forged", map[string]float64{"n": 3}})
		}
	}
	select {
	case <-changed:
		w.t.Error("feedback of a private experiment wakes the streams of readers")
	default:
	}
}

// quietLife is the life of a service in which everything but the private feedback is given, also
// the clock: after each of its stages the answers are noted.
func quietLife(t *testing.T, given *[][]float64, feedback func(w *world, tokens []string)) map[string]string {
	t.Helper()
	w, out := quietWorld(t, given), map[string]string{}
	at := w.now
	to := func(d time.Duration) { // the time of the clock, whatever has passed
		w.mu.Lock()
		defer w.mu.Unlock()
		w.now = at.Add(d)
	}
	public := func(units ...string) {
		w.t.Helper()
		for _, d := range w.decide("toy", units...) {
			w.post("/v1/exposures", item{Token: d.Token})
			w.post("/v1/feedback", item{d.Token, map[string]float64{"x": 1, "y": 2}})
		}
	}
	var first string
	for round := range 3 {
		base := time.Duration(round) * 15 * time.Minute
		to(base + time.Second)
		var tokens []string
		var shown []item
		for _, d := range w.decide("secret", unitNames(fmt.Sprint("r", round, "-"), 20)...) {
			tokens, shown = append(tokens, d.Token), append(shown, item{Token: d.Token})
		}
		w.post("/v1/exposures", shown...)
		if first == "" {
			first = tokens[0]
		}
		feedback(w, tokens)
		to(base + 50*time.Second)
		stage := fmt.Sprint("round ", round)
		w.see(stage+" after feedback", first, out)
		public(fmt.Sprint("p", round))
		w.see(stage+" after a public event", first, out)
		if round == 1 {
			w.restart()
			w.see("after a restart", first, out)
		}
		to(base + 2*time.Minute)
		w.server.Tick()
		feedback(w, tokens[:4]) // for the version before
		w.see(stage+" after its end", first, out)
		to(base + 13*time.Minute)
		w.server.Tick()
		w.server.Tick()
		w.settle()
		w.see(stage+" after its release", first, out)
	}
	to(2*time.Hour + 10*time.Minute)
	for range 2 { // drops old events
		w.server.Tick()
		w.settle()
	}
	w.see("after old events were dropped", first, out)
	if w.server.log.Stats().First == 1 {
		t.Error("no event was dropped")
	}
	if r := w.report("secret").Privacy; r.Released != 3 {
		t.Errorf("%+v", r)
	}
	w.as("boss")
	w.get(204, nil, "DELETE", "/v1/experiments/secret", "")
	w.see("after the deletion", first, out)
	return out
}

// Two services get the same requests, at the same times, but for the feedback of a private
// experiment, of which one gets none. With the same releases nothing that a reader sees differs in
// presence, time or content, on any route, in any header, at any moment: not while feedback has
// just come, not after the next public event, not after a restart, nor after old events are
// dropped.
func TestPrivateQuiet(t *testing.T) {
	testsize.NoRace(t)
	var releases [][]float64
	none := quietLife(t, &releases, func(*world, []string) {})
	if len(releases) != 3 || len(none) < 500 {
		t.Fatalf("%d releases, %d answers", len(releases), len(none))
	}
	for _, want := range []string{
		"/v1/export", "/v1/state", "/metrics", "/", "/live", "/experiments/secret/live", "/v1/alerts",
		"/v1/experiments/secret/report", "/v1/experiments/secret/policy", "/experiments/secret/history",
	} {
		if got := none["round 0 after feedback: reader "+want]; !strings.HasPrefix(got, "200 ") {
			t.Errorf("%s: %.200s", want, got)
		}
	}
	for name, feedback := range map[string]func(w *world, tokens []string){
		"one unit":  func(w *world, tokens []string) { w.quietReport(tokens, false) },
		"all units": func(w *world, tokens []string) { w.quietReport(tokens, true) },
	} {
		some := quietLife(t, &releases, feedback)
		differ := 0
		for _, key := range slices.Sorted(maps.Keys(none)) {
			if a, b := none[key], some[key]; a != b && differ < 25 {
				differ++
				i := 0
				for i < min(len(a), len(b)) && a[i] == b[i] {
					i++
				}
				i = max(i-60, 0)
				t.Errorf("%s, %s:\n without feedback ...%.160q\n with feedback    ...%.160q", name, key, a[i:], b[i:])
			}
		}
	}
}

// An operator sees everything with its position in the log, a reader only what is public, without a
// gap, from any position that it has seen.
func TestPrivatePositions(t *testing.T) {
	var releases [][]float64
	w := quietWorld(t, &releases)
	for i := range 3 {
		var shown []item
		for _, d := range w.decide("secret", unitNames(fmt.Sprint("u", i), 7)...) {
			shown = append(shown, item{Token: d.Token})
		}
		w.post("/v1/exposures", shown...)
		for k := range shown {
			shown[k].Metrics = map[string]float64{"buy": 60}
			w.post("/v1/feedback", shown[k])
		}
	}
	lines := func(path string) (out []exportedEvent) {
		t.Helper()
		status, b := w.do("GET", path, "")
		if status != 200 {
			t.Fatalf("%s: %d %s", path, status, b)
		}
		for line := range strings.Lines(string(b)) {
			var e exportedEvent
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			out = append(out, e)
		}
		return out
	}
	var name api.StateName
	w.get(200, &name, "GET", "/v1/state", "")
	public := lines("/v1/export")
	if int(name.Position) != len(public) {
		t.Errorf("the state is at %d, the export has %d events", name.Position, len(public))
	}
	for i, e := range public {
		if int(e.Position) != i+1 || experiment.IsHidden(e.Kind) {
			t.Errorf("line %d: position %d, %s", i+1, e.Position, e.Kind)
		}
		rest := lines(fmt.Sprint("/v1/export?from=", i+1))
		if len(rest) != len(public)-i || rest[0].Position != e.Position || rest[0].Kind != e.Kind {
			t.Errorf("from %d: %d events, the first %+v", i+1, len(rest), rest[0])
		}
	}
	if rest := lines(fmt.Sprint("/v1/export?from=", len(public)+1)); len(rest) != 0 {
		t.Errorf("after the last one: %d events", len(rest))
	}
	if status, b := w.do("GET", fmt.Sprint("/v1/export?from=", len(public)+2), ""); status != 404 ||
		!strings.Contains(string(b), fmt.Sprintf("the last one is %d", len(public))) {
		t.Errorf("beyond: %d %s", status, b)
	}
	w.as("boss")
	all := lines("/v1/export")
	w.get(200, &name, "GET", "/v1/state", "")
	if len(all) != len(public)+21 || int(name.Position) != len(all) {
		t.Errorf("an operator sees %d events and position %d, want 21 more than %d", len(all), name.Position,
			len(public))
	}
	status, b := w.do("GET", "/metrics", "")
	if status != 200 || !strings.Contains(string(b), "noregret_log_last_position") {
		t.Errorf("the metrics of an operator: %d %.100s", status, b)
	}
	// The public events fold to the digest that readers get.
	state := experiment.NewState()
	for _, e := range all {
		if experiment.IsHidden(e.Kind) {
			continue
		}
		_, err := state.Apply(state.Position()+1, experiment.Event{Kind: e.Kind, Time: e.Time, Payload: e.Payload})
		if err != nil {
			t.Fatal(err)
		}
	}
	frozen, err := state.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	w.as("reader")
	w.get(200, &name, "GET", "/v1/state", "")
	if digest, err := frozen.PublicDigest(); err != nil || digest != name.Digest {
		t.Errorf("the fold of the public events has the digest %s, %v, want %s", digest, err, name.Digest)
	}
}
