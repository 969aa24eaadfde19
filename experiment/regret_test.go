package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/compare"
)

// TestRegretUnderTrend serves two arms that are the same, with the shares .9 and .1 and later .1
// and .9, while the level of both rises from .1 to .3. No arm is better, so that nothing is
// regretted, with and without a control arm, though the arms' whole-life means are far apart.
func TestRegretUnderTrend(t *testing.T) {
	t.Parallel()
	for _, control := range []string{"", "control: {arm: old}\n"} {
		w := &liftWorld{scenario: newScenario(t)}
		for round := range 4 {
			share, level := .9, .1
			if round > 1 {
				share, level = .1, .3
			}
			w.run(fmt.Sprintf("apply\nname: w\narms: [{name: old, value: 0}, {name: new, value: 1}]\n%s"+
				"metrics: [{name: x, range: [0, 1]}]\nobjective: {goals: [{metric: x}]}\n"+
				"policy: {kind: fixed, split: {old: %v, new: %v}}\nround: {length: 1h}\n"+
				"attribution_window: 1h\n", control, share, 1-share))
			old := int64(math.Round(1000 * share))
			w.sums(round, []int64{old, 1000 - old}, level)
		}
		r := w.shown()
		raw := *r.Arms["new"].Metrics["x"].Mean - *r.Arms["old"].Metrics["x"].Mean
		if !(raw > .1) {
			t.Fatalf("the means differ by %v, but the test needs means that mislead", raw)
		}
		g := r.Regret
		for what, v := range map[string]*float64{
			"best single": g.BestSingle.Value, "mixture": g.Mixture, "average": g.Average,
		} {
			if v == nil || math.Abs(*v-.2) > 1e-9 {
				t.Errorf("control %q: %s is %s: want the level .2", control, what, number(v))
			}
		}
		if g.PerUnit == nil || math.Abs(*g.PerUnit) > 1e-9 || math.Abs(*g.Total) > 1e-6 || g.Units != 4000 {
			t.Errorf("control %q: a regret of %s a unit, %s of %d", control, number(g.PerUnit), number(g.Total),
				g.Units)
		}
		for _, h := range r.History {
			if h.Units == 0 {
				continue
			}
			if h.Regret == nil || math.Abs(*h.Regret) > 1e-9 {
				t.Errorf("control %q: version %d: a regret of %s", control, h.Version, number(h.Regret))
			}
		}
		solve, err := w.state.Optimum("w")
		if err != nil {
			t.Fatal(err)
		}
		if o, err := solve(); err != nil || math.Abs(o.Value-.2) > 1e-6 {
			t.Errorf("control %q: the optimum is %+v, %v", control, o, err)
		}
		w.event(KindConclude, ConcludeEvent{Experiment: "w", Mixture: map[string]float64{"new": 1}})
		r = w.shown()
		last := r.History[len(r.History)-1]
		if c := r.Conclusion; c.Value == nil || math.Abs(*c.Value-.2) > 1e-9 || *last.Value != *c.Value {
			t.Errorf("control %q: concluded with the value %s, in the history %s", control, number(c.Value),
				number(last.Value))
		}
		w.check()
	}
}

// sums reports units of the arms old and new, with the mean and the mean plus the effect, in the
// running version, and ends the round. The variance of a unit is always the same.
func (w *liftWorld) sums(round int, units []int64, mean float64) {
	w.t.Helper()
	p := api.Aggregate{Experiment: "w", Source: "test", Sequence: uint64(round + 1)}
	for k, name := range []string{"old", "new"} {
		if units[k] == 0 {
			continue
		}
		n := float64(units[k])
		sum := n * (mean + float64(k)*w.effect)
		p.Items = append(p.Items, api.AggregateItem{
			Version: w.state.Policy("w").Version, Arm: name, Units: units[k],
			Metrics: map[string]api.Sums{"x": {N: units[k], Sum: sum, Squares: sum*sum/n + .05*n}},
		})
	}
	if o := w.event(KindAggregate, p); o.Err != nil {
		w.t.Fatal(o.Err)
	} else if i := slices.IndexFunc(o.Items, func(r api.ItemResult) bool { return r.Error != "" }); i >= 0 {
		w.t.Fatal(o.Items[i].Error)
	}
	w.now += 3 * 3600e9
	w.run("due")
}

