package oco

import "math"

// The wrappers of this package forward optional input to the wrapped learner, or say in their doc
// comment why they cannot. Input that the learner does not support is dropped where that is sound
// (hints and features are optional) or converted (a sparse subgradient to a dense one).

// forwardHint passes a hint to a learner that is [Hinted]; others ignore it.
func forwardHint(l Learner, h []float64) error {
	if hinted, ok := l.(Hinted); ok {
		return hinted.Hint(h)
	}
	return checkFinite("hint", h, l.Dim())
}

// forwardFeatures passes features to a [FeatureLearner]; others ignore them.
func forwardFeatures(l Learner, z []float64) error {
	if f, ok := l.(FeatureLearner); ok {
		return f.Features(z)
	}
	return checkFinite("features", z, l.Dim())
}

// hintChecker and featureChecker are learners that can tell whether they would accept a hint, or
// features, without a change of their state. All learners of this package that can refuse one are.
type (
	hintChecker    interface{ checkHint(h []float64) error }
	featureChecker interface{ checkFeatures(z []float64) error }
)

// checkHint returns the error that forwardHint would return, as far as the learner can tell.
func checkHint(l Learner, h []float64) error {
	if c, ok := l.(hintChecker); ok {
		return c.checkHint(h)
	}
	return checkFinite("hint", h, l.Dim())
}

// checkFeatures returns the error that forwardFeatures would return, as far as the learner can
// tell.
func checkFeatures(l Learner, z []float64) error {
	if c, ok := l.(featureChecker); ok {
		return c.checkFeatures(z)
	}
	return checkFinite("features", z, l.Dim())
}

// forwardSparse passes a sparse subgradient to a learner, in dense form unless it is a
// [SparseLearner]; dense is scratch of the learner's dimension.
func forwardSparse(l Learner, g Sparse, dense []float64) error {
	if s, ok := l.(SparseLearner); ok {
		return s.UpdateSparse(g)
	}
	if _, err := checkSparse("gradient", g, l.Dim()); err != nil {
		return err
	}
	scatter(dense, g)
	return l.Update(dense)
}

// forwardCurved passes a subgradient and a constant of strong convexity to a learner that is
// [Curved]; others get the subgradient alone.
func forwardCurved(l Learner, g []float64, mu float64) error {
	if err := checkMu(mu); err != nil {
		return err
	}
	if c, ok := l.(Curved); ok {
		return c.UpdateCurved(g, mu)
	}
	return l.Update(g)
}

// boundOf is the bound of a learner, +Inf if it states none.
func boundOf(l Learner, u []float64) (float64, error) {
	if b, ok := l.(Bounder); ok {
		return b.Bound(u)
	}
	return math.Inf(1), checkFinite("comparator", u, l.Dim())
}

// scatter writes a sparse vector to dst, whose other values become 0.
func scatter(dst []float64, g Sparse) {
	clear(dst)
	for k, i := range g.Index {
		dst[i] = g.Value[k]
	}
}

// at is coordinate i of a learner's point.
func at(l Learner, i int) float64 {
	if s, ok := l.(SparseLearner); ok {
		return s.At(i)
	}
	return l.Predict()[i]
}
