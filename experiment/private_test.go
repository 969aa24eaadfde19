package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/private/aggregate"
)

const privateText = `name: secret
arms: [{name: a, value: 1}, {name: b, value: 2}, {name: c, value: 3}]
control: {arm: a, share: 0.2}
metrics: [{name: buy, range: [0, 1], default: 0}, {name: fail, kind: count, range: [0, 4], default: 1}]
objective: {goals: [{metric: buy}]}
guardrails: [{metric: fail, max: 2}]
round: {length: 1h, min_units: 1}
attribution_window: 2h
privacy: {epsilon: 8, delta: 1e-6, unit_contribution: 2, rounds: 3}
`

// open does what the host does to open the run of a private experiment, with noise from a seed.
func (s *scenario) open(seed uint64) Outcome {
	s.t.Helper()
	c, ok := PrivateConfig(s.state.Definition(s.name))
	if !ok {
		s.t.Fatal("the definition is not private")
	}
	sums, err := aggregate.New(c, dp.WithInsecureDeterministicNoiseForTesting(seed))
	if err != nil {
		s.t.Fatal(err)
	}
	s.sums[s.name] = sums
	st := sums.Statement()
	return s.event(KindPrivacy, PrivacyEvent{Experiment: s.name, Secret: "00", Statement: &st})
}

// release does what the host does for the releases of the experiment that are due.
func (s *scenario) release(show func(Outcome), b *strings.Builder) {
	s.t.Helper()
	for {
		todo := s.state.Releases()
		i := slices.IndexFunc(todo, func(r Release) bool { return r.Experiment == s.name })
		if i < 0 {
			return
		}
		e := s.noisy(&todo[i])
		fmt.Fprintf(b, "step %d of version %d: %.1f: ", e.Step, e.Version, e.Sums)
		show(s.event(KindRelease, e))
	}
}

// noisy puts the noise on the sums of a release.
func (s *scenario) noisy(r *Release) ReleaseEvent {
	s.t.Helper()
	e := ReleaseEvent{Experiment: r.Experiment, Step: r.Step, Version: r.Version, Sums: make([]float64, len(r.Sums))}
	if err := s.sums[r.Experiment].Step(r.Sums, e.Sums); err != nil {
		s.t.Fatal(err)
	}
	return e
}

// privateWorld is a scenario with the host of a private experiment. Its releases are those of
// another world, if they are given.
type privateWorld struct {
	*scenario
	releases []ReleaseEvent
	given    []ReleaseEvent
	raw      []string // digests of the state
}

func newPrivateWorld(t *testing.T, text string, given []ReleaseEvent, seed uint64) *privateWorld {
	t.Helper()
	w := &privateWorld{scenario: newScenario(t), given: given}
	if out := w.run("apply\n" + text); !strings.Contains(out, "version 1") {
		t.Fatal(out)
	}
	if o := w.open(seed); o.Err != nil {
		t.Fatal(o.Err)
	}
	return w
}

func (w *privateWorld) ok(kind string, payload any) {
	w.t.Helper()
	if o := w.event(kind, payload); o.Err != nil {
		w.t.Fatalf("%s: %v", kind, o.Err)
	}
}

// round exposes units, reports values for them and ends the round.
func (w *privateWorld) round(units []string, value func(unit string, arm int) map[string]float64) {
	w.t.Helper()
	shown, said := join.Units{Experiment: w.name}, join.Units{Experiment: w.name}
	for _, u := range units {
		d := w.decide(u)
		shown.Items = append(shown.Items, join.UnitOf(w.tokens[u], nil))
		if v := value(u, d.Arm); v != nil {
			said.Items = append(said.Items, join.UnitOf(w.tokens[u], v))
		}
	}
	w.ok(KindExposures, shown)
	w.ok(KindFeedback, said)
	w.now += int64(time.Hour)
	w.run("due")
}

