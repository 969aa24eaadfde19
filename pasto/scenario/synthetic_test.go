package scenario

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/optimum"
)

// built returns a run's world of a scenario with its default options.
func built(t *testing.T, name string, run int) (World, Options) {
	t.Helper()
	spec, err := find(name)
	if err != nil {
		t.Fatal(err)
	}
	o := own(t, Options{Scenario: name, Seed: 1})
	if err := o.complete(&spec); err != nil {
		t.Fatal(err)
	}
	build, _, _, err := spec.Prepare(&o)
	if err != nil {
		t.Fatal(err)
	}
	w, err := build(run)
	if err != nil {
		t.Fatal(err)
	}
	return w, o
}

// rows are the means by metric.
func rows(t *pasto.Table) [][]float64 {
	out := make([][]float64, t.Metrics())
	for k := range t.Arms() {
		for m, v := range t.Arm(k) {
			out[m] = append(out[m], v)
		}
	}
	return out
}

// Scenarios a, a-drift and a-swap agree with the reference: arms, noise, groups, runs, the means
// before and after the change, and the two optima of each (lab/docs/pasto.md, table 9.5). The
// paper's noise can be read as a standard deviation of 5 or of √5; the drift scenarios use the
// latter.
func TestToysArePinned(t *testing.T) {
	for _, c := range []struct {
		name          string
		runs          int
		noise         float64
		before, after [][]float64
		best, share   [2]float64 // before and after: the optimum, and arm 1's share in it
		single        [2]float64
	}{
		{
			"a", 1000, 5,
			[][]float64{{2, 0}, {-2, 2}},
			[][]float64{{2, 0}, {-2, 2}},
			[2]float64{1.0125, 1.0125},
			[2]float64{.5125, .5125},
			[2]float64{},
		},
		{
			"a-drift", 300, math.Sqrt(5),
			[][]float64{{2, 0}, {-2, 2}},
			[][]float64{{2, 0}, {-2, .5}},
			[2]float64{1.0125, .432},
			[2]float64{.5125, .232},
			[2]float64{},
		},
		{
			"a-swap", 300, math.Sqrt(5),
			[][]float64{{2, 0}, {-2, 2}},
			[][]float64{{0, 2}, {2, -2}},
			[2]float64{1.0125, 1.0125},
			[2]float64{.5125, .4875},
			[2]float64{},
		},
	} {
		w, o := built(t, c.name, 0)
		if math.Abs(*o.Noise-c.noise) > 1e-12 || o.Runs != c.runs || w.Groups() != 1 ||
			w.(*synthetic).sigma != *o.Noise {
			t.Errorf("%s: noise %v, %d runs, %d groups", c.name, *o.Noise, o.Runs, w.Groups())
		}
		if (w.Changes() > 0) != (c.name != "a") || w.Changes() > 0 && w.Changes() != o.Rounds/2 {
			t.Errorf("%s: the change is at round %d of %d", c.name, w.Changes(), o.Rounds)
		}
		for i, want := range [][][]float64{c.before, c.after} {
			mu := w.Means(w.Changes() + i)
			if diff := cmp.Diff(want, rows(mu)); diff != "" {
				t.Errorf("%s: means: %s", c.name, diff)
			}
			best, err := optimum.Maximize(w.Objective(), mu, optimum.DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			_, single, err := optimum.BestSingle(w.Objective(), mu)
			if err != nil || math.Abs(best.Value-c.best[i]) > 5e-5 || math.Abs(best.Mixture[0]-c.share[i]) > 5e-4 ||
				single != c.single[i] {
				t.Errorf("%s: optimum %v at %v, best single %v (%v)", c.name, best.Value, best.Mixture, single, err)
			}
		}
		// f = x − 5·((y − 0)₋)².
		for _, v := range [][3]float64{{1, 0, 1}, {1, -1, -4}, {.5, 3, .5}} {
			if got := w.Objective().Reward(v[:2]); got != v[2] {
				t.Errorf("%s: f%v = %v, want %v", c.name, v[:2], got, v[2])
			}
		}
		scatter(t, c.name, w, c.noise)
	}
	// The cost of not reacting to the drift: F of the old optimum under the new means is −2.03.
	w, _ := built(t, "a-drift", 0)
	theta := make([]float64, 2)
	w.Means(w.Changes()+1).Mean(theta, []float64{.5125, .4875})
	if v := w.Objective().Reward(theta); math.Abs(v+2.03) > .005 {
		t.Errorf("the old optimum is worth %v", v)
	}
}

// scatter checks that the observations of arm 0 have the arm's mean and the standard deviation
// sigma, within five standard errors of each, in the first and the last metric.
func scatter(t *testing.T, name string, w World, sigma float64) {
	t.Helper()
	const n = 20_000
	mu := w.Means(1)
	m := mu.Metrics()
	dst := make([]float64, n*m)
	w.Observe(1, make([]int, n), dst, random.New(1, "scatter"))
	for _, j := range []int{0, m - 1} {
		sum, square := 0.0, 0.0
		for i := range n {
			d := dst[i*m+j] - mu.Arm(0)[j]
			sum += d / n
			square += d * d / n
		}
		if math.Abs(sum) > 5*sigma/math.Sqrt(n) || math.Abs(math.Sqrt(square)/sigma-1) > 5/math.Sqrt(2*n) {
			t.Errorf("%s: metric %d is %v off with a deviation of %v, want %v", name, j, sum, math.Sqrt(square), sigma)
		}
	}
}

// near compares a mean over n instances with the reference's over 1,000, up to four standard errors
// of the difference and the reference's rounding.
func near(t *testing.T, name string, c *Curve, n int, want float64) {
	t.Helper()
	if most := 4*c.SD[0]*math.Sqrt(1/float64(n)+1.0/1000) + .0005 + 1e-9; math.Abs(c.Mean[0]-want) > most {
		t.Errorf("%s: %.4f, the reference has %v, at most %.4f apart", name, c.Mean[0], want, most)
	}
}

// Scenario b agrees with the reference: 100 arms, three metrics uniform on [−1, 1], two thresholds
// of 0.5, ten groups, and 1,000 runs with different means. Over 300 instances the best single arm,
// the optimum, the gap and the share of instances without a gap agree with the reference's over
// 1,000, within four standard errors of the difference. In b-drift a random half of the arms is
// redrawn.
func TestRandomIsPinned(t *testing.T) {
	const n = 300
	var single, best, gap, none, values Curve
	var out []outcome
	var all []float64
	for i := range n {
		w, o := built(t, "b", i)
		mu := w.Means(1)
		if mu.Arms() != 100 || mu.Metrics() != 3 || w.Groups() != 10 || w.Changes() != 0 || o.Runs != 1000 ||
			*o.Noise != 1 {
			t.Fatalf("%d arms, %d metrics, %d groups, %d runs, noise %v", mu.Arms(), mu.Metrics(), w.Groups(), o.Runs,
				*o.Noise)
		}
		for _, row := range rows(mu) {
			all = append(all, row...)
		}
		truth, err := NewTruth(t.Context(), w.Objective(), mu)
		if err != nil {
			t.Fatal(err)
		}
		x := outcome{
			single: []float64{truth.Single}, best: []float64{truth.Optimum()}, deployed: make([]Score, 1),
		}
		if truth.Optimum()-truth.Single < 1e-8 {
			x.deployed[0].Value = 1
		}
		out = append(out, x)
		if i == 0 {
			scatter(t, "b", w, 1)
			// f = x − 5·Σ((y_j − 0.5)₋)².
			for _, v := range [][4]float64{{.3, .5, .5, .3}, {.3, .4, .9, .25}, {.3, .9, .4, .25}, {.3, .3, .3, -.1}} {
				if got := w.Objective().Reward(v[:3]); math.Abs(got-v[3]) > 1e-12 {
					t.Errorf("f%v = %v, want %v", v[:3], got, v[3])
				}
			}
		}
	}
	values.add(make([]outcome, len(all)), func() func(*outcome) float64 {
		i := -1
		return func(*outcome) float64 { i++; return all[i] }
	}())
	if m, sd := values.Mean[0], values.SD[0]; math.Abs(m) > 5*sd/math.Sqrt(float64(len(all))) ||
		math.Abs(sd-1/math.Sqrt(3)) > .005 ||
		math.Abs(values.Q25[0]+.5) > .02 || math.Abs(values.Q75[0]-.5) > .02 {
		t.Errorf("means: %v ± %v, quartiles %v and %v, want those of a uniform on [−1, 1]", m, sd, values.Q25,
			values.Q75)
	}
	single.add(out, func(x *outcome) float64 { return x.single[0] })
	best.add(out, func(x *outcome) float64 { return x.best[0] })
	gap.add(out, func(x *outcome) float64 { return x.best[0] - x.single[0] })
	none.add(out, func(x *outcome) float64 { return x.deployed[0].Value })
	near(t, "best single", &single, n, 0.810)
	near(t, "optimum", &best, n, 0.886)
	near(t, "gap", &gap, n, 0.076)
	near(t, "no gap", &none, n, 0.075)

	w, o := built(t, "b-drift", 3)
	other, _ := built(t, "b", 3)
	before, after := w.Means(w.Changes()), w.Means(w.Changes()+1)
	drawn := 0
	for k := range 100 {
		if !cmp.Equal(before.Arm(k), other.Means(1).Arm(k)) {
			t.Errorf("arm %d differs from that of b before the change", k)
		}
		if !cmp.Equal(before.Arm(k), after.Arm(k)) {
			drawn++
		}
	}
	if drawn != 50 || w.Changes() != o.Rounds/2 || w.Groups() != 10 ||
		w.Objective().Reward([]float64{.3, .9, .4}) >= .26 {
		t.Errorf("%d arms change at %d of %d rounds, %d groups", drawn, w.Changes(), o.Rounds, w.Groups())
	}
}
