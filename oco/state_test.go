package oco

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
)

// TestWrapperSnapshots restores every wrapper in the middle of a run and continues beside the
// original.
func TestWrapperSnapshots(t *testing.T) {
	base := func() Learner { return descent(must(convex.NewCenteredBall(3, 1)), nil, Adaptive(math.Sqrt2)) }
	hinted := func() Hinted {
		return must(NewOptimisticFTRL(euclidean(must(convex.NewCenteredBall(3, 1))), ConstantWeight(2)))
	}
	one := func() Learner { return descent(must(convex.NewCube(1, -1, 1)), nil, Adaptive(1)) }
	for name, make := range map[string]func() Learner{
		"averaging":      func() Learner { return must(NewAveraging(base(), LinearAlpha())) },
		"random iterate": func() Learner { return must(NewRandomIterate(base(), UniformAlpha(), 7)) },
		"anytime":        func() Learner { return must(NewAnytime(base(), LinearAlpha())) },
		"linearized":     func() Learner { return must(NewLinearized(base())) },
		"split":          func() Learner { return must(NewSplit(one(), one(), one())) },
		"mini-batch":     func() Learner { return must(NewMiniBatch(base(), 4)) },
		"importance":     func() Learner { return must(NewImportance(base())) },
		"doubling": func() Learner {
			return must(NewDoubling("base", func(int) (Learner, error) { return base(), nil }))
		},
		"hint experts": func() Learner { return must(NewHintExperts(hinted(), 2, convex.L2)) },
		"shifted":      func() Learner { return must(NewShifted(base(), []float64{1, 2, 3})) },
		"added":        func() Learner { return must(NewAdded(base(), must(NewFreeGrad(3, 1)))) },
		"magnitude": func() Learner {
			return must(NewMagnitudeDirection(must(NewFreeGrad(1, 1)), base(), convex.L2))
		},
		"constrained": func() Learner {
			return must(NewConstrained(must(NewFreeGrad(3, 1)), must(convex.NewCenteredBall(3, .1))))
		},
	} {
		a, r := make(), random.New(1, name)
		step := func(ls ...Learner) {
			g := gradient(r, "gaussian", 1, a.Predict(), true)
			for _, l := range ls {
				if h, ok := l.(*HintExperts); ok {
					if err := h.Hints([][]float64{{g[0], 0, 0}, {0, g[1], 1}}); err != nil {
						t.Fatal(err)
					}
				}
				if err := l.Update(g); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 10 {
			step(a)
		}
		data := must(a.(Snapshotter).MarshalBinary())
		b := make()
		if err := b.(Snapshotter).UnmarshalBinary(data); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for range 10 {
			step(a, b)
		}
		if !slices.Equal(a.Predict(), b.Predict()) {
			t.Errorf("%s: after a restore the point is %v, without one %v", name, b.Predict(), a.Predict())
		}
		if x, y := must(a.(Snapshotter).MarshalBinary()), must(b.(Snapshotter).MarshalBinary()); !bytes.Equal(x, y) {
			t.Errorf("%s: the states differ after a restore", name)
		}
		if err := b.(Snapshotter).UnmarshalBinary(flip(data, len(data)/2)); err == nil {
			t.Errorf("%s accepted a damaged snapshot", name)
		}
		before := must(a.(Snapshotter).MarshalBinary())
		if a.Update([]float64{1, math.NaN(), 0}) == nil || a.Update(nil) == nil {
			t.Errorf("%s accepted a bad subgradient", name)
		}
		if !bytes.Equal(before, must(a.(Snapshotter).MarshalBinary())) {
			t.Errorf("%s: a refused round changed it", name)
		}
		if _, err := a.(Bounder).Bound(make().Predict()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