// release does what the host does for all pending sums.
func (w *privateWorld) release() {
	w.t.Helper()
	for {
		todo := w.state.Releases()
		if len(todo) == 0 {
			return
		}
		e := w.noisy(&todo[0])
		if n := len(w.releases); n < len(w.given) {
			e = w.given[n]
		}
		w.releases = append(w.releases, e)
		w.ok(KindRelease, e)
	}
}

// mature lets the windows of all versions close.
func (w *privateWorld) mature() {
	w.t.Helper()
	w.now += int64(4 * time.Hour)
	w.ok(KindClock, NameEvent{Experiment: w.name})
}

func units(from, to int) (out []string) {
	for i := from; i < to; i++ {
		out = append(out, "u"+strconv.Itoa(i))
	}
	return out
}

// public is everything that the state says to others, as JSON.
func (w *privateWorld) public() []byte {
	w.t.Helper()
	r, err := w.state.Report(w.name)
	if err != nil {
		w.t.Fatal(err)
	}
	vitals, err := w.state.Vitals(w.name)
	if err != nil {
		w.t.Fatal(err)
	}
	rows, fixed := w.state.OpenBytes(w.name)
	out := []any{r, vitals, w.state.Policy(w.name), w.state.Due(w.now), rows, fixed}
	for _, token := range w.tokens {
		if token.Unit == w.tokens["u0"].Unit {
			e, err := w.state.Explain(token)
			if err != nil {
				w.t.Fatal(err)
			}
			out = append(out, e)
		}
	}
	if solve, err := w.state.Optimum(w.name); err != nil {
		w.t.Fatal(err)
	} else if solve != nil {
		o, err := solve()
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, o)
	}
	b, err := json.Marshal(out)
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

// privateRun runs rounds in which the units buy by a function, ends with a change of the objective
// and returns what was public after every step.
func privateRun(t *testing.T, given []ReleaseEvent, value func(unit string, arm int) map[string]float64,
) (*privateWorld, [][]byte) {
	t.Helper()
	w := newPrivateWorld(t, privateText, given, 7)
	var seen [][]byte
	for round := range 4 {
		w.raw = append(w.raw, digest(t, w.state))
		w.round(units(300*round, 300*round+400), value)
		w.release()
		seen = append(seen, w.public())
	}
	w.mature()
	w.release()
	seen = append(seen, w.public())
	if out := w.run("apply\n" + strings.Replace(privateText, "max: 2", "max: 2.5", 1)); strings.Contains(out, "error") {
		t.Fatal(out)
	}
	return w, append(seen, w.public())
}

// Everything that the state says is a function of decisions, exposures and releases: with the same
// releases it is the same, byte for byte, whatever was reported, and whether anything was.
func TestPrivateNonInterference(t *testing.T) {
	t.Parallel()
	one, want := privateRun(t, nil, func(_ string, arm int) map[string]float64 {
		return map[string]float64{"buy": []float64{0.1, 0.9, 0.2}[arm], "fail": 1}
	})
	one.check()
	if len(one.releases) != 3 {
		t.Fatalf("%d releases, want the 3 of the definition", len(one.releases))
	}
	for name, value := range map[string]func(unit string, arm int) map[string]float64{
		"nothing": func(string, int) map[string]float64 { return nil },
		"extremes": func(string, int) map[string]float64 {
			return map[string]float64{"buy": 1e300, "fail": -77}
		},
		"one": func(unit string, _ int) map[string]float64 {
			return map[bool]map[string]float64{true: {"fail": 4}}[unit == "u7"]
		},
	} {
		other, got := privateRun(t, one.releases, value)
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("%s: step %d shows the feedback:\n%.3000s\n%.3000s", name, i, want[i], got[i])
				break
			}
		}
		if one.raw[1] == other.raw[1] {
			t.Errorf("%s: the states are the same, so that the test has shown nothing", name)
		}
	}
	// With other releases it is not the same.
	moved := append([]ReleaseEvent(nil), one.releases...)
	moved[1].Sums = append([]float64{moved[1].Sums[0] + 40}, moved[1].Sums[1:]...)
	_, got := privateRun(t, moved, func(string, int) map[string]float64 { return nil })
	if bytes.Equal(got[5], want[5]) {
		t.Error("the releases do not matter")
	}
}

