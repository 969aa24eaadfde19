package arena

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/lab/world"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/optimum"
)

// taskOf is the task of a world of one phase.
func taskOf(w *world.World) *Task {
	return &Task{Goals: w.Goals, Arms: w.Arms(), Rounds: w.Rounds(), Units: w.Units[0], world: w}
}

// worldOf draws the world of a run of a family.
func worldOf(t *testing.T, name string, run int) *world.World {
	t.Helper()
	f, err := world.FindFamily(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := f.Draw(f.Source(5, run))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Solve(); err != nil {
		t.Fatal(err)
	}
	return w
}

// exactly returns groups of units whose means are exact, with a common factor for the round.
func exactly(w *world.World, units []int, level float64) []world.Group {
	var groups []world.Group
	for k, n := range units {
		if n == 0 {
			continue
		}
		g := world.Group{Arm: k, Units: n, Means: slices.Clone(w.Phases[0].Means.Arm(k))}
		for m := range g.Means {
			g.Means[m] += level
			g.Variances = append(g.Variances, 0.01)
		}
		groups = append(groups, g)
	}
	return groups
}

// Round effects of any size, at any serving shares, leave the estimates of contrasts exact, while
// plain means absorb them.
func TestEffectsOfRoundsCancel(t *testing.T) {
	w := worldOf(t, "twenty-arms", 0)
	task, r := taskOf(w), random.New(1, "test")
	effects, plain := newEffects(task), newTally(task)
	for round := range 30 {
		units := make([]int, w.Arms())
		for k := range units {
			units[k] = int(1000 * r.Float64() * float64((k+round)%3))
		}
		groups := exactly(w, units, 0.02*r.Float64())
		effects.add(groups)
		plain.add(groups)
	}
	a, b := newEstimates(w.Arms(), 2), newEstimates(w.Arms(), 2)
	effects.write(a)
	plain.write(b)
	means, worst := w.Phases[0].Means, 0.0
	for k := 1; k < w.Arms(); k++ {
		want := means.Arm(k)[0] - means.Arm(0)[0]
		if got := a.mean.Arm(k)[0] - a.mean.Arm(0)[0]; math.Abs(got-want) > 1e-12 {
			t.Errorf("arm %d: contrast %v, want %v", k, got, want)
		}
		want = means.Arm(k)[1] - means.Arm(0)[1] + 0.05*a.control[1]
		if got := a.mean.Arm(k)[1]; math.Abs(got-want) > 1e-12 {
			t.Errorf("arm %d: relative guardrail %v, want %v", k, got, want)
		}
		worst = max(worst, math.Abs(b.mean.Arm(k)[0]-b.mean.Arm(0)[0]-(means.Arm(k)[0]-means.Arm(0)[0])))
	}
	if worst < 1e-4 {
		t.Errorf("plain means are off by %v only: the rounds have no effect", worst)
	}
}

// If every round serves two arms equally, the standard error of a contrast is that of two
// independent means.
func TestEffectsErrors(t *testing.T) {
	w := worldOf(t, "two-arms", 0)
	effects, e := newEffects(taskOf(w)), newEstimates(2, 2)
	for range 10 {
		effects.add(exactly(w, []int{100, 100}, 0))
	}
	effects.write(e)
	if got, want := e.error.Arm(1)[0], math.Sqrt(2*0.01/1000); math.Abs(got-want) > 1e-12 {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestTallyErrors(t *testing.T) {
	w := worldOf(t, "two-arms", 0)
	tally, e := newTally(taskOf(w)), newEstimates(2, 2)
	tally.add(exactly(w, []int{100, 400}, 0))
	tally.add(exactly(w, []int{300, 0}, 0))
	tally.write(e)
	want := math.Sqrt(0.01/400 + 0.95*0.95*0.01/400)
	if got := e.error.Arm(1)[1]; math.Abs(got-want) > 1e-12 {
		t.Errorf("contrast: error %v, want %v", got, want)
	}
	if got, want := e.error.Arm(0)[0], math.Sqrt(0.01/400); math.Abs(got-want) > 1e-12 {
		t.Errorf("mean: error %v, want %v", got, want)
	}
	only := newTally(taskOf(w))
	only.add(exactly(w, []int{0, 10}, 0))
	only.write(e)
	if e.seen[1] {
		t.Error("an arm counts as observed although there was no control to compare it with")
	}
}

// The guard's mixture satisfies every guardrail by the bounds, and a larger share of the proposed
// mixture would not.
func TestGuardIsTight(t *testing.T) {
	for _, name := range []string{"several", "crash", "only-control", "infeasible", "few-units"} {
		for run := range 20 {
			w := worldOf(t, name, run)
			task, r := taskOf(w), random.New(uint64(run), "test")
			g, tally, e := newGuard(task), newTally(task), newEstimates(w.Arms(), w.Goals.Dim())
			p := make([]float64, w.Arms())
			uniform(p)
			g.restrict(e, p)
			if p[0] != 1 {
				t.Fatalf("%s: %v is served before any observation", name, p)
			}
			units := make([]int, w.Arms())
			units[0] = 50_000
			for k := range units[1:] {
				units[k+1] = int(20_000 * r.Float64() * float64(k%2))
			}
			tally.add(exactly(w, units, 0))
			tally.write(e)
			uniform(p)
			g.restrict(e, p)
			least, sum := math.Inf(1), 0.0
			for m := range w.Goals.Metrics() {
				if !w.Goals.Metrics()[m].Hard {
					continue
				}
				total, scale := 0.0, 0.0
				for k, share := range p {
					s, _ := g.slack(e, k, m)
					total += share * s
					scale += share * math.Abs(s)
				}
				least = min(least, total/scale)
			}
			for _, share := range p {
				sum += share
			}
			if math.Abs(sum-1) > 1e-12 || least < -1e-12 {
				t.Errorf("%s: %v sums to %v, slack %v", name, p, sum, least)
			}
			if p[0] > 1.001/float64(w.Arms()) && least > 1e-12 {
				t.Errorf("%s: %v leaves slack of %v", name, p, least)
			}
		}
	}
}

// Without a range, the arms that were never served share one hundredth of the traffic.
func TestGuardWithoutRange(t *testing.T) {
	w := worldOf(t, "latency", 0)
	task := taskOf(w)
	g, tally, e, p := newGuard(task), newTally(task), newEstimates(6, 2), make([]float64, 6)
	tally.add(exactly(w, []int{1_000_000, 0, 0, 0, 0, 0}, 0))
	tally.write(e)
	uniform(p)
	g.restrict(e, p)
	if unknown := 1 - p[0]; math.Abs(unknown-unknownShare) > 1e-9 {
		t.Errorf("%v: unobserved arms get %v, want %v", p, unknown, unknownShare)
	}
}

// The boundary holds uniformly over rounds: the mean of normal values leaves it in at most 5 % of
// the runs.
func TestBoundaryHoldsAtAllTimes(t *testing.T) {
	const runs, rounds, units = 2000, 300, 30
	g := &guard{alpha: 0.05}
	left := 0
	for run := range runs {
		r, sum := random.New(uint64(run), "test"), 0.0
		for n := 1; n <= rounds; n++ {
			sum += r.NormFloat64()
			if sum > g.boundary(float64(n*units))*math.Sqrt(float64(n)) {
				left++
				break
			}
		}
	}
	if share := float64(left) / runs; share > 0.06 || share < 0.01 {
		t.Errorf("the mean leaves the boundary in %v of the runs, want at most 0.05 and not far below", share)
	}
}

// With exact estimates each linear program finds the certified optimum and serves it, apart from
// exploration.
func TestProgramsFindTheOptimum(t *testing.T) {
	for _, name := range []string{"several", "mixture", "latency", "soft", "only-control"} {
		for run := range 10 {
			w := worldOf(t, name, run)
			units := make([]int, w.Arms())
			for k := range units {
				units[k] = 1e15
			}
			for _, entry := range []string{"test-mixture", "greedy-2", "optimistic", "contrasts", "greedy-2-safe"} {
				e, err := FindLearner(entry)
				if err != nil {
					t.Fatal(err)
				}
				l, err := e.New(taskOf(w))
				if err != nil {
					t.Fatal(err)
				}
				if err := l.Observe(exactly(w, units, 0)); err != nil {
					t.Fatal(err)
				}
				if _, err := l.Serving(w.Rounds()); err != nil {
					t.Fatal(err)
				}
				s := w.Rate(0, l.Deployed(), make([]float64, w.Goals.Dim()))
				best := w.Rate(0, w.Truth(0).Best, make([]float64, w.Goals.Dim()))
				if math.Abs(s.Value-best.Value) > 1e-3 {
					t.Errorf("%s, run %d, %s: deploys %v of value %v, the optimum has %v", name, run, entry,
						l.Deployed(),
						s.Value, best.Value)
				}
			}
		}
	}
}

// A peer that deploys one arm deploys the best of the arms that satisfy the guardrails with
// confidence, or the control if none does.
func TestSingle(t *testing.T) {
	for _, name := range []string{"infeasible", "only-control", "rate-5"} {
		w := worldOf(t, name, 1)
		estimator, p := newTestSingle(taskOf(w))
		units := make([]int, w.Arms())
		for k := range units {
			units[k] = 1e12
		}
		estimator.add(exactly(w, units, 0))
		e, q := newEstimates(w.Arms(), w.Goals.Dim()), make([]float64, w.Arms())
		estimator.write(e)
		if err := p.plan(w.Rounds(), e, make([]float64, w.Arms()), q); err != nil {
			t.Fatal(err)
		}
		want, _, err := optimum.BestSingle(w.Goals, w.Truth(0).Means)
		if err != nil {
			t.Fatal(err)
		}
		if q[want] != 1 {
			t.Errorf("%s: deploys %v, want arm %d", name, q, want)
		}
	}
}

// A test of fixed length serves all arms equally and then one mixture for good.
func TestUniformTestEnds(t *testing.T) {
	w := worldOf(t, "delay", 0)
	estimator, p := newTestMixture(taskOf(w))
	e, served := newEstimates(w.Arms(), w.Goals.Dim()), make([]float64, w.Arms())
	units := []int{1000, 1000, 1000, 1000, 1000, 1000}
	for round := range w.Rounds() {
		if err := p.plan(round, e, served, make([]float64, w.Arms())); err != nil {
			t.Fatal(err)
		}
		if all := served[0] == served[1] && served[1] == served[2]; all != (round < 30) {
			t.Errorf("round %d: %v", round, served)
		}
		estimator.add(exactly(w, units, 0))
		estimator.write(e)
	}
}

// Thompson sampling gives an arm the probability that it is best.
func TestThompsonShares(t *testing.T) {
	goals, err := pasto.NewGoals([]pasto.Metric{{Name: "x"}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	task := &Task{Goals: goals, Arms: 2, Rounds: 10, Units: 10}
	_, p := newThompson(task)
	e := newEstimates(2, 1)
	e.seen[0], e.seen[1] = true, true
	e.mean.Arm(1)[0], e.error.Arm(0)[0], e.error.Arm(1)[0] = 1, 1, 1
	serving, deployed, sum := make([]float64, 2), make([]float64, 2), 0.0
	for range 100 {
		if err := p.plan(0, e, serving, deployed); err != nil {
			t.Fatal(err)
		}
		sum += serving[1] / 100
	}
	if want := stat.NormalBelow(1 / math.Sqrt2); math.Abs(sum-want) > 0.02 {
		t.Errorf("the better arm gets %v, want %v", sum, want)
	}
	if deployed[1] != 1 {
		t.Errorf("deploys %v", deployed)
	}
}

// Algorithm 1 with rescaled metrics moves to the better arm, and away from an arm that breaks a
// guardrail.
func TestAlgorithm1Moves(t *testing.T) {
	for _, name := range []string{"two-arms", "crash", "soft"} {
		w := worldOf(t, name, 1)
		l, err := newAlgorithm1(taskOf(w))
		if err != nil {
			t.Fatal(err)
		}
		for range 4000 {
			p, err := l.Serving(0)
			if err != nil {
				t.Fatal(err)
			}
			units := make([]int, w.Arms())
			for k := range units {
				units[k] = int(1e6 * p[k])
			}
			if err := l.Observe(exactly(w, units, 0)); err != nil {
				t.Fatal(err)
			}
		}
		start := make([]float64, w.Arms())
		uniform(start)
		theta := make([]float64, w.Goals.Dim())
		if got, was := w.Rate(0, l.Deployed(), theta), w.Rate(0, start, theta); got.Value < was.Value+0.05 {
			t.Errorf("%s: deploys %v of value %v, the uniform mixture has %v", name, l.Deployed(), got.Value, was.Value)
		}
	}
}
