package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
)

// TestCompositeFactor: the regularizer of the composite learner is L·√t·(ψ − min ψ), and the bound
// has the factor L at ψ too. A constant loss and a far u refute √T·(ψ(u) − min ψ) + L·√T.
func TestCompositeFactor(t *testing.T) {
	const L, T = 4., 400
	l := must(NewCompositeFTRL(space(1), L, 0))
	for k := 1; k <= T; k++ {
		near(t, "x", l.Predict()[0], float64(k-1)*L/(L*math.Sqrt(float64(k))))
		if err := l.Update([]float64{-L}); err != nil {
			t.Fatal(err)
		}
	}
	u := math.Sqrt(T)
	regret := L * T * u
	for k := 1; k <= T; k++ {
		regret -= L * float64(k-1) / math.Sqrt(float64(k))
	}
	if b := bound(t, l, []float64{u}); regret > b || b > L*math.Sqrt(T)*(u*u/2+1) {
		t.Errorf("regret %v, bound %v, want regret ≤ bound ≤ the a-priori %v", regret, b, L*math.Sqrt(T)*(u*u/2+1))
	}
	if printed := math.Sqrt(T)*u*u/2 + L*math.Sqrt(T); regret <= printed {
		t.Errorf("regret %v does not refute %v, without L in front of ψ", regret, printed)
	}
}

func TestComposite(t *testing.T) {
	l := must(NewCompositeFTRL(space(3), 1.5, .1))
	xs, total := play(t, l, g4)
	nearVector(t, "x_2", xs[1], []float64{-.3771236166, .1414213562, -.0235702260})
	nearVector(t, "x_3", xs[2], []float64{0, -.0769800359, -.1732050808})
	nearVector(t, "x_4", xs[3], []float64{-.1166666667, -.2, 0})
	nearVector(t, "x_5", xs[4], []float64{0, 0, 0})
	near(t, "loss", total, .7763606852)
	for _, x := range xs[:4] {
		total += .1 * convex.L1.Of(x)
	}
	near(t, "loss with penalty", total, .8872573834)
	xs, _ = play(t, must(NewCompositeFTRL(space(3), 1.5, 100)), g4)
	for _, x := range xs {
		nearVector(t, "x with a huge penalty", x, []float64{0, 0, 0})
	}
}
