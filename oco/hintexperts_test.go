package oco

import (
	"bytes"
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

// TestLosses: the experts' losses are ‖g − h^k‖², of the dual norm given.
func TestLosses(t *testing.T) {
	for _, norm := range []*convex.Lp{convex.L2, convex.LInf, convex.L1} {
		l := must(NewHintExperts(must(NewOptimisticFTRL(euclidean(ball(1)), ConstantWeight(1))), 3, norm))
		experts := must(NewAdaHedge(3, DefaultAdaHedgeAlpha(3)))
		r := random.New(3, "r11")
		for _, g := range g4 {
			hints := make([][]float64, 3)
			losses := make([]float64, 3)
			mixed := make([]float64, 3)
			for k := range hints {
				hints[k] = gradient(r, "gaussian", 1, g, false)
				diff := make([]float64, 3)
				for i := range diff {
					diff[i] = g[i] - hints[k][i]
					mixed[i] += experts.Predict()[k] * hints[k][i]
				}
				losses[k] = norm.Of(diff) * norm.Of(diff)
			}
			if err := l.Hints(hints); err != nil {
				t.Fatal(err)
			}
			inner := must(NewOptimisticFTRL(euclidean(ball(1)), ConstantWeight(1)))
			if err := inner.Hint(mixed); err != nil {
				t.Fatal(err)
			}
			if l.Rounds() == 0 {
				nearVector(t, "x_1 of the mixed hint", l.Predict(), inner.Predict())
			}
			nearVector(t, "weights", l.Weights(), experts.Predict())
			_, _ = l.Update(g), experts.Update(losses)
		}
		nearVector(t, "weights", l.Weights(), experts.Predict())
	}
}

func TestHintExperts(t *testing.T) {
	reg := euclidean(must(convex.NewCenteredBall(3, 1)))
	run := func(hints func(t int) [][]float64, k int) (regret float64, l *HintExperts) {
		l = must(NewHintExperts(must(NewOptimisticFTRL(reg, ConstantWeight(1))), k, convex.L2))
		r := random.New(1, "hints")
		sum := make([]float64, 3)
		for round := range 400 {
			if h := hints(round); h != nil {
				if err := l.Hints(h); err != nil {
					t.Fatal(err)
				}
			}
			g := []float64{math.Sin(float64(round) / 30), math.Cos(float64(round) / 30), .01 * r.NormFloat64()}
			regret += vec.Dot(g, l.Predict())
			for i, v := range g {
				sum[i] += v
			}
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		}
		u := make([]float64, 3)
		least, err := reg.Set().Minimize(u, sum)
		if err != nil {
			t.Fatal(err)
		}
		if b := bound(t, l, u); regret-least > b {
			t.Errorf("regret %v is above the bound %v", regret-least, b)
		}
		return regret - least, l
	}
	perfect := func(t int) []float64 { return []float64{math.Sin(float64(t) / 30), math.Cos(float64(t) / 30), 0} }
	bad := func(t int) []float64 { return []float64{-math.Sin(float64(t) / 30), 1, 1} }
	without, _ := run(func(int) [][]float64 { return nil }, 2)
	with, l := run(func(t int) [][]float64 { return [][]float64{bad(t), perfect(t)} }, 2)
	if w := l.Weights(); w[1] < .99 {
		t.Errorf("the weights are %v: the good hints should have won", w)
	}
	if with > without/4 {
		t.Errorf("regret %v with a good strategy among two, %v without hints", with, without)
	}
}

// TestHugeExpertsRefusal checks that a round that the inner learner refuses does not change the
// state, although the experts' losses were rescaled for it.
func TestHugeExpertsRefusal(t *testing.T) {
	inner := must(NewOptimisticFTRL(euclidean(space(1)), ConstantWeight(1e-150)))
	l := must(NewHintExperts(inner, 2, convex.L2))
	if err := l.Update([]float64{3}); err != nil {
		t.Fatal(err)
	}
	before := must(l.MarshalBinary())
	if l.Update([]float64{1e200}) == nil {
		t.Fatal("a step out of range was accepted")
	}
	if !bytes.Equal(before, must(l.MarshalBinary())) {
		t.Error("a refused round changed the state")
	}
}
