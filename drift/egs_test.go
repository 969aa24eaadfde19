package drift

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/snapshot/snapshottest"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/internal/vec"
	"pgregory.net/rapid"
)

func TestOracleO5EGS(t *testing.T) {
	l := must(NewEGS(EGSOptions{
		Set: must(convex.NewCube(1, -2, 2)), First: []float64{.5}, Curvature: 1, Depth: 2,
	}))
	draws := script{0, .6, .1, .2}
	for i, want := range []struct{ h, cost, z float64 }{
		{1.1892071150, .7375032237, -.7403276341},
		{1, 4.2546977710, 1},
		{.9036020036, .9082482905, .3299053589},
		{.8408964153, .5145866230, .0239303222},
	} {
		_, h := l.tuning(i + 1)
		near(t, "h", h, want.h)
		x := must(l.Play(&draws))[0]
		cost := x*x/2 - x + 1
		near(t, "cost", cost, want.cost)
		if err := l.Observe(cost); err != nil {
			t.Fatal(err)
		}
		near(t, "z", l.Center()[0], want.z)
	}
}

// sets are sets of several kinds in dimension 4, with an inradius of at least 0.1.
func sets() []convex.Set {
	lower, upper := []float64{-1, 0, 2, 1}, []float64{1, 3, 2, 4}
	return []convex.Set{
		must(convex.NewCube(4, -1, 2)), must(convex.NewBox(lower, upper)), must(convex.NewCenteredBall(4, 1)),
		must(convex.NewBall([]float64{3, 0, -1, 2}, .5)), must(convex.NewL1Ball(4, 1)),
		must(convex.NewCenteredLpBall(4, 3, 1)), must(convex.NewCenteredLpBall(4, 1.5, 1)),
		must(convex.NewCenteredLpBall(4, math.Inf(1), 1)), must(convex.NewScaledSimplex(4, 2)),
		must(convex.NewCappedSimplex(4, .6, 1)), must(convex.NewSpace(4)),
		must(convex.NewHalfspace([]float64{1, 2, -1, 0}, 1)),
		must(convex.NewProduct(must(convex.NewSimplex(2)), must(convex.NewCube(2, 0, 1)))),
		must(convex.NewIntersection(must(convex.NewCube(4, 0, 1)),
			must(convex.NewHalfspace([]float64{1, 1, 1, 1}, 2)))),
	}
}

// TestOracleO10Inside: on every set, across restarts and with costs of any size, every point
// is in the set.
func TestOracleO10Inside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := random.New(rapid.Uint64().Draw(t, "seed"), "inside")
		every := rapid.IntRange(1, 20).Draw(t, "every")
		size := math.Pow(10, rapid.Float64Range(-3, 6).Draw(t, "size"))
		all := sets()
		set := all[r.IntN(len(all))]
		for name, l := range costLearners(set) {
			w := must(NewRestartedCost(l, must(forget.Every(every)), Mode(r.IntN(3))))
			for range 40 {
				x := must(w.Play(r))
				if !set.Contains(x, 1e-14) {
					t.Fatalf("%s: %v is not in %v", name, x, set)
				}
				if err := w.Observe(size * (r.Float64() - .5)); err != nil {
					t.Fatal(err)
				}
			}
			if w.Batch() != 40/every || w.Age() != 40%every || w.Rounds() != 40 || w.Dim() != 4 {
				t.Fatalf("%d restarts", w.Batch())
			}
		}
	})
}

