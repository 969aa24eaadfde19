package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
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
// running version, and ends the round.
func (w *liftWorld) sums(round int, units []int64, mean float64) {
	w.t.Helper()
	p := api.Aggregate{Experiment: "w", Source: "test", Sequence: uint64(round + 1)}
	for k, name := range []string{"old", "new"} {
		if units[k] == 0 {
			continue
		}
		sum := float64(units[k]) * (mean + float64(k)*w.effect)
		p.Items = append(p.Items, api.AggregateItem{
			Version: w.state.Policy("w").Version, Arm: name, Units: units[k],
			Metrics: map[string]api.Sums{"x": {N: units[k], Sum: sum, Squares: sum}},
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
			means, known := valuer{w.state.live["w"]}.means()
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

func pairedDefinition(tb interface{ Fatal(args ...any) }) *definition.Definition {
	d, err := definition.Parse("d", []byte("name: d\narms: [{name: a, value: 0}, {name: b, value: 1}]\n"+
		"metrics: [{name: x}, {name: y}, {name: r, kind: ratio, numerator: x, denominator: y}]\n"+
		"objective: {goals: [{metric: x}]}\n"))
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// drawVersions draws the statistics of arms in versions, of which some have no units.
func drawVersions(t *rapid.T, d *definition.Definition, arms int) (out [][]armStats) {
	for range rapid.IntRange(1, 8).Draw(t, "versions") {
		stats := make([]armStats, rapid.IntRange(1, arms).Draw(t, "arms"))
		for k := range stats {
			stats[k] = compare.NewStats(d)
			if n := rapid.Int64Range(-300, 300).Draw(t, "n"); n > 0 {
				x, y := rapid.Float64Range(-5, 5).Draw(t, "x"), rapid.Float64Range(-5, 5).Draw(t, "y")
				stats[k].Metrics[0] = confseq.Sequence{N: n, Mean: x}
				stats[k].Pairs[0] = confseq.Pair{N: n, X: x, Y: y}
			}
		}
		out = append(out, stats)
	}
	return out
}

// TestPairing compares the estimates of arms with least squares of all arms and versions, solved as
// a dense problem with a column for each arm and for each version, and adds a level to all arms of
// each version: no difference between arms may change, and the mean of all units must be kept.
func TestPairing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := pairedDefinition(t)
		const most = 5
		versions := drawVersions(t, d, most)
		for _, metric := range []int{0, 2} {
			p, moved := pairing{Metric: metric}, pairing{Metric: metric}
			parts := p.parts(d)
			var n, sum, level float64
			design, values := []float64{}, []float64{}
			for v, stats := range versions {
				p.add(d, stats)
				level = rapid.Float64Range(-50, 50).Draw(t, "level")
				others := compare.CopyStats(stats)
				for k := range stats {
					others[k].Metrics[0].Mean += level
					others[k].Pairs[0].X += level
					size, means := p.values(d, &stats[k])
					if size == 0 {
						continue
					}
					row := make([]float64, most+len(versions))
					row[k], row[most+v] = math.Sqrt(size), math.Sqrt(size)
					design, values = append(design, row...), append(values, math.Sqrt(size)*means[0])
				}
				moved.add(d, others)
			}
			means, known := p.estimate(parts, nil)
			other, same := moved.estimate(parts, nil)
			if !slices.Equal(known, same) {
				t.Fatalf("known %v, moved %v", known, same)
			}
			first := slices.Index(known, true)
			if first < 0 {
				if len(values) > 0 {
					t.Fatal("nothing is known")
				}
				continue
			}
			var svd mat.SVD
			var solved mat.Dense
			if !svd.Factorize(mat.NewDense(len(values), most+len(versions), design), mat.SVDThin) {
				t.Fatal("no singular values")
			}
			svd.SolveTo(&solved, mat.NewDense(len(values), 1, values), svd.Rank(1e-10))
			for k := range means {
				if k/parts >= len(known) || !known[k/parts] {
					continue
				}
				gap, want := means[k]-means[first*parts+k%parts], other[k]-other[first*parts+k%parts]
				if math.Abs(gap-want) > 1e-7 {
					t.Fatalf("a level moves the difference of arm %d by %v", k/parts, want-gap)
				}
				if k%parts > 0 {
					continue
				}
				if want = solved.At(k/parts, 0) - solved.At(first, 0); math.Abs(gap-want) > 1e-7 {
					t.Fatalf("arm %d differs by %v: want %v", k/parts, gap, want)
				}
				n += p.Size[k/parts]
				sum += p.Size[k/parts]*means[k] - p.Sum[k]
			}
			if math.Abs(sum) > 1e-6*n {
				t.Fatalf("%v units have a sum that is %v too large", n, sum)
			}
		}
	})
}

// TestPairingApart keeps arms apart that no version connects: those are known that are served most
// or, if none is, that have most units. Values too large to be added leave the sums as they were.
func TestPairingApart(t *testing.T) {
	t.Parallel()
	d := pairedDefinition(t)
	version := func(units ...int64) (stats []armStats) {
		for k, n := range units {
			stats = append(stats, compare.NewStats(d))
			stats[k].Metrics[0] = confseq.Sequence{N: n, Mean: float64(k)}
		}
		return stats
	}
	var p pairing
	p.add(d, version(10, 20))
	p.add(d, version(0, 0, 15, 20))
	for _, c := range []struct {
		served []float64
		want   string
	}{
		{nil, "[false false true true]"},
		{[]float64{.6, 0, .4, 0}, "[true true false false]"},
		{[]float64{.4, 0, .4, .2}, "[false false true true]"},
	} {
		if _, known := p.estimate(1, c.served); fmt.Sprint(known) != c.want {
			t.Errorf("served %v: known %v, want %s", c.served, known, c.want)
		}
	}
	before := fmt.Sprint(p)
	huge := version(2, 2)
	huge[1].Metrics[0].Mean = 1e300
	if p.add(d, huge); fmt.Sprint(p) != before {
		t.Errorf("huge values: %+v", p)
	}
	p.add(d, version(5, 0, 5))
	if means, known := p.estimate(1, nil); fmt.Sprint(known) != "[true true true true]" ||
		math.Abs(means[3]-means[0]-3) > 1e-12 {
		t.Errorf("connected: %v %v", means, known)
	}
}

// TestPairingOfManyArms has more arms than there are sums of pairs for. A common level of a version
// changes no difference there either.
func TestPairingOfManyArms(t *testing.T) {
	was := mostCrossed
	defer func() { mostCrossed = was }()
	mostCrossed = 2
	d := pairedDefinition(t)
	var p, moved pairing
	for v := range 3 {
		stats := make([]armStats, 2+v)
		for k := range stats {
			stats[k] = compare.NewStats(d)
			stats[k].Metrics[0] = confseq.Sequence{N: int64(10 + 7*k*v), Mean: float64(k)}
		}
		p.add(d, stats)
		for k := range stats {
			stats[k].Metrics[0].Mean += float64(100 * v)
		}
		moved.add(d, stats)
	}
	if len(p.Cross) != 0 || len(p.Size) != 4 {
		t.Fatalf("%+v", p)
	}
	means, known := p.estimate(1, nil)
	other, _ := moved.estimate(1, nil)
	for k := range means {
		if !known[k] || math.Abs(other[k]-other[0]-means[k]+means[0]) > 1e-9 || k > 0 && !(means[k] > means[k-1]+.3) {
			t.Errorf("arm %d: %v of %v, moved %v", k, known[k], means, other)
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
		"none":           func(p *persistedParts) { p.Joint = nil },
		"of no metric":   func(p *persistedParts) { p.Joint.Metrics = nil },
		"another metric": func(p *persistedParts) { p.Joint.Metrics[0].Metric++ },
		"of fewer arms":  func(p *persistedParts) { p.Joint.Metrics[0].Beside = nil },
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
		for i := range p.Joint.Metrics {
			p.Joint.Metrics[i].Sum = make(f64s, len(p.Joint.Metrics[i].Sum))
		}
	})
	if err := w.state.UnmarshalBinary(hidden); err != nil {
		t.Fatal(err)
	}
	if got := w.digest(); got != want {
		t.Error("the digest depends on what reports show")
	}
	if got := *w.shown().Regret.PerUnit; got == regret {
		t.Errorf("the regret %v does not depend on the sums", got)
	}
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
