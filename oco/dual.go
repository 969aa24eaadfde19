package oco

import (
	"math"

	"github.com/noregret/noregret"

	"gonum.org/v1/gonum/floats"
)

// dualSum is the dual state θ = −Σ g of lazy learners, with a guard against overflow: the sum of
// ‖g‖∞ bounds every coordinate.
type dualSum struct {
	T     int
	Theta []float64
	Mass  float64
}

// checkRange returns an error for a subgradient of largest absolute value m if θ might overflow.
func (s *dualSum) checkRange(m float64) error {
	if s.Mass+m > math.MaxFloat64/4 {
		return noregret.BadInputf("gradient",
			"the sum of the subgradients' norms is %v: it leaves the range of float64",
			s.Mass+m)
	}
	return nil
}

// check returns the largest absolute value of a subgradient, or an error if it is malformed or θ
// might overflow.
func (s *dualSum) check(g []float64) (largest float64, err error) {
	if largest, err = checkVector("gradient", g, len(s.Theta)); err != nil {
		return 0, err
	}
	return largest, s.checkRange(largest)
}

// subtract subtracts g, which has been checked.
func (s *dualSum) subtract(g []float64, m float64) {
	floats.AddScaled(s.Theta, -1, g) // the product is exact: the same bits on every machine
	s.Mass += m
	s.T++
}

// subtractSparse is subtract for a sparse g.
func (s *dualSum) subtractSparse(g Sparse, m float64) {
	for k, i := range g.Index {
		s.Theta[i] -= g.Value[k]
	}
	s.Mass += m
	s.T++
}
