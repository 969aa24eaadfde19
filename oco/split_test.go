package oco

import (
	"bytes"
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
)

// TestSplitRefusals checks that a hint or features that a learner after the first one refuses
// change no learner, and that the round can continue.
func TestSplitRefusals(t *testing.T) {
	cube := must(convex.NewCube(1, -9, 9))
	far := math.MaxFloat64 / 2
	optimistic := func() Learner { return must(NewOptimisticFTRL(euclidean(cube), ConstantWeight(1))) }
	for name, c := range map[string]struct {
		part     func() Learner
		give     func(l *Split, v []float64) error
		good     []float64
		bad      []float64
		replaced bool // a second call replaces the first
	}{
		"optimistic FTRL": {optimistic, (*Split).Hint, []float64{2, -3}, []float64{1, far}, true},
		"repeated hints": {
			func() Learner { return must(NewRepeatHint(optimistic().(Hinted))) },
			(*Split).Hint,
			[]float64{2, -3},
			[]float64{1, far},
			true,
		},
		"doubled, linearized": {
			func() Learner {
				return must(NewDoubling("linearized", func(int) (Learner, error) {
					return NewLinearized(optimistic())
				}))
			},
			(*Split).Hint,
			[]float64{2, -3},
			[]float64{1, far},
			true,
		},
		"optimistic AdaGrad": {
			func() Learner { return must(NewOptimisticAdaGrad(cube, nil)) },
			(*Split).Hint,
			[]float64{2, -3},
			[]float64{1, far},
			true,
		},
		"optimistic mirror descent": {
			func() Learner {
				return must(NewOptimisticMirrorDescent(euclidean(cube), nil, Constant(9), math.Inf(1)))
			},
			(*Split).Hint,
			[]float64{2, -3},
			[]float64{1, far},
			true,
		},
		"an exact leader": {
			func() Learner {
				return must(NewExactFTRL(must(NewQuadraticMinimizer(cube, ConstantWeight(1)))))
			},
			(*Split).Hint,
			[]float64{2, -3},
			[]float64{1, 1.7e308},
			true,
		},
		"regression": {
			func() Learner { return must(NewVovkAzouryWarmuth(1, 1)) },
			(*Split).Features,
			[]float64{2, -3},
			[]float64{1, 1e200},
			false,
		},
		"averaged regression": {
			func() Learner { return must(NewAveraging(must(NewVovkAzouryWarmuth(1, 1)), LinearAlpha())) },
			(*Split).Features,
			[]float64{2, -3},
			[]float64{1, 1e200},
			false,
		},
	} {
		l, beside := must(NewSplit(c.part(), c.part())), must(NewSplit(c.part(), c.part()))
		for range 3 {
			before := must(l.MarshalBinary())
			point := l.Predict()[0]
			if c.give(l, c.bad) == nil {
				t.Fatalf("%s: %v was accepted", name, c.bad)
			}
			if now := must(l.MarshalBinary()); !bytes.Equal(before, now) || l.Predict()[0] != point {
				t.Errorf("%s: a refusal at coordinate 1 changed the learner", name)
			}
			for _, s := range []*Split{l, beside} {
				if err := c.give(s, c.good); err != nil {
					t.Fatalf("%s: after a refusal: %v", name, err)
				}
			}
			if c.give(l, c.bad) == nil {
				t.Fatalf("%s: %v was accepted", name, c.bad)
			}
			nearVector(t, name, l.Predict(), beside.Predict())
			for _, s := range []*Split{l, beside} {
				if err := s.Update([]float64{2, -3}); err != nil {
					t.Fatalf("%s: after a refusal: %v", name, err)
				}
			}
			nearVector(t, name, l.Predict(), beside.Predict())
		}
	}
}

// TestSplitHint: each learner gets its coordinate of the hint.
func TestSplitHint(t *testing.T) {
	var parts []Learner
	for range 2 {
		p := must(NewOptimisticFTRL(euclidean(must(convex.NewCube(1, -9, 9))), ConstantWeight(1)))
		parts = append(parts, p)
	}
	split := must(NewSplit(parts...))
	if err := split.Hint([]float64{2, -3}); err != nil {
		t.Fatal(err)
	}
	nearVector(t, "split", split.Predict(), []float64{-2, 3})
}

// TestSplitCurved: with known strong convexity adaptive descent in each coordinate has logarithmic
// regret, within the sum of the learners' bounds.
func TestSplitCurved(t *testing.T) {
	cube := must(convex.NewCube(1, -1, 1))
	l := must(NewSplit(descent(cube, nil, StronglyConvex(0)), descent(cube, nil, StronglyConvex(0))))
	u := []float64{.3, -.2}
	var regret float64
	for k := range 200 {
		c := []float64{u[0] + float64(k%2) - .5, u[1] + .5 - float64(k%2)}
		g := make([]float64, 2)
		for i, x := range l.Predict() {
			g[i] = x - c[i]
			regret += ((x-c[i])*(x-c[i]) - (u[i]-c[i])*(u[i]-c[i])) / 2
		}
		if err := l.UpdateCurved(g, 1); err != nil {
			t.Fatal(err)
		}
	}
	if b := bound(t, l, u); !(regret <= b+1e-12) || b > 20 {
		t.Errorf("regret %v, bound %v", regret, b)
	}
}

// TestSplitBound: regret and bound are the sums of the coordinates'.
func TestSplitBound(t *testing.T) {
	one := func(rate float64) *SubgradientDescent {
		return descent(must(convex.NewCube(1, -1, 1)), nil, Constant(rate))
	}
	split := must(NewSplit(one(.1), one(.2), one(.3)))
	parts := []*SubgradientDescent{one(.1), one(.2), one(.3)}
	u := []float64{.5, -1, 0}
	for _, g := range g4 {
		for i, p := range parts {
			if err := p.Update(g[i : i+1]); err != nil {
				t.Fatal(err)
			}
		}
		if err := split.Update(g); err != nil {
			t.Fatal(err)
		}
	}
	var want float64
	for i, p := range parts {
		want += bound(t, p, u[i:i+1])
	}
	near(t, "bound", bound(t, split, u), want)
}
