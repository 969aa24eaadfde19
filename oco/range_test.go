package oco

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
)

// hugeTakers are learners that take any finite subgradient of up to 1e200.
func hugeTakers(d int) map[string]func() Learner {
	reg := euclidean(must(convex.NewCube(d, -1, 1)))
	whole := space(d)
	return map[string]func() Learner{
		"gradual": func() Learner { return must(NewGradualFTRL(reg, 1, 2)) },
		"hint experts": func() Learner {
			return must(NewHintExperts(must(NewOptimisticFTRL(reg, SqrtWeight(1))), 3, convex.L2))
		},
		"exact": func() Learner { return must(NewExactFTRL(must(NewQuadraticMinimizer(whole, SqrtWeight(1))))) },
		"exact on a cube": func() Learner {
			return must(NewExactFTRL(must(NewQuadraticMinimizer(reg.Set(), SqrtWeight(1)))))
		},
		"ftrl-proximal": func() Learner {
			return must(NewFTRLProximal(d, FTRLProximalOptions{A: .5, Beta: 1, L1: .1, L2: .3}))
		},
		"ogd":      func() Learner { return descent(reg.Set(), nil, Adaptive(1)) },
		"proximal": func() Learner { return must(NewProximalFTRL(reg.Set(), nil, Adaptive(1))) },
	}
}

// TestHugeGradients plays subgradients of size 1e200 between moderate ones. Each is accepted, the
// points stay in the set, the regret is within the bound, and a restored learner goes on alike.
func TestHugeGradients(t *testing.T) {
	const d = 3
	r := random.New(1, "oco/huge")
	for name, make := range hugeTakers(d) {
		l := make()
		var size float64
		var rounds []played
		for k := range 30 {
			scale := 1.0
			if k%3 == 1 {
				scale = 1e200
			}
			g := gradient(r, "gaussian", k, l.Predict(), false)
			for i := range g {
				g[i] *= scale
			}
			if h, ok := l.(*HintExperts); ok {
				if err := h.Hints([][]float64{g, {1, 1, 1}, {1e200, 0, 0}}); err != nil {
					t.Fatal(err)
				}
			}
			rounds = append(rounds, played{x: append([]float64(nil), l.Predict()...), g: g})
			if err := l.Update(g); err != nil {
				t.Fatalf("%s: round %d: %v", name, k+1, err)
			}
			other := make()
			if err := other.(Snapshotter).UnmarshalBinary(must(l.(Snapshotter).MarshalBinary())); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			nearVector(t, name, other.Predict(), l.Predict())
		}
		for _, u := range [][]float64{{0, 0, 0}, {.5, -1, 1}} {
			c := contender{}
			var regret float64
			if regret, size = c.regret(rounds, u); regret > bound(t, l, u)+1e-9*size {
				t.Errorf("%s: regret %v is above the bound %v", name, regret, bound(t, l, u))
			}
		}
	}
}

// TestHugeExpertsRefusal: a round that the learner inside refuses leaves no trace, although the
// experts' losses were rescaled for it.
func TestHugeExpertsRefusal(t *testing.T) {
	inner := must(NewOptimisticFTRL(euclidean(space(1)), ConstantWeight(1e-150)))
	l := must(NewHintExperts(inner, 2, convex.L2))
	if err := l.Update([]float64{3}); err != nil {
		t.Fatal(err)
	}
	before := must(l.MarshalBinary())
	if l.Update([]float64{1e200}) == nil {
		t.Fatal("a step out of range was taken")
	}
	if !bytes.Equal(before, must(l.MarshalBinary())) {
		t.Error("a refused round changed the state")
	}
}

