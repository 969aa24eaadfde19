package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/policy"
)

const privateMixed = `name: secret
arms: [{name: control, value: 0}, {name: mid, value: 1}, {name: gain, value: 2}]
control: {arm: control, share: 0.1}
metrics: [{name: buy, range: [0, 100], default: 0}, {name: n, kind: count, range: [0, 10], default: 1}]
objective: {goals: [{metric: buy}]}
guardrails: [{metric: n, max: 5, hard: false}]
round: {length: 1m, min_units: 10}
attribution_window: 10m
privacy: {epsilon: 2, delta: 1e-6, unit_contribution: 1, rounds: 8}
`

// foldExport folds an export with a state that knows nothing else.
func foldExport(t *testing.T, events []exportedEvent) *experiment.State {
	t.Helper()
	state := experiment.NewState()
	for _, e := range events {
		event := experiment.Event{Kind: e.Kind, Time: e.Time, Payload: e.Payload}
		if _, err := state.Apply(e.Position, event); err != nil {
			t.Fatal(err)
		}
	}
	return state
}

// asJSON returns the JSON of a report and of a policy without what the service adds to the state's.
func asJSON(t *testing.T, r *api.Report, err error, p *policy.Policy) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	served := *p
	r.Privacy.Spent, r.Privacy.Unknown, r.Health.Problems, served.Digest = 0, "", nil, ""
	b, err := json.Marshal([]any{r, &served})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What is served follows from the releases alone: a learner that is new, and sees nothing but the
// export, in which no feedback is left, has the same mixture, the same means and the same report
// after every round, bit for bit. The released sums of the report are those of the last event. With
// other releases the mixture is another one.
func TestPrivateMixtureFromReleases(t *testing.T) {
	testsize.NoRace(t)
	w := newWorld(t, func(c *Config) {
		c.noise = []dp.Option{dp.WithInsecureDeterministicNoiseForTesting(9)}
	})
	w.apply(privateMixed)
	mixtures := map[string]bool{}
	var events []exportedEvent
	for round := range 9 {
		var shown, said []item
		for i, d := range w.decide("secret", unitNames(fmt.Sprint("r", round, "-"), 1000)...) {
			shown = append(shown, item{Token: d.Token})
			if v := map[string]float64{"control": 40, "mid": 60, "gain": 66}[d.Arm]; i%5 > 0 && round < 8 {
				said = append(said, item{d.Token, map[string]float64{"buy": v, "n": v / 10}})
			}
		}
		if w.post("/v1/exposures", shown...); len(said) > 0 {
			w.post("/v1/feedback", said...)
		}
		w.wait([]time.Duration{time.Minute, 11 * time.Minute}[round%2])
		if w.server.Tick(); round == 8 {
			w.matured()
		}
		w.server.Tick()
		events = checkServed(t, w)
		mixtures[fmt.Sprint(w.report("secret").Mixture)] = true
	}
	r := w.report("secret")
	if len(mixtures) < 3 || r.Privacy.Released != 8 || r.Mixture["gain"] < 0.4 {
		t.Errorf("%d mixtures, the last one %v, after %d releases: want one that has learned from 8", len(mixtures),
			r.Mixture, r.Privacy.Released)
	}
	last := checkReleases(t, events, r)

	// What the learner makes of other releases.
	for i, e := range events {
		if e.Kind == experiment.KindRelease {
			var p experiment.ReleaseEvent
			if err := json.Unmarshal(e.Payload, &p); err != nil {
				t.Fatal(err)
			}
			for k := range len(p.Sums) / 2 {
				p.Sums[2*k] = -p.Sums[2*k]
			}
			events[i].Payload, _ = json.Marshal(p)
		}
	}
	state, others := experiment.NewState(), 0
	for _, e := range events {
		event := experiment.Event{Kind: e.Kind, Time: e.Time, Payload: e.Payload}
		if said, now, err := state.Proposal(event); said != nil && (err != nil || !said.Same(now)) {
			others++
		}
		if _, err := state.Apply(e.Position, event); err != nil {
			t.Fatal(err)
		}
	}
	if others == 0 {
		t.Errorf("the releases %v do not matter: the policy proposes the same", last)
	}
	other, err := state.Report("secret")
	if err != nil || !maps.Equal(other.Mixture, r.Mixture) {
		t.Errorf("the log says what was served, %v, and a fold of it serves %v: %v", r.Mixture, other.Mixture, err)
	}
}

// checkServed compares what is served with what a fold of the export has, which it returns.
func checkServed(t *testing.T, w *world) []exportedEvent {
	t.Helper()
	events, complete := exported(t, w.server)
	if !complete {
		t.Fatal("the export has broken off")
	}
	state := foldExport(t, events)
	served, err := state.Report("secret")
	want := asJSON(t, served, err, state.Policy("secret"))
	got := asJSON(t, w.report("secret"), nil, w.server.Policy("secret"))
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	if got != want {
		at = max(0, at-100)
		t.Fatalf("served: ...%.300s\nby the export: ...%.300s", got[at:], want[at:])
	}
	if name, err := w.server.State(); err != nil || name.Position != state.Position() {
		t.Errorf("%+v, %v: the export ends at %d", name, err, state.Position())
	} else if digest, err := state.Digest(); err != nil || digest == name.Digest {
		t.Errorf("the export has the whole state, feedback included: %v", err)
	}
	return events
}

// checkReleases checks that an export has releases and no feedback, and that the report's sums are
// those of the last one, which it returns.
func checkReleases(t *testing.T, events []exportedEvent, r *api.Report) (last []float64) {
	t.Helper()
	counts := map[string]int{}
	for _, e := range events {
		counts[e.Kind]++
		if e.Kind == experiment.KindPrivateFeedback && !bytes.Contains(e.Payload, []byte(`"items":[]`)) {
			t.Errorf("position %d: an export of feedback: %s", e.Position, e.Payload)
		}
		var p experiment.ReleaseEvent
		if e.Kind != experiment.KindRelease || json.Unmarshal(e.Payload, &p) != nil || p.Ended != "" {
			continue
		}
		last = p.Sums
	}
	if counts[experiment.KindPrivateFeedback] == 0 || counts[experiment.KindRelease] != 8 {
		t.Errorf("the export has %v", counts)
	}
	for k, arm := range []string{"control", "mid", "gain"} {
		for metric, middle := range []float64{50, 5} {
			name := []string{"buy", "n"}[metric]
			want := middle*float64(r.Privacy.Counts[arm]) + last[2*k+metric]
			if got := r.Privacy.Sums[arm][name]; got != want {
				t.Errorf("the report has the sum %v of %s for %s, the last release %v", got, name, arm, want)
			}
		}
	}
	return last
}
