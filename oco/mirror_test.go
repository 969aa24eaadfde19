package oco

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// steepMaps are quadratic maps that are far more than 1-smooth in the Euclidean norm.
func steepMaps(d int) []convex.MirrorMap {
	diagonal, s := make([]float64, d), mat.NewSymDense(d, nil)
	for i := range d {
		diagonal[i] = 100 / float64(i+1)
		for j := range i + 1 {
			s.SetSym(i, j, 10/float64(1+i+j))
		}
		s.SetSym(i, i, s.At(i, i)+50)
	}
	return []convex.MirrorMap{
		must(convex.NewDiagonalQuadratic(diagonal)), must(convex.NewMatrixQuadratic(s)), must(convex.NewQuadratic(d)),
	}
}

// TestMirrorStrongConvexity guards the meaning of mu: losses hand over their strong convexity in
// the Euclidean norm, and the rate of mirror descent needs it relative to ψ. With ψ = 50x² and
// losses (x − 0.9)² the confusion had a regret of 361 against a bound of 0.05.
func TestMirrorStrongConvexity(t *testing.T) {
	for _, d := range []int{1, 3} {
		for _, psi := range steepMaps(d) {
			set := must(convex.NewCube(d, -1, 1))
			l := must(NewMirrorDescent(must(convex.Restrict(psi, set)), nil, StronglyConvex(0), 0))
			center := make([]float64, d)
			for i := range center {
				center[i] = .9
			}
			f := must(loss.NewSquaredDistance(center))
			p := must(NewLinearized(l))
			var regret float64
			for range 1000 {
				regret += f.Value(l.Predict())
				if err := p.UpdateLoss(f); err != nil {
					t.Fatal(err)
				}
			}
			if b := bound(t, l, center); regret > b*(1+1e-9) {
				t.Errorf("%v: regret %v is above the bound %v", psi, regret, b)
			}
		}
	}
}

// TestMirrorNotSmooth: nothing follows from Euclidean strong convexity for entropy, whose
// divergence is not bounded by a multiple of the squared distance. The learner refuses the round,
// or uses the constant relative to ψ that it was made with.
func TestMirrorNotSmooth(t *testing.T) {
	reg := must(entropyOnSimplex(2))
	g := []float64{1, 0}
	l := must(NewMirrorDescent(reg, nil, StronglyConvex(0), 0))
	if err := l.UpdateCurved(g, 2); err == nil || l.Rounds() != 0 {
		t.Errorf("entropy took Euclidean strong convexity (%v)", err)
	}
	if err := l.UpdateRelative(g, .5); err != nil {
		t.Fatal(err)
	}
	near(t, "bound", bound(t, l, []float64{0, 1}), 1/(2*.5)) // η‖g‖∞²/2
	own := must(NewMirrorDescent(reg, nil, StronglyConvex(.5), 0))
	if err := own.UpdateCurved(g, 2); err != nil {
		t.Fatal(err)
	}
	nearVector(t, "x_2", own.Predict(), l.Predict())
	for _, mu := range []float64{-1, math.NaN(), math.Inf(1)} {
		if l.UpdateRelative(g, mu) == nil {
			t.Errorf("μ = %v was taken", mu)
		}
	}
}

// TestMirrorSmoothness compares the smoothness of the quadratic maps with divergences.
func TestMirrorSmoothness(t *testing.T) {
	r := random.New(1, "smoothness")
	for _, psi := range steepMaps(4) {
		m, sharpest := smoothness(psi), 0.0
		for range 2000 {
			x := gradient(r, "gaussian", 1, make([]float64, 4), false)
			b := psi.Divergence(x, make([]float64, 4)) / (vec.Dot(x, x) / 2)
			if sharpest = max(sharpest, b); b > m*(1+1e-12) {
				t.Fatalf("%v: the divergence is %v times ½‖x‖², M = %v", psi, b, m)
			}
		}
		if sharpest < .5*m {
			t.Errorf("%v: M = %v, the largest ratio found %v", psi, m, sharpest)
		}
	}
	if m := smoothness(must(convex.NewNegativeEntropy(2))); !math.IsInf(m, 1) {
		t.Errorf("the smoothness of entropy is %v", m)
	}
}

// TestLinearizedKeepsOwnConvexity: a loss of unknown strong convexity does not replace the constant
// that the rate was made with.
func TestLinearizedKeepsOwnConvexity(t *testing.T) {
	l := must(NewLinearized(descent(must(convex.NewCube(1, -1, 1)), nil, StronglyConvex(2))))
	if err := l.UpdateLoss(must(loss.NewLinear([]float64{1}))); err != nil {
		t.Fatal(err)
	}
	near(t, "x_2", l.Predict()[0], -.5)
}

// TestRatesRefuseSigns: two negative constants have a positive quotient.
func TestRatesRefuseSigns(t *testing.T) {
	set := must(convex.NewCube(1, -1, 1))
	for _, rate := range []Rate{
		FixedHorizon(-1, -1, 10), InverseSqrt(-1, -1), FixedHorizon(1, 0, 10), FixedHorizon(1, 1, 0),
		FixedHorizon(0, 1, 3), InverseSqrt(1, math.Inf(1)), FixedHorizon(1, 1, -1),
	} {
		if _, err := NewSubgradientDescent(set, nil, rate); err == nil {
			t.Errorf("%v was taken", rate)
		}
	}
}