// TestMeansIgnoreLevels gives fixed splits, a bandit and the default policy, with and without a
// control arm, the same units with and without a level that all arms of a version share. The levels
// change what the policies learn, but no difference between arms.
func TestMeansIgnoreLevels(t *testing.T) {
	t.Parallel()
	levels := []float64{0, .5, .1, .6, .3}
	units := [][]int64{{900, 100}, {500, 500}, {70, 900}, {20, 700}, {300, 0}}
	for _, kind := range []string{
		"policy: {kind: fixed, split: {old: .5, new: .5}}", "policy: {kind: thompson}\nexploration_floor: .05",
		"control: {arm: old}\npolicy: {kind: fixed, split: {old: .5, new: .5}}", "control: {arm: old, share: .1}",
	} {
		var gaps [2]float64
		for i := range gaps {
			w := &liftWorld{scenario: newScenario(t)}
			w.run("apply\nname: w\narms: [{name: old, value: 0}, {name: new, value: 1}]\n" + kind +
				"\nmetrics: [{name: x, range: [0, 1]}]\nobjective: {goals: [{metric: x}]}\n" +
				"round: {length: 1h}\nattribution_window: 1h\n")
			for round, level := range levels {
				w.effect = .1 * float64(round%3) // it matters how rounds are weighted
				w.sums(round, units[round], .1+float64(i)*level)
			}
			values := w.state.live["w"].facts().Values()
			means, known := values.Means, values.Known
			if !known[0] || !known[1] {
				t.Fatalf("%s: known %v", kind, known)
			}
			gaps[i] = means[1][0] - means[0][0]
			w.check()
		}
		if math.Abs(gaps[1]-gaps[0]) > 1e-9 || !(gaps[0] > .05 && gaps[0] < .2) {
			t.Errorf("%s: the arms differ by %v without levels, %v with them", kind, gaps[0], gaps[1])
		}
	}
}

// TestStateOfReports checks that the digest does not depend on what only reports show, and that
// sums which are missing or do not fit are refused.
func TestStateOfReports(t *testing.T) {
	t.Parallel()
	w := newLiftWorld(t, 3, "{name: x}")
	w.spread, w.effect = .3, .5
	for round := range 4 {
		w.round("{name: x}", round, 400, 1+float64(round))
	}
	w.now += 3 * 3600e9
	w.run("due")
	want, regret := w.digest(), *w.shown().Regret.PerUnit
	for what, damage := range map[string]func(p *persistedParts){
		"none":           func(p *persistedParts) { p.Store = nil },
		"of two metrics": func(p *persistedParts) { p.Store = emptyStore(t, p.Store.Arms(), 2) },
		"of fewer arms":  func(p *persistedParts) { p.Store = emptyStore(t, p.Store.Arms()-1, 1) },
		"of a ratio": func(p *persistedParts) {
			p.Store = emptyStore(t, p.Store.Arms(), 1, compare.Metric{Ratio: true})
		},
	} {
		err := w.state.UnmarshalBinary(alteredParts(t, w.state, damage))
		if err == nil || !strings.Contains(err.Error(), "do not fit") {
			t.Errorf("sums %s: %v", what, err)
		}
	}
	hidden := alteredParts(t, w.state, func(p *persistedParts) {
		for i, v := range p.Versions {
			other := *v
			other.Shown = nil
			p.Versions[i] = &other
		}
		p.Tight = p.Tight.Copy()
		for i := range p.Tight {
			p.Tight[i].Served *= 2
		}
	})
	if err := w.state.UnmarshalBinary(hidden); err != nil {
		t.Fatal(err)
	}
	if got := w.digest(); got != want {
		t.Error("the digest depends on what reports show")
	}
	// The store is no such thing: what is regretted depends on it, and so does the digest.
	other := alteredParts(t, w.state, func(p *persistedParts) { p.Store = emptyStore(t, p.Store.Arms(), 1) })
	if err := w.state.UnmarshalBinary(other); err != nil {
		t.Fatal(err)
	}
	if got := w.shown().Regret; got.PerUnit != nil && *got.PerUnit == regret {
		t.Errorf("the regret %v does not depend on the sums", regret)
	}
	if w.digest() == want {
		t.Error("the digest does not depend on the sums")
	}
}

// emptyStore returns a store without rounds, of plain metrics without a range but for those named.
func emptyStore(t *testing.T, arms, plain int, named ...compare.Metric) *compare.Store {
	t.Helper()
	metrics := append(named, make([]compare.Metric, plain-len(named))...)
	s, err := compare.New(arms, metrics)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *liftWorld) shown() *api.Report {
	w.t.Helper()
	r, err := w.state.Report("w")
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *liftWorld) digest() string {
	w.t.Helper()
	d, err := w.state.Digest()
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}
