package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

// TestOptimisticMirrorWithoutHints: without hints it is mirror descent.
func TestOptimisticMirrorWithoutHints(t *testing.T) {
	for _, reg := range []convex.Regularizer{euclidean(ball(.5)), must(entropyOnSimplex(3))} {
		l, plain := must(NewOptimisticMirrorDescent(reg, nil, Constant(.7), math.Inf(1))),
			must(NewMirrorDescent(reg, nil, Constant(.7), math.Inf(1)))
		xs, _ := play(t, l, g4)
		ys, _ := play(t, plain, g4)
		for k := range xs {
			nearVector(t, "x", xs[k], ys[k])
		}
		u := xs[2]
		if b, c := bound(t, l, u), bound(t, plain, u); math.IsInf(b, 1) || math.Abs(b-c) > 1e-12 {
			t.Errorf("bound %v, of mirror descent %v", b, c)
		}
	}
}

// TestOptimisticPerfectHints: with perfect hints the regret is at most the divergence over the
// rate, and that of optimistic AdaGrad at most 0, whatever the subgradients.
func TestOptimisticPerfectHints(t *testing.T) {
	r := random.New(1, "perfect")
	box := must(convex.NewCube(3, -1, 2))
	md := must(NewOptimisticMirrorDescent(euclidean(box), nil, Constant(.1), math.Inf(1)))
	ada := must(NewOptimisticAdaGrad(box, nil))
	best := make([]float64, 3)
	for _, l := range []Hinted{md, ada} {
		sum := make([]float64, 3)
		var paid float64
		for k := range 200 {
			g := gradient(r, "heavy", k, l.Predict(), false)
			if err := l.Hint(g); err != nil {
				t.Fatal(err)
			}
			paid += vec.Dot(g, l.Predict())
			vec.AddScaled(sum, 1, g)
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		}
		least := must(box.Minimize(best, sum))
		b := bound(t, l, best)
		if regret := paid - least; regret > b+1e-9*math.Abs(paid) {
			t.Errorf("%v: regret %v with perfect hints, bound %v", l, regret, b)
		}
	}
	near(t, "bound of mirror descent", bound(t, md, best), distanceSquared(best, []float64{0, 0, 0})/(2*.1))
	near(t, "bound of AdaGrad", bound(t, ada, best), 0)
}

func TestOptimisticRefuses(t *testing.T) {
	for _, rate := range []Rate{Adaptive(1), StronglyConvex(1)} {
		if _, err := NewOptimisticMirrorDescent(euclidean(ball(1)), nil, rate, math.Inf(1)); err == nil {
			t.Errorf("%v was accepted", rate)
		}
	}
	if _, err := NewOptimisticAdaGrad(must(convex.NewBox([]float64{0}, []float64{math.Inf(1)})), nil); err == nil {
		t.Error("an infinite side was accepted")
	}
	if _, err := NewRepeatHint(nil); err == nil {
		t.Error("no learner was accepted")
	}
}