// TestOracleO10EGSEstimate: over the directions and signs the estimated gradient of a quadratic has
// the mean ∇f/d, with and without a baseline. The estimate is read off the step, which no set
// hinders.
func TestOracleO10EGSEstimate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 5).Draw(t, "d")
		vector := func(name string) []float64 {
			return rapid.SliceOfN(rapid.Float64Range(-2, 2), d, d).Draw(t, name)
		}
		z, c, w := vector("z"), vector("c"), vector("w")
		f := func(x []float64) (v float64) {
			for i := range x {
				v += (1+w[i]*w[i])*(x[i]-c[i])*(x[i]-c[i])/2 + .3*x[i]*x[(i+1)%d]
			}
			return v
		}
		gradient := make([]float64, d)
		for i := range z {
			gradient[i] = (1+w[i]*w[i])*(z[i]-c[i]) + .3*(z[(i+1)%d]+z[(i+d-1)%d])
		}
		for _, discount := range []float64{0, .95} {
			const step = .1
			got := make([]float64, d)
			for k := range 2 * d {
				l := must(NewEGS(EGSOptions{
					Set: must(convex.NewSpace(d)), First: z, Step: step, Depth: 10, Baseline: discount,
				}))
				l.s.Baseline.Add(17, discount)
				x := must(l.Play(&script{(float64(k) + .5) / float64(2*d)}))
				if err := l.Observe(f(x)); err != nil {
					t.Fatal(err)
				}
				for i, v := range l.Center() {
					got[i] += (z[i] - v) / step / float64(2*d)
				}
			}
			for i, v := range gradient {
				if math.Abs(got[i]-v/float64(d)) > 1e-9*(1+math.Abs(v)) {
					t.Fatalf("mean of the estimates %v, gradient %v", got, gradient)
				}
			}
		}
	})
}

// TestEGSFollows: restarted, it follows a minimizer that jumps; and the baseline lowers its regret.
func TestEGSFollows(t *testing.T) {
	set := must(convex.NewCube(1, -2, 2))
	const rounds = 5000
	b := must(NewBudget(rounds, 1))
	regret := func(discount float64) (sum float64) {
		l := must(NewRestartedCost(must(NewEGS(EGSOptions{
			Set: set, First: []float64{.5}, Curvature: 1, Depth: 1, Baseline: discount,
		})), must(forget.Every(b.BatchSize(StronglyConvexCost))), Project))
		r := random.New(4, "follows")
		for round := range rounds {
			best := 1.0
			if round >= 2500 {
				best = 0
			}
			x := must(l.Play(r))[0]
			sum += (x - best) * (x - best) / 2
			if err := l.Observe(x*x/2 - best*x + 1 + .1*(r.Float64()+r.Float64()-1)); err != nil {
				t.Fatal(err)
			}
		}
		return sum
	}
	plain, better := regret(0), regret(.95)
	if bound := b.RestartBound(293, func(n int) float64 { return EGSBound(1, 1, 1, 4, .1, n) }); plain > bound {
		t.Errorf("regret %v above %v", plain, bound)
	}
	if plain > 900 || better > .8*plain {
		t.Errorf("regret %v, with a baseline %v", plain, better)
	}
}

// costLearners are the learners for costs on a set.
func costLearners(set convex.Set) map[string]CostLearner {
	all := map[string]CostLearner{
		"egs":           must(NewEGS(EGSOptions{Set: set, Curvature: 2, Depth: .1})),
		"egs, step":     must(NewEGS(EGSOptions{Set: set, Step: .1, Depth: .1})),
		"egs, baseline": must(NewEGS(EGSOptions{Set: set, Step: .1, Depth: .1, Baseline: .9})),
	}
	if !math.IsInf(set.Diameter(), 1) {
		o := DefaultBGDOptions(set, 7, 1)
		o.Lipschitz = 1
		all["bgd"] = must(NewBGD(o))
		o = DefaultBGDOptions(set, 700, 1)
		o.Deviation, o.Baseline = 1, .9
		all["bgd, no lipschitz"] = must(NewBGD(o))
	}
	return all
}

func TestCostLearnersContinue(t *testing.T) {
	for _, set := range sets() {
		other := costLearners(set)
		for name, l := range costLearners(set) {
			a := must(NewRestartedCost(l, must(forget.Every(7)), Project))
			b := must(NewRestartedCost(other[name], must(forget.Every(7)), Project))
			r := random.New(5, name)
			for range 17 {
				must(a.Play(r))
				if err := a.Observe(r.Float64()); err != nil {
					t.Fatal(err)
				}
			}
			must(a.Play(r)) // in the middle of a round
			snapshottest.Restore(t, a, b)
			again := random.New(6, name)
			r = random.New(6, name)
			for range 20 {
				if a.Observe(.5) != nil || b.Observe(.5) != nil {
					t.Fatal("refused")
				}
				if x, y := must(a.Play(r)), must(b.Play(again)); !slices.Equal(x, y) {
					t.Fatalf("%s: %v, restored %v", name, x, y)
				}
			}
		}
	}
}

