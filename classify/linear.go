package classify

import (
	"slices"

	"github.com/noregret/noregret/oco"
)

// newDescent returns the primal player of a learner for a validated configuration.
func newDescent(c *Config) *oco.LinearDescent {
	l, err := oco.NewLinearDescent(c.Dim, c.BiasFeature, c.Radius)
	if err != nil {
		panic(err) // withDefaults has checked everything
	}
	return l
}

// averaged is the average model on raw features.
func averaged(l *oco.LinearDescent) Linear {
	w, bias := l.Average()
	return rawModel(l, w, bias)
}

func rawModel(l *oco.LinearDescent, w []float64, bias float64) Linear {
	weights, intercept := l.Raw(w, bias)
	return Linear{Weights: weights, Intercept: intercept}
}

// Linear is a linear classifier on raw features: the score of x is ⟨Weights, x⟩ + Intercept, and
// the label is positive when the score exceeds Threshold, strictly.
type Linear struct {
	Weights   []float64
	Intercept float64
	Threshold float64
}

// Score is the score of a sparse row; entries beyond the model's dimension count as absent. O(nnz).
func (m *Linear) Score(index []uint32, value []float32) float64 {
	z := m.Intercept
	for j, i := range index {
		if int(i) < len(m.Weights) {
			z += float64(m.Weights[i] * float64(value[j]))
		}
	}
	return z
}

// clone returns a deep copy.
func (m Linear) clone() Linear {
	m.Weights = slices.Clone(m.Weights)
	return m
}

// Predict reports whether the score of the row exceeds the threshold.
func (m *Linear) Predict(index []uint32, value []float32) bool {
	return m.Score(index, value) > m.Threshold
}
