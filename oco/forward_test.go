package oco

import (
	"testing"

	"github.com/noregret/noregret/convex"
)

// recorder is a learner that notes what it is given.
type recorder struct {
	hint, features, g []float64
	sparse            Sparse
	mu                float64
}

func (l *recorder) Dim() int                                   { return 3 }
func (l *recorder) Predict() []float64                         { return []float64{4, 5, 6} }
func (l *recorder) At(i int) float64                           { return float64(4 + i) }
func (l *recorder) Update(g []float64) error                   { l.g = append([]float64(nil), g...); return nil }
func (l *recorder) UpdateCurved(g []float64, mu float64) error { l.mu = mu; return l.Update(g) }
func (l *recorder) Hint(g []float64) error                     { l.hint = append([]float64(nil), g...); return nil }

func (l *recorder) Features(z []float64) error { l.features = append([]float64(nil), z...); return nil }

func (l *recorder) UpdateSparse(g Sparse) error {
	l.sparse = Sparse{Index: append([]uint32(nil), g.Index...), Value: append([]float64(nil), g.Value...)}
	return nil
}

// TestWrappersForward: hints, features, sparse subgradients and strong convexity reach the learner
// inside, times the round's weight where the wrapper has one.
func TestWrappersForward(t *testing.T) {
	for name, wrap := range map[string]func(l Learner) Learner{
		"linearized":     func(l Learner) Learner { return must(NewLinearized(l)) },
		"averaging":      func(l Learner) Learner { return must(NewAveraging(l, UniformAlpha())) },
		"random iterate": func(l Learner) Learner { return must(NewRandomIterate(l, UniformAlpha(), 1)) },
		"anytime":        func(l Learner) Learner { return must(NewAnytime(l, UniformAlpha())) },
	} {
		inner := new(recorder)
		l := wrap(inner)
		h, z := []float64{1, 2, 3}, []float64{7, 8, 9}
		if err := l.(Hinted).Hint(h); err != nil {
			t.Fatal(err)
		}
		if err := l.(FeatureLearner).Features(z); err != nil {
			t.Fatal(err)
		}
		nearVector(t, name+": the hint", inner.hint, h)
		nearVector(t, name+": the features", inner.features, z)
		s := l.(SparseLearner)
		near(t, name+": At", s.At(1), 5)
		if err := s.UpdateSparse(Sparse{Index: []uint32{2}, Value: []float64{-1}}); err != nil {
			t.Fatal(err)
		}
		if len(inner.sparse.Index) != 1 || inner.sparse.Index[0] != 2 || inner.sparse.Value[0] != -1 {
			t.Errorf("%s: the sparse subgradient is %v", name, inner.sparse)
		}
		if c, ok := l.(Curved); ok {
			if err := c.UpdateCurved(h, 2); err != nil || inner.mu != 2 {
				t.Errorf("%s: μ = %v (%v)", name, inner.mu, err)
			}
		}
		// A learner that takes none of it: offers are ignored, sparse subgradients are the dense
		// ones.
		plain := descent(must(convex.NewCenteredLpBall(3, 3, 1)), nil, Constant(.1))
		dense := descent(must(convex.NewCenteredLpBall(3, 3, 1)), nil, Constant(.1))
		l = wrap(&onlyLearner{plain})
		if l.(Hinted).Hint(h) != nil || l.(FeatureLearner).Features(z) != nil {
			t.Errorf("%s: an offer is refused", name)
		}
		if l.(Hinted).Hint(h[:2]) == nil || l.(FeatureLearner).Features(z[:2]) == nil {
			t.Errorf("%s: an offer of another length is taken", name)
		}
		if err := l.(SparseLearner).UpdateSparse(Sparse{Index: []uint32{0, 2}, Value: []float64{3, -1}}); err != nil {
			t.Fatal(err)
		}
		if err := dense.Update([]float64{3, 0, -1}); err != nil {
			t.Fatal(err)
		}
		nearVector(t, name, plain.Predict(), dense.Predict())
	}
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

// onlyLearner hides all but the three methods of a learner.
type onlyLearner struct{ inner Learner }

func (l *onlyLearner) Dim() int                 { return l.inner.Dim() }
func (l *onlyLearner) Predict() []float64       { return l.inner.Predict() }
func (l *onlyLearner) Update(g []float64) error { return l.inner.Update(g) }

// TestWeightedHint: the learner inside an averaging wrapper sees α_t·g_t, and so hints of that
// scale.
func TestWeightedHint(t *testing.T) {
	inner := new(recorder)
	l := must(NewAveraging(inner, LinearAlpha()))
	for range 2 {
		if err := l.Update([]float64{1, 1, 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Hint([]float64{1, 0, -2}); err != nil {
		t.Fatal(err)
	}
	nearVector(t, "the hint of round 3", inner.hint, []float64{3, 0, -6})
}