func digest(t *testing.T, s *State) string {
	t.Helper()
	d, err := s.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The feedback of one unit moves the exact sums by at most unit_contribution decisions, in however
// many versions it takes part. The decisions that do not count show in the number of units only.
func TestPrivateContribution(t *testing.T) {
	t.Parallel()
	sums := func(loud float64) (out []int64, x *experimentState) {
		w := newPrivateWorld(t, privateText, nil, 7)
		for range 4 {
			w.round(units(0, 40), func(unit string, _ int) map[string]float64 {
				if unit == "u3" {
					return map[string]float64{"buy": loud, "fail": 4 * loud}
				}
				return map[string]float64{"buy": 0.5}
			})
		}
		w.mature()
		x = w.state.live["secret"]
		out = make([]int64, 2)
		for _, p := range x.Private.Pending {
			for j, v := range p.Sums {
				out[j%2] += v
			}
		}
		w.check()
		return out, x
	}
	none, x := sums(0)
	most, _ := sums(1)
	limit := x.Private.sums.Limit()
	for m := range none {
		if d := most[m] - none[m]; d != 2*2*limit { // two decisions over the whole range
			t.Errorf("metric %d: one unit moves the sums by %d, want %d", m, d, 4*limit)
		}
	}
	of := x.joiner.Bounded
	if of.Excess != 2*40 || len(of.Unit) != 40 || len(x.Private.Pending) != 2 {
		t.Errorf("excess %d of %d units, %d rounds pending: want 80 of 40, and 2", of.Excess, len(of.Unit),
			len(x.Private.Pending))
	}
}

// A fold refuses releases that do not fit, and everything that could not be released.
func TestPrivateRefuses(t *testing.T) {
	t.Parallel()
	w := newPrivateWorld(t, privateText, nil, 7)
	w.refusals = true
	w.round(units(0, 30), func(string, int) map[string]float64 { return map[string]float64{"buy": 1} })
	w.mature()
	sums := make([]float64, 6)
	for _, e := range []ReleaseEvent{
		{Step: 2, Version: 1, Sums: sums}, {Step: 1, Version: 2, Sums: sums}, {Step: 1, Version: 1, Sums: sums[:5]},
	} {
		e.Experiment = w.name
		if o := w.event(KindRelease, e); o.Err == nil {
			t.Errorf("%+v was taken", e)
		}
	}
	st := w.sums[w.name].Statement()
	for kind, payload := range map[string]any{
		KindPrivacy: PrivacyEvent{Experiment: w.name, Statement: &st},
		KindAddArm:  ArmEvent{Experiment: w.name, Arm: "d", Value: []byte("4")},
		KindAggregate: api.Aggregate{
			Experiment: w.name, Source: "s", Sequence: 1, Items: make([]api.AggregateItem, 1),
		},
		KindExposures: join.Units{Experiment: w.name, Items: []join.Unit{{Version: 1, Kept: &join.Kept{}}}},
		KindFeedback:  join.Units{Experiment: w.name, Items: []join.Unit{{Metrics: map[string]float64{"buy": 1}}}},
	} {
		if o := w.event(kind, payload); o.Err == nil {
			t.Errorf("%s was taken", kind)
		}
	}
	_, privacy, _ := strings.Cut(privateText, "\nprivacy:")
	for _, change := range [][2]string{
		{"epsilon: 8", "epsilon: 9"}, {"{name: c", "{name: d, value: 4}, {name: c"}, {"\nprivacy:" + privacy, "\n"},
	} {
		out := w.run("apply\n" + strings.Replace(privateText, change[0], change[1], 1))
		if !strings.Contains(out, "error") {
			t.Errorf("%s: %s", change[1], out)
		}
	}
	w.decide("new")
	if out := w.run("feedback new:buy=1"); !strings.Contains(out, "rejected") {
		t.Errorf("feedback before the exposure: %s", out)
	}
	w.ok(KindRelease, ReleaseEvent{Experiment: w.name, Ended: "the disk was lost"})
	r, err := w.state.Report(w.name)
	if err != nil || !strings.Contains(strings.Join(r.Health.Problems, "\n"), "the disk was lost") {
		t.Errorf("%v, %v", r.Health.Problems, err)
	}
	if len(w.state.Releases()) != 0 {
		t.Error("releases after the end")
	}
}

// An experiment that runs without privacy cannot become private: its feedback is published already,
// no budget is reserved, and the state that would be saved could not be restored.
func TestPrivacyIsNotAdded(t *testing.T) {
	t.Parallel()
	s := newScenario(t)
	plain, _, _ := strings.Cut(privateText, "privacy:")
	if out := s.run("apply\n" + plain); !strings.Contains(out, "version 1") {
		t.Fatal(out)
	}
	if out := s.run("apply\n" + privateText); !strings.Contains(out, "error") || !strings.Contains(out, "privacy") {
		t.Errorf("privacy was added to a running experiment: %s", out)
	}
	if d := s.state.Definition(s.name); d.Privacy != nil {
		t.Errorf("the definition has %+v", d.Privacy)
	}
}

// A state knows the names of private experiments that were deleted, whether the host has tried the
// deletion first or not, and after it was saved. They stay when the name is used again.
func TestPrivateNames(t *testing.T) {
	t.Parallel()
	plain, _, _ := strings.Cut(privateText, "privacy:")
	key := []byte(`"secret":["`)
	saved := func(s *State) []byte {
		t.Helper()
		b, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, tried := range []bool{false, true} {
		w := newPrivateWorld(t, privateText, nil, 7)
		w.run("apply\n" + strings.Replace(plain, "secret", "plain", 1))
		got := PrivateNames(w.state)
		if !slices.Equal(got, []string{"secret"}) || bytes.Contains(saved(w.state), key) {
			t.Errorf("before the deletion: %q", got)
		}
		for _, name := range []string{"plain", "secret"} {
			e, err := NewEvent(KindDelete, w.now, NameEvent{Experiment: name})
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(saved(w.state), key) {
				t.Errorf("before %s is deleted, the state has a list of secret names", name)
			}
			if tried {
				if _, err := w.state.Try(name, e); err != nil {
					t.Fatal(err)
				}
			}
			if o := w.apply(e); o.Err != nil {
				t.Fatal(o.Err)
			}
		}
		w.run("apply\n" + plain) // the name again
		again := NewState()
		if err := again.UnmarshalBinary(saved(w.state)); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*State{w.state, again} {
			if got := PrivateNames(s); !slices.Equal(got, []string{"secret"}) || s.Private("secret") {
				t.Errorf("tried %v: %q, want secret, which is not private now", tried, got)
			}
			if got := slices.Sorted(maps.Keys(s.gone)); !slices.Equal(got, []string{"plain", "secret"}) {
				t.Errorf("deleted: %q", got)
			}
		}
		bad := altered(t, w.state, func(saved *persistedState) { saved.Secret = []string{"other"} })
		if err := again.UnmarshalBinary(bad); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("a name that was not deleted: %v", err)
		}
	}
}

// The policy learns from the releases: the best arm gets most of the traffic.
func TestPrivateLearns(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	text := strings.NewReplacer("rounds: 3", "rounds: 30", "max: 2", "max: 3, hard: false").Replace(privateText)
	w := newPrivateWorld(t, text, nil, 7)
	for round := range 8 {
		w.round(units(1000*round, 1000*round+1000), func(_ string, arm int) map[string]float64 {
			return map[string]float64{"buy": []float64{0.2, 0.8, 0.3}[arm], "fail": 0}
		})
		w.release()
	}
	r, err := w.state.Report(w.name)
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Mixture["b"]; p < 0.6 {
		t.Errorf("the best arm has the share %v: %v", p, r.Mixture)
	}
	if m := r.Arms["b"].Metrics["buy"].Mean; m == nil || *m < 0.7 || *m > 0.9 {
		t.Errorf("the released mean of arm b is %s", number(m))
	}
	w.check()
}