func TestCostLearnersAllocateNothing(t *testing.T) {
	testsize.NoRace(t) // a sync.Pool drops a quarter of its values under the race detector
	for _, set := range sets() {
		for name, l := range costLearners(set) {
			a := must(NewRestartedCost(l, must(forget.Every(7)), Project))
			r := random.New(5, name)
			must(a.Play(r))
			if n := testing.AllocsPerRun(20, func() {
				if a.Observe(.5) != nil {
					t.Fatal("refused")
				}
				_, _ = a.Play(r)
			}); n != 0 {
				t.Errorf("%s on %v: %v allocations a round", name, set, n)
			}
		}
	}
}

// TestRestartedCostEqualsFresh: in the mode full every batch is that of a fresh learner.
func TestRestartedCostEqualsFresh(t *testing.T) {
	for _, set := range sets() {
		for name, l := range costLearners(set) {
			w := must(NewRestartedCost(l, must(forget.Every(7)), Full))
			var fresh CostLearner
			r, again := random.New(7, name), random.New(7, name)
			for round := range 30 {
				if round%7 == 0 {
					fresh = costLearners(set)[name]
				}
				x, y := must(w.Play(r)), must(fresh.Play(again))
				if !slices.Equal(x, y) {
					t.Fatalf("%s, round %d: %v, fresh %v", name, round+1, x, y)
				}
				cost := math.Sin(vec.Dot(x, x)) - math.Cos(x[0])
				if w.Observe(cost) != nil || fresh.Observe(cost) != nil {
					t.Fatal("refused")
				}
			}
		}
	}
}

func TestCostLearnersRefuse(t *testing.T) {
	set := must(convex.NewCube(4, -1, 1))
	r := random.New(8, "refuse")
	for name, l := range costLearners(set) {
		w := must(NewRestartedCost(l, must(forget.Every(3)), Project))
		refused(t, name+": Observe before Play", w.Observe(1))
		must(w.Play(r))
		before := must(w.MarshalBinary())
		_, err := w.Play(r)
		refused(t, name+": two calls of Play", err)
		refused(t, name+": a restart in a round", w.Restart(Full))
		for _, x := range []float64{math.NaN(), math.Inf(1), 1e101} {
			refused(t, name+": cost", w.Observe(x))
		}
		if !slices.Equal(before, must(w.MarshalBinary())) {
			t.Errorf("%s: a refused call changed it", name)
		}
		if err := w.Observe(1); err != nil {
			t.Fatal(err)
		}
		_, err = w.Play(nil)
		refused(t, name+": no source", err)
		refused(t, name+": mode", w.Restart(9))
		if err := w.Restart(Full); err != nil || w.Batch() != 1 || w.Age() != 0 {
			t.Errorf("%s: %v after a restart by hand, batch %d", name, err, w.Batch())
		}
	}
	nan := math.NaN()
	for name, o := range map[string]EGSOptions{
		"zero":            {},
		"no set":          {Curvature: 1, Depth: .1},
		"no step":         {Set: set, Depth: .1},
		"two steps":       {Set: set, Curvature: 1, Step: 1, Depth: .1},
		"curvature":       {Set: set, Curvature: -1, Depth: .1},
		"step":            {Set: set, Step: nan, Depth: .1},
		"no depth":        {Set: set, Step: 1},
		"depth":           {Set: set, Step: 1, Depth: -1},
		"deep":            {Set: set, Step: 16, Depth: 1.5}, // h = min(2, 1.5) above the inradius
		"baseline":        {Set: set, Step: 1, Depth: .1, Baseline: 1},
		"first":           {Set: set, Step: 1, Depth: .1, First: []float64{1}},
		"first, infinite": {Set: set, Step: 1, Depth: .1, First: []float64{0, 0, 0, math.Inf(1)}},
		"point":           {Set: must(convex.NewCube(2, 1, 1)), Step: 1, Depth: .1},
	} {
		_, err := NewEGS(o)
		refused(t, name, err)
	}
	l := costLearners(set)["egs"]
	for name, err := range map[string]error{
		"learner": second(NewRestartedCost(nil, forget.Never(), Full)),
		"trigger": second(NewRestartedCost(l, nil, Full)),
		"mode":    second(NewRestartedCost(l, forget.Never(), -1)),
	} {
		refused(t, name, err)
	}
}

func second[T any](_ T, err error) error { return err }
