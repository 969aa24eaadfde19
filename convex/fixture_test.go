package convex_test

import (
	"testing"

	"github.com/noregret/noregret/convex"
)

// TestSmallCases compares projections, minima and a KL projection with values computed by hand.
func TestSmallCases(t *testing.T) {
	s := must(convex.NewSimplex(3))
	x := make([]float64, 3)
	for _, tc := range []struct{ v, want []float64 }{
		{[]float64{0.5, 0.8, -0.2}, []float64{0.35, 0.65, 0}},
		{[]float64{1, 1, 1}, []float64{1. / 3, 1. / 3, 1. / 3}},
		{[]float64{2, 0, 0}, []float64{1, 0, 0}},
		{[]float64{0.3, 0.2, 0.1}, []float64{0.4333333333, 0.3333333333, 0.2333333333}},
	} {
		s.Project(x, tc.v)
		nearAll(t, "Π_S", x, tc.want, 1e-10)
	}
	value, err := s.Minimize(x, []float64{.5, 0, .5})
	if err != nil || value != 0 || x[1] != 1 {
		t.Errorf("minimum on the simplex: %v at %v (%v)", value, x, err)
	}
	// The minimum of ⟨c, ·⟩ on the unit ball is −‖c‖.
	value, err = must(convex.NewCenteredBall(3, 1)).Minimize(x, []float64{.5, 0, .5})
	if err != nil {
		t.Error(err)
	}
	near(t, "minimum on the ball", value, -.7071067812, 1e-10)
	// KL projection of y > 0 onto the simplex is y/Σy: the argmax at ∇ψ(y).
	m := must(convex.NewNegativeEntropy(3))
	reg := must(convex.Restrict(m, s))
	m.Gradient(x, []float64{1, 2, 5})
	reg.Argmax(x, x)
	nearAll(t, "KL projection", x, []float64{.125, .25, .625}, 1e-15)
}

// TestArgmaxByHand compares iterates of Hedge, of the p-norm algorithm and of lazily projected
// gradient descent that are one argmax with values computed independently.
func TestArgmaxByHand(t *testing.T) {
	simplex := must(convex.Restrict(must(convex.NewNegativeEntropy(3)), must(convex.NewSimplex(3))))
	pnorm := must(convex.Restrict(must(convex.NewPNorm(3, 1.5)), must(convex.NewSpace(3))))
	nearL1 := must(convex.Restrict(must(convex.NewPNorm(3, convex.NearL1(3))), must(convex.NewSpace(3))))
	ball := must(convex.Restrict(must(convex.NewQuadratic(3)), must(convex.NewCenteredBall(3, .5))))
	for _, tc := range []struct {
		name  string
		reg   convex.Regularizer
		theta []float64
		want  []float64
	}{
		{"Hedge x_2", simplex, []float64{-.5, .25, -.125}, []float64{.2187230696, .4630367420, .3182401884}},
		{"Hedge x_5", simplex, []float64{-.25, 0, -.25}, []float64{.3045043424, .3909913152, .3045043424}},
		{"p-norm x_2", pnorm, []float64{-.25, .125, -.0625}, []float64{-.2392722756, .0598180689, -.0149545172}},
		{"p-norm x_5", pnorm, []float64{-.125, 0, -.125}, []float64{-.0992125657, 0, -.0992125657}},
		{"p-norm with q = 2 ln 3", nearL1, []float64{-.125, 0, -.125}, []float64{-.1174598191, 0, -.1174598191}},
		{"lazy projection x_5", ball, []float64{-.5, 0, -.5}, []float64{-.3535533906, 0, -.3535533906}},
	} {
		x := make([]float64, 3)
		tc.reg.Argmax(x, tc.theta)
		nearAll(t, tc.name, x, tc.want, 1e-9)
	}
}
