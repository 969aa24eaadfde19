package drift

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
)

func TestRestartedDescent(t *testing.T) {
	set := must(convex.NewCube(1, -1, 1))
	b := must(NewBudget(10000, 1))
	l := must(NewRestartedDescent(DefaultGradientOptions(b, set, 1)))
	for range 10000 {
		if err := l.Update([]float64{.1}); err != nil {
			t.Fatal(err)
		}
	}
	if l.Batch() != 21 {
		t.Errorf("%d restarts in 21.5 batches of 465 rounds", l.Batch())
	}
	// 21 batches of 465 rounds and one of 235, with r = G = 1 and the step 1/√465.
	want := 21*2.5*math.Sqrt(465) + 2*math.Sqrt(465) + 235/(2*math.Sqrt(465)) + 930
	near(t, "bound", must(l.DynamicBound(1)), want)
	o := DefaultGradientOptions(b, set, 2)
	o.Curvature, o.Mode = .5, Schedule
	l = must(NewRestartedDescent(o))
	for range 304 {
		if err := l.Update([]float64{.1}); err != nil {
			t.Fatal(err)
		}
	}
	if l.Batch() != 1 || l.Age() != 0 {
		t.Errorf("%d restarts after 304 rounds", l.Batch())
	}
	near(t, "bound", must(l.DynamicBound(1)), 4*(1+math.Log(304))+608)
}

func TestRetuned(t *testing.T) {
	const rounds = 10000
	b := must(NewBudget(rounds, 1))
	l := must(NewRetuned(DefaultGradientOptions(b, must(convex.NewCube(1, -1, 1)), 1)))
	near(t, "step", l.Step(), .0464158883)
	for range rounds {
		if err := l.Update([]float64{1}); err != nil {
			t.Fatal(err)
		}
	}
	got := must(l.DynamicBound(1))
	// The bound of Proposition 3's proof, 8.5·V^(1/3)·T^(2/3) for r = G = 1.
	if limit := 8.5 * math.Pow(rounds, 2./3); got > limit {
		t.Errorf("bound %v above %v", got, limit)
	}
	for size := 1; size <= rounds; size++ {
		n := math.Ceil(rounds / float64(size))
		if other := n*2/l.Step() + rounds*l.Step()/2 + 2*float64(size); other < got*(1-.01) {
			t.Fatalf("bound %v, with batches of %d rounds %v", got, size, other)
		}
	}
}

func TestDescentRefuses(t *testing.T) {
	set := must(convex.NewCube(1, -1, 1))
	good := DefaultGradientOptions(must(NewBudget(10, 1)), set, 1)
	for name, change := range map[string]func(o *GradientOptions){
		"budget":    func(o *GradientOptions) { o.Budget = Budget{} },
		"set":       func(o *GradientOptions) { o.Set = nil },
		"space":     func(o *GradientOptions) { o.Set = must(convex.NewSpace(1)) },
		"lipschitz": func(o *GradientOptions) { o.Lipschitz = -1 },
		"radius":    func(o *GradientOptions) { o.Radius = math.NaN() },
		"no radius": func(o *GradientOptions) { o.Radius = 0 },
		"zero":      func(o *GradientOptions) { *o = GradientOptions{} },
		"curvature": func(o *GradientOptions) { o.Curvature = -1 },
		"first":     func(o *GradientOptions) { o.First = []float64{2} },
	} {
		o := good
		change(&o)
		refused(t, name, second(NewRestartedDescent(o)))
		refused(t, name, second(NewRetuned(o)))
	}
	o := good
	o.Mode = 9
	refused(t, "mode", second(NewRestartedDescent(o)))
}