// TestDenormalGradients: the first subgradients may be so small that the step size of an adaptive
// rate is above the largest float64. The points are those of subgradients 2^300 times as large, bit
// for bit.
func TestDenormalGradients(t *testing.T) {
	cube := must(convex.NewCube(2, -1, 1))
	for name, make := range map[string]func() Learner{
		"ogd":      func() Learner { return descent(cube, nil, Adaptive(math.Sqrt2)) },
		"mirror":   func() Learner { return must(NewMirrorDescent(euclidean(cube), nil, Adaptive(1), 0)) },
		"proximal": func() Learner { return must(NewProximalFTRL(cube, nil, Adaptive(math.Sqrt2))) },
	} {
		small, large := make(), make()
		for k, g := range [][]float64{{0x1p-1070, -0x1p-1074}, {0x1p-1065, 0x1p-1070}, {0x1p-1022, 0}, {1, -1}} {
			scaled := []float64{math.Ldexp(g[0], 300), math.Ldexp(g[1], 300)}
			if k == 3 {
				scaled = []float64{0x1p300, -0x1p300}
			}
			if err := small.Update(g); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := large.Update(scaled); err != nil {
				t.Fatal(err)
			}
			x, y := small.Predict(), large.Predict()
			if name == "proximal" && k > 0 && k < 3 {
				continue // its weights are themselves denormal, and so inexact
			}
			if x[0] != y[0] || x[1] != y[1] {
				t.Errorf("%s, round %d: %v, of scaled subgradients %v", name, k+1, x, y)
			}
		}
		if b := bound(t, small, []float64{1, 1}); !(b > 0) {
			t.Errorf("%s: bound %v", name, b)
		}
		s, ok := make().(SparseLearner)
		if !ok {
			continue
		}
		if err := s.UpdateSparse(Sparse{Index: []uint32{1}, Value: []float64{0x1p-1074}}); err != nil ||
			!(s.At(1) < -.9) {
			t.Errorf("%s: a sparse round goes to %v (%v)", name, s.Predict(), err)
		}
	}
}

// TestPNormHorizon: a rate tuned for a number of rounds ends with them.
func TestPNormHorizon(t *testing.T) {
	l := must(NewPNormTuned(3, 1, 1, 2))
	for range 2 {
		if err := l.Update([]float64{1, 0, 0}); err != nil {
			t.Fatal(err)
		}
	}
	if l.Update([]float64{1, 0, 0}) == nil || l.UpdateSparse(Sparse{Index: []uint32{0}, Value: []float64{1}}) == nil ||
		l.Rounds() != 2 {
		t.Error("a round beyond the horizon was played")
	}
}

// TestVAWOwnGradient: the gradient (⟨z, x⟩ − y)·z is taken for features whose squares underflow or
// overflow.
func TestVAWOwnGradient(t *testing.T) {
	for _, size := range []float64{1e-300, 1e-170, 1, 1e149} {
		l := must(NewVovkAzouryWarmuth(2, 1))
		z := []float64{size, -2 * size}
		if err := l.Features(z); err != nil {
			t.Fatal(err)
		}
		const y = 3.
		p := must(l.Prediction())
		if err := l.Update([]float64{(p - y) * z[0], (p - y) * z[1]}); err != nil {
			t.Errorf("features of %v: %v", size, err)
			continue
		}
		near(t, "bound at 0", bound(t, l, []float64{0, 0}), y*y/2*(1-1/(1+5*size*size)))
	}
}

// TestMemoryIsStated: a dimension that takes more memory than a machine has is refused before
// anything is allocated, with what it takes.
func TestMemoryIsStated(t *testing.T) {
	const wide = 60_000
	most := int(min(int64(1)<<34, int64(math.MaxInt)))
	cube := must(convex.NewCube(wide, -1, 1))
	for name, make := range map[string]func() (Learner, error){
		"ons on a cube":       func() (Learner, error) { return NewOnlineNewtonStep(cube, 1, 1) },
		"curvature on a cube": func() (Learner, error) { return NewCurvatureFTRL(cube, 1) },
		"ftrl-proximal": func() (Learner, error) {
			return NewFTRLProximal(most, FTRLProximalOptions{A: 1, Beta: 1})
		},
		"adahedge":         func() (Learner, error) { return NewAdaHedge(most, 0) },
		"scale-free hedge": func() (Learner, error) { return NewScaleFreeHedge(most, 0) },
		"eg":               func() (Learner, error) { return NewExponentiatedGradient(most, nil, 1) },
		"entropic ftrl":    func() (Learner, error) { return NewEntropicFTRL(most, 1, 0) },
		"p-norm":           func() (Learner, error) { return NewPNorm(most, 1.5, 1) },
		"vaw":              func() (Learner, error) { return NewVovkAzouryWarmuth(most, 1) },
		"penalized ftrl":   func() (Learner, error) { return NewPenalizedFTRL(most, 1, L1Penalty(1)) },
		"sketch": func() (Learner, error) {
			return NewSketchedNewtonStep(space(1<<20), 1, 1, 1024)
		},
		"strategies": func() (Learner, error) {
			return NewHintExperts(must(NewOptimisticFTRL(euclidean(space(1<<20)), SqrtWeight(1))), 1<<20, convex.L2)
		},
	} {
		_, err := make()
		if err == nil || !strings.Contains(err.Error(), "of memory") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
