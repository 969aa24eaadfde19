package drift

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/snapshot/snapshottest"
	"github.com/noregret/noregret/internal/testsize"
)

func overBandit(rounds int) *OverBandit {
	set := must(convex.NewCube(1, -2, 2))
	return must(NewOverBandit(OverBanditOptions{
		Rounds: rounds, Mode: Project, Low: 0, High: 2,
		Make: func(int) (CostLearner, error) {
			return NewEGS(EGSOptions{Set: set, Curvature: 1, Depth: 1, Baseline: .95})
		},
	}))
}

func TestOverBandit(t *testing.T) {
	l := overBandit(1000)
	if l.Block() != 32 || len(l.learners) != 6 || l.Dim() != 1 {
		t.Fatalf("blocks of %d rounds, %d sizes", l.Block(), len(l.learners))
	}
	// 32 blocks: γ = √(6·ln 6/((e−1)·32)).
	near(t, "γ", l.exploration(), math.Sqrt(6*math.Log(6)/((math.E-1)*32)))
	near(t, "bound", l.ChoiceBound(), 2.63*2*math.Sqrt(1024*32*6*math.Log(6)))
	r := random.New(1, "over")
	sizes := map[int]bool{}
	for round := range 1000 {
		if round%32 == 0 && l.BatchSize() != 0 {
			t.Fatalf("round %d: the block goes on", round+1)
		}
		x := must(l.Play(r))[0]
		size := l.BatchSize()
		if round%32 == 0 {
			// The learner of a block begins from its start: at 0 ± h_1.
			if math.Abs(math.Abs(x)-1) > 1e-12 {
				t.Fatalf("round %d: begins with %v", round+1, x)
			}
			sizes[size] = true
		}
		if w := l.learners[l.s.Arm]; w.Age() != round%32%size {
			t.Fatalf("round %d: age %d in batches of %d", round+1, w.Age(), size)
		}
		if err := l.Observe(x*x/2 - x/2 + 1); err != nil {
			t.Fatal(err)
		}
	}
	if len(sizes) != 6 || l.Rounds() != 1000 {
		t.Errorf("tried %v in %d rounds", sizes, l.Rounds())
	}
	// Long batches are better in a world that stands still.
	if p := l.exp3.Probabilities(); p[5] < 1.2*p[0] {
		t.Errorf("probabilities %v", p)
	}
}

func TestOverBanditContinues(t *testing.T) {
	a, b := overBandit(200), overBandit(200)
	r, again := random.New(2, "over"), random.New(2, "other")
	for range 37 {
		must(a.Play(r))
		if err := a.Observe(r.Float64()); err != nil {
			t.Fatal(err)
		}
	}
	must(a.Play(r))
	snapshottest.Restore(t, a, b)
	if err := again.UnmarshalBinary(must(r.MarshalBinary())); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if a.Observe(.5) != nil || b.Observe(.5) != nil {
			t.Fatal("refused")
		}
		if x, y := must(a.Play(r))[0], must(b.Play(again))[0]; x != y {
			t.Fatalf("%v, restored %v", x, y)
		}
	}
	_, err := a.Play(r)
	refused(t, "two calls of Play", err)
	refused(t, "NaN", a.Observe(math.NaN()))
	refused(t, "a restart in a round", a.Restart(Full))
	if n := testing.AllocsPerRun(100, func() {
		if a.Observe(.5) != nil {
			t.Fatal("refused")
		}
		_, _ = a.Play(r)
	}); n != 0 {
		t.Errorf("%v allocations a round", n)
	}
	if a.Observe(.5) != nil || a.Restart(Schedule) != nil || a.Restart(Full) != nil || a.Rounds() != 0 {
		t.Error("Restart fails")
	}
	refused(t, "Observe before Play", a.Observe(1))
	_, err = a.Play(nil)
	refused(t, "source", err)
}

// TestOverBanditRegret: without the variation it keeps below its bound in a world that jumps.
func TestOverBanditRegret(t *testing.T) {
	const rounds = 3000
	runs := testsize.Of(10, 2)
	sum := 0.0
	for run := range runs {
		l := overBandit(rounds)
		r := random.New(uint64(run), "over")
		for round := range rounds {
			target := float64(round / 500 % 2)
			x := must(l.Play(r))[0]
			sum += (x - target) * (x - target) / 2
			if err := l.Observe((x-target)*(x-target)/2 + .1*r.NormFloat64()); err != nil {
				t.Fatal(err)
			}
		}
	}
	b := must(NewBudget(rounds, 10))
	bound := b.RestartBound(32, func(n int) float64 {
		return EGSBound(1, 1, 1, 2, .1, n)
	}) + overBandit(rounds).ChoiceBound()
	if mean := sum / float64(runs); mean > bound || mean > .5*rounds {
		t.Errorf("regret %v, bound %v", mean, bound)
	}
}

func TestOverBanditRefuses(t *testing.T) {
	set := must(convex.NewCube(1, -2, 2))
	make := func(int) (CostLearner, error) { return NewEGS(DefaultEGSOptions(set, 1)) }
	for name, o := range map[string]OverBanditOptions{
		"rounds":  {Make: make, High: 1},
		"make":    {Rounds: 10, High: 1},
		"range":   {Rounds: 10, Make: make},
		"NaN":     {Rounds: 10, Make: make, Low: math.NaN(), High: 1},
		"mode":    {Rounds: 10, Make: make, High: 1, Mode: 5},
		"learner": {Rounds: 10, Make: func(int) (CostLearner, error) { return nil, nil }, High: 1},
	} {
		refused(t, name, second(NewOverBandit(o)))
	}
}
