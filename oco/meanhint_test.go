package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
)

// TestVarianceBoundLambda: the terms of the variance bound are divided by 2λ. Without the division
// a first round on a wide interval, with a small regularizer, refutes the bound.
func TestVarianceBoundLambda(t *testing.T) {
	const D, c, T = 100., .01, 2
	l := must(NewMeanHint(euclidean(must(convex.NewCube(1, -D, D))), c))
	var regret float64
	for range T {
		regret += l.Predict()[0] + D
		if err := l.Update([]float64{1}); err != nil {
			t.Fatal(err)
		}
	}
	u := []float64{-D}
	corrected := must(l.VarianceBound(u, 1, 0))
	near(t, "corrected bound", corrected, c*D*D/2+4*(1+math.Log(T))/(2*c))
	if regret > corrected {
		t.Errorf("regret %v is above the corrected bound %v", regret, corrected)
	}
	if printed := c*D*D/2 + 4*(1+math.Log(T)); regret <= printed {
		t.Errorf("regret %v does not refute %v, without 1/(2λ)", regret, printed)
	}
}

// TestMeanHintVarianceBound uses a ψ that is 4-strongly convex in the Euclidean norm: the log
// barrier on [0, ½]^d.
func TestMeanHintVarianceBound(t *testing.T) {
	box := must(convex.NewCube(2, 0, .5))
	reg := must(convex.Restrict(must(convex.NewLogBarrier(2)), box))
	lambda, norm := reg.StrongConvexity()
	if lambda != 4 || norm != convex.Norm(convex.L2) {
		t.Fatalf("λ = %v in %v, want 4 in l2", lambda, norm)
	}
	const c, L, variance = 3., 2., 5.
	l := must(NewMeanHint(reg, c))
	for k := range 7 {
		if err := l.Update([]float64{1, float64(k % 2)}); err != nil {
			t.Fatal(err)
		}
	}
	u := []float64{.25, .5}
	penalty := c * (math.Log(4) - math.Log(2)) // ψ(u) − min ψ with ψ = −Σ ln x, least at (½, ½)
	near(t, "variance bound", must(l.VarianceBound(u, L, variance)),
		penalty+(4*L*L*(1+math.Log(7))+variance)/(2*lambda*c))
}

// TestMeanHintBoundScales shows that the corrected bound needs the factor L²: equal losses with a
// large gradient refute the printed ψ(u) + 4 + 4·ln T + variance.
func TestMeanHintBoundScales(t *testing.T) {
	const L, rounds = 50, 6
	l := must(NewMeanHint(euclidean(must(convex.NewCube(1, -1, 1))), 1))
	var paid float64
	for range rounds {
		paid += L * l.Predict()[0]
		if err := l.Update([]float64{L}); err != nil {
			t.Fatal(err)
		}
	}
	u := []float64{-1}
	regret := paid + L*rounds
	if corrected := must(l.VarianceBound(u, L, 0)); regret > corrected {
		t.Errorf("regret %v is above the corrected bound %v", regret, corrected)
	}
	if printed := .5 + 4 + 4*math.Log(rounds); regret <= printed {
		t.Errorf("regret %v does not refute the printed bound %v", regret, printed)
	}
}
