package convex

import (
	"github.com/noregret/noregret"
)

// Mover is a set that can be scaled and shifted. Every set of this package implements it.
type Mover interface {
	Set
	// Moved is {c·x + x0 : x ∈ V}. The arguments are valid: c is finite and positive, x0 has length
	// d and is finite, or is nil for 0.
	Moved(c float64, x0 []float64) (Set, error)
}

// NewScaled is the set cV = {c·x : x ∈ V} for a finite c > 0. The result is of the same family
// where that is closed under scaling, so it costs what V costs. V is a [Mover].
func NewScaled(v Set, c float64) (Set, error) {
	if err := checkPositive("scaled set", "the scale", c); err != nil {
		return nil, err
	}
	return moved("scaled set", v, c, nil)
}

// NewShifted is the set V + x0. The result is of the same family where that is closed under
// shifting (a shifted simplex is a [CappedSimplex] with lower bounds), so it costs what V costs. V
// is a [Mover].
func NewShifted(v Set, x0 []float64) (Set, error) {
	if v == nil {
		return nil, noregret.BadInputf("shifted set", "the set is nil")
	}
	if err := checkLen("shifted set", "the shift", len(x0), v.Dim()); err != nil {
		return nil, err
	}
	if err := checkFinite("shifted set", "the shift", x0); err != nil {
		return nil, err
	}
	return moved("shifted set", v, 1, x0)
}

func moved(what string, v Set, c float64, x0 []float64) (Set, error) {
	m, ok := v.(Mover)
	if !ok {
		return nil, noregret.BadInputf(what,
			"a set of type %T cannot be moved, want one with the method Moved", v)
	}
	return m.Moved(c, x0)
}

// image writes c·x + x0 to a new slice, keeping infinite coordinates.
func image(x []float64, c float64, x0 []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(c * v)
		if x0 != nil {
			out[i] += x0[i]
		}
	}
	return out
}
