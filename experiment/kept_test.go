package experiment

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/policy"
)

const rankDef = `name: shop
arms: [{name: a, value: 1}, {name: b, value: 2}, {name: c, value: 3}]
metrics: [{name: bought, range: [0, 1], default: 0}, {name: clicks}]
objective: {goals: [{metric: bought}]}
policy: {kind: fixed, split: {a: 0.5, b: 0.3, c: 0.2}}
attribution_window: 10m
round: {length: 5m}
open_tokens: 50000
`

// rankWorld folds events of units whose decisions are kept.
type rankWorld struct {
	t     *testing.T
	state *State
	now   time.Time
	log   []Event
}

func newRankWorld(t *testing.T, text string) *rankWorld {
	t.Helper()
	w := &rankWorld{t: t, state: NewState(), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	d, err := definition.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if o := w.apply(KindDefinition, DefinitionEvent{Experiment: "shop", Definition: b}); o.Err != nil {
		t.Fatal(o.Err)
	}
	return w
}

func (w *rankWorld) apply(kind string, payload any) Outcome {
	w.t.Helper()
	e, err := NewEvent(kind, w.now.UnixNano(), payload)
	if err != nil {
		w.t.Fatal(err)
	}
	logged, o, err := w.state.Step(e)
	w.log = append(w.log, logged...)
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// status applies an event of one item and returns its status.
func (w *rankWorld) status(kind string, payload any) api.ItemStatus {
	w.t.Helper()
	o := w.apply(kind, payload)
	if o.Err != nil || len(o.Items) != 1 {
		w.t.Fatalf("%s: %+v", kind, o)
	}
	return o.Items[0].Status
}

// rank decides for a unit among some arms.
func (w *rankWorld) rank(unit string, deferred bool, among ...int) (policy.Choice, join.Units) {
	w.t.Helper()
	p := w.state.Policy("shop")
	allowed := make([]bool, len(p.Arms))
	for k := range allowed {
		allowed[k] = len(among) == 0 || slices.Contains(among, k)
	}
	c, err := p.DecideAmong(unit, nil, allowed)
	if err != nil {
		w.t.Fatal(err)
	}
	return c, one(join.Unit{
		Version: c.Version, Arm: c.Arm, Propensity: c.Propensity, Unit: policy.FormatUnit(c.Unit),
		Time: w.now.UnixMilli(), Kept: &join.Kept{Among: among, Redrawn: c.Redrawn, Deferred: deferred},
	})
}

// one is the payload of one item.
func one(e join.Unit) join.Units { return join.Units{Experiment: "shop", Items: []join.Unit{e}} }

func (w *rankWorld) reward(unit string, value float64) api.ItemStatus {
	w.t.Helper()
	goal := w.state.live["shop"].roster.def.Objective.Goals[0].Metric
	return w.status(KindFeedback, one(join.Unit{
		Unit: policy.FormatUnit(w.state.Policy("shop").Unit(unit)), Metrics: map[string]float64{goal: value},
	}))
}

func (w *rankWorld) activate(unit string) api.ItemStatus {
	w.t.Helper()
	return w.status(KindExposures, one(join.Unit{Unit: policy.FormatUnit(w.state.Policy("shop").Unit(unit))}))
}

func (w *rankWorld) report() *api.Report {
	w.t.Helper()
	r, err := w.state.Report("shop")
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// TestRank follows ranked units: what is answered and what counts.
func TestRank(t *testing.T) {
	w := newRankWorld(t, rankDef)
	want := func(what string, got, status api.ItemStatus) {
		t.Helper()
		if got != status {
			t.Errorf("%s: %s, want %s", what, got, status)
		}
	}
	c, e := w.rank("now", false)
	want("a rank", w.status(KindExposures, e), api.Accepted)
	want("the same again", w.status(KindExposures, e), api.Duplicate)
	want("its reward", w.reward("now", 1), api.Accepted)
	want("another reward", w.reward("now", 0), api.Duplicate)
	want("an activation that is not needed", w.activate("now"), api.Duplicate)
	want("a reward outside the range", w.reward("now", 2), api.Rejected)
	want("the reward of nobody", w.reward("nobody", 1), api.Late)
	want("the activation of nobody", w.activate("nobody"), api.Late)
	if arm, ok := w.state.KeptArm("shop", c.Unit); !ok || arm != c.Arm {
		t.Errorf("kept: %v, want %+v", arm, c)
	}

	for _, unit := range []string{"later", "never", "first"} {
		_, e = w.rank(unit, true)
		want("a deferred rank", w.status(KindExposures, e), api.Accepted)
	}
	want("a reward before the activation", w.reward("first", 1), api.Accepted)
	want("a reward of one that is never activated", w.reward("never", 1), api.Accepted)
	want("an activation", w.activate("first"), api.Accepted)
	w.now = w.now.Add(9 * time.Minute)
	w.apply(KindRound, NameEvent{Experiment: "shop"})
	want("an activation in the next version", w.activate("later"), api.Accepted)
	w.now = w.now.Add(2 * time.Minute)
	want("a late reward", w.reward("later", 1), api.Late)
	want("a late activation", w.activate("never"), api.Late)
	if _, ok := w.state.KeptArm("shop", c.Unit); ok {
		t.Error("a decision is still there after its window")
	}
	w.now = w.now.Add(time.Hour)
	w.apply(KindClock, NameEvent{Experiment: "shop"})
	r, n, sum := w.report(), int64(0), 0.0
	for _, a := range r.Arms {
		n += a.N
		if m := a.Metrics["bought"]; m.Mean != nil {
			sum += *m.Mean * float64(m.N)
		}
	}
	if n != 3 || math.Abs(sum-2) > 1e-12 || r.Health.Orphans != 1 || r.Health.Exposures.Accepted != 3 ||
		r.Feedback != (api.Counts{Accepted: 3, Duplicate: 1, Late: 2, Rejected: 1}) {
		t.Errorf("%d units with the sum %v, %d orphans, exposures %+v, feedback %+v", n, sum, r.Health.Orphans,
			r.Health.Exposures, r.Feedback)
	}
}

// TestRankRefusals checks items that are refused.
func TestRankRefusals(t *testing.T) {
	w := newRankWorld(t, rankDef+"hold_back: 0\n")
	_, good := w.rank("u", false)
	for what, spoil := range map[string]func(e *join.Unit){
		"no unit":       func(e *join.Unit) { e.Unit = "x" },
		"later version": func(e *join.Unit) { e.Version++ },
		"no such arm":   func(e *join.Unit) { e.Arm = 3 },
		"negative arm":  func(e *join.Unit) { e.Arm = -1 },
		"negative time": func(e *join.Unit) { e.Time = -1 },
		"huge time":     func(e *join.Unit) { e.Time = math.MaxInt64 },
	} {
		e := one(good.Items[0])
		spoil(&e.Items[0])
		if got := w.status(KindExposures, e); got != api.Rejected {
			t.Errorf("%s: %s", what, got)
		}
	}
	old := one(good.Items[0])
	old.Items[0].Time -= (11 * time.Minute).Milliseconds()
	if got := w.status(KindExposures, old); got != api.Late {
		t.Errorf("an old rank: %s", got)
	}
	if o := w.apply(KindExposures, join.Units{Experiment: "none"}); o.Err == nil {
		t.Error("a rank of an experiment that does not exist is accepted")
	}
	w = newRankWorld(t, rankDef[:len(rankDef)-len("open_tokens: 50000\n")]+"open_tokens: 2\n")
	for i, want := range []api.ItemStatus{api.Accepted, api.Accepted, api.Rejected} {
		if _, e := w.rank(fmt.Sprint(i), true); w.status(KindExposures, e) != want {
			t.Errorf("rank %d is not %s", i, want)
		}
	}
}

// TestRankAmong excludes arms for some units, and more often for those that buy more. The means of
// the arms must be those of the units for which the arm was allowed, the numbers of units those of
// the mixture, and the test of the sample ratio must stay silent. Counting the units that were
// drawn again would put the mean of arm a at 0.33.
func TestRankAmong(t *testing.T) {
	w, rng := newRankWorld(t, rankDef), random.New(1, "rank")
	const units = 20_000
	redrawn := int64(0)
	for i := range units {
		unit := fmt.Sprint(i)
		rich := i%4 == 0 // buys with probability 0.8, others with 0.1, whatever the arm
		var among []int
		if rich {
			among = []int{0, 2}
		}
		c, e := w.rank(unit, false, among...)
		if got := w.status(KindExposures, e); got != api.Accepted {
			t.Fatalf("unit %d: %s", i, got)
		}
		if c.Redrawn {
			redrawn++
		}
		if p := map[bool]float64{true: 0.8, false: 0.1}[rich]; rng.Float64() < p {
			w.reward(unit, 1)
		}
	}
	w.now = w.now.Add(time.Hour)
	w.apply(KindRound, NameEvent{Experiment: "shop"})
	w.now = w.now.Add(time.Hour)
	w.apply(KindClock, NameEvent{Experiment: "shop"})
	r := w.report()
	for name, want := range map[string]struct{ share, mean float64 }{
		"a": {0.5, 0.275}, "b": {0.3 * 0.75, 0.1}, "c": {0.2, 0.275},
	} {
		a := r.Arms[name]
		if got := float64(a.N) / units; math.Abs(got-want.share) > 0.02 {
			t.Errorf("arm %s has a share of %v of the units, want %v", name, got, want.share)
		}
		if got := *a.Metrics["bought"].Mean; math.Abs(got-want.mean) > 0.03 {
			t.Errorf("the mean of arm %s is %v, want %v", name, got, want.mean)
		}
	}
	if r.Health.Redrawn != redrawn || math.Abs(float64(redrawn)/units-0.3*0.25) > 0.02 {
		t.Errorf("%d units are drawn again, the report says %d", redrawn, r.Health.Redrawn)
	}
	if r.Health.SampleRatio.Mismatch || r.Health.SampleRatio.P < 0.001 {
		t.Errorf("the sample ratio: %+v", r.Health.SampleRatio)
	}
}

// TestRankSnapshot folds random events with snapshots in between: the state must be that of the
// fold without.
func TestRankSnapshot(t *testing.T) {
	w, rng := newRankWorld(t, rankDef), random.New(2, "rank")
	for range 1500 {
		w.now = w.now.Add(time.Duration(rng.IntN(3000)) * time.Millisecond)
		unit := fmt.Sprint(rng.IntN(400))
		switch rng.IntN(8) {
		case 0, 1, 2:
			_, e := w.rank(unit, rng.IntN(3) == 0, [][]int{nil, {0, 1}, {2}}[rng.IntN(3)]...)
			w.apply(KindExposures, e)
		case 3, 4:
			w.reward(unit, 1)
		case 5:
			w.activate(unit)
		case 6:
			w.apply(KindRound, NameEvent{Experiment: "shop"})
		case 7:
			w.apply(KindPause, NameEvent{Experiment: "shop"}) // forks the state
			w.apply(KindResume, NameEvent{Experiment: "shop"})
		}
	}
	want, err := w.state.Digest()
	if err != nil {
		t.Fatal(err)
	}
	s := NewState()
	for i, e := range w.log {
		if _, err := s.Apply(uint64(i+1), e); err != nil {
			t.Fatal(err)
		}
		if i%37 == 0 {
			b, err := s.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			s = NewState()
			if err := s.UnmarshalBinary(b); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, err := s.Digest(); err != nil || got != want {
		t.Errorf("the digest is %s with snapshots and %s without, error %v", got, want, err)
	}
	r := w.report()
	if r.Health.Redrawn == 0 || r.Feedback.Accepted == 0 || r.Feedback.Late == 0 || r.Health.Orphans == 0 {
		t.Errorf("the events are too tame: %+v %+v", r.Health, r.Feedback)
	}
}

// TestDeferredLapses: a deferred decision that can no longer be exposed, as a short window has
// passed, does not keep its unit from another one, however long other windows are, also when the
// state was read from a snapshot.
func TestDeferredLapses(t *testing.T) {
	text := strings.Replace(rankDef, "default: 0}", "default: 0, window: 1h}", 1)
	w := newRankWorld(t, strings.Replace(text, "attribution_window: 10m", "attribution_window: 168h", 1))
	want := func(what string, got, status api.ItemStatus) {
		t.Helper()
		if got != status {
			t.Errorf("%s: %s, want %s", what, got, status)
		}
	}
	again := func() {
		t.Helper()
		b, err := w.state.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		read := NewState()
		if err := read.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
		w.state = read
	}
	pending := func(n int64) {
		t.Helper()
		if _, got, bytes := w.state.live["shop"].joiner.Kept.Size(); got != n || bytes > 0 && n == 0 {
			t.Errorf("%d exposures wait, with %d bytes, want %d", got, bytes, n)
		}
	}
	for day := range 10 {
		c, e := w.rank("x", true, 0, 1)
		want("a rank", w.status(KindExposures, e), api.Accepted)
		pending(1)
		again()
		w.now = w.now.Add(26 * time.Hour)
		want("a late activation", w.activate("x"), api.Late)
		pending(0)
		again()
		pending(0)
		if _, ok := w.state.KeptArm("shop", c.Unit); ok {
			t.Errorf("day %d: the decision is kept", day)
		}
	}
	_, e := w.rank("x", true)
	want("a rank in the end", w.status(KindExposures, e), api.Accepted)
	again()
	want("its activation", w.activate("x"), api.Accepted)
	want("its reward", w.reward("x", 1), api.Accepted)
	w.now = w.now.Add(26 * time.Hour)
	_, e = w.rank("x", true)
	want("a rank of an exposed unit", w.status(KindExposures, e), api.Duplicate)
	w.now = w.now.Add(169 * time.Hour)
	_, e = w.rank("x", true)
	want("a rank after all windows", w.status(KindExposures, e), api.Accepted)
	if n, _, _ := w.state.live["shop"].joiner.Kept.Size(); n != 1 {
		t.Errorf("%d rows are kept, want 1", n)
	}
}
