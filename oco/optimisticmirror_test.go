package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

// TestOptimisticMirrorWithoutHints is mirror descent.
func TestOptimisticMirrorWithoutHints(t *testing.T) {
	for _, reg := range []convex.Regularizer{euclidean(ball(.5)), must(entropyOnSimplex(3))} {
		l, plain := must(NewOptimisticMirrorDescent(reg, nil, Constant(.7), 0)),
			must(NewMirrorDescent(reg, nil, Constant(.7), 0))
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

// TestOptimisticPerfectHints: the regret of perfect hints is at most the divergence over the rate,
// and of optimistic AdaGrad at most 0, whatever the subgradients.
func TestOptimisticPerfectHints(t *testing.T) {
	r := random.New(1, "perfect")
	box := must(convex.NewCube(3, -1, 2))
	md := must(NewOptimisticMirrorDescent(euclidean(box), nil, Constant(.1), 0))
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

// TestOptimisticAdaGradWithoutHints is proximal FTRL with an adaptive rate in each coordinate.
func TestOptimisticAdaGradWithoutHints(t *testing.T) {
	lower, upper := []float64{-1, 0, 5}, []float64{1, .5, 5}
	start := []float64{.3, .1, 5}
	l := must(NewOptimisticAdaGrad(must(convex.NewBox(lower, upper)), start))
	var parts []*ProximalFTRL
	for i := range 2 {
		one := must(convex.NewCube(1, lower[i], upper[i]))
		parts = append(parts, must(NewProximalFTRL(one, start[i:i+1], Adaptive((upper[i]-lower[i])*math.Sqrt2/2))))
	}
	r := random.New(2, "proximal")
	var want float64
	for k := range 100 {
		g := gradient(r, "gaussian", k, start, false)
		x := l.Predict()
		for i, p := range parts {
			near(t, "x", x[i], p.Predict()[0])
			if err := p.Update(g[i : i+1]); err != nil {
				t.Fatal(err)
			}
		}
		near(t, "a side of no length", x[2], 5)
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range parts {
		want += math.Sqrt2 * (upper[i] - lower[i]) * p.state.Rate.Q.root()
	}
	near(t, "bound", bound(t, l, start), want)
}

// TestRepeatHint: the hint of a round is the subgradient of the one before.
func TestRepeatHint(t *testing.T) {
	reg := euclidean(ball(2))
	l := must(NewRepeatHint(must(NewOptimisticFTRL(reg, SqrtWeight(1)))))
	xs, _ := play(t, l, g4)
	ys, _ := play(t, must(NewLastHint(reg, SqrtWeight(1))), g4)
	for k := range xs {
		nearVector(t, "x", xs[k], ys[k])
	}
	if l.Rounds() != 4 {
		t.Errorf("%d rounds", l.Rounds())
	}
}

func TestOptimisticRefuses(t *testing.T) {
	for _, rate := range []Rate{Adaptive(1), StronglyConvex(1)} {
		if _, err := NewOptimisticMirrorDescent(euclidean(ball(1)), nil, rate, 0); err == nil {
			t.Errorf("%v was taken", rate)
		}
	}
	if _, err := NewOptimisticAdaGrad(must(convex.NewBox([]float64{0}, []float64{math.Inf(1)})), nil); err == nil {
		t.Error("an infinite side was taken")
	}
	if _, err := NewRepeatHint(nil); err == nil {
		t.Error("no learner was taken")
	}
}
