package mixed

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

const (
	// tightGroups takes the place of manyUnits where variances of units are unknown.
	tightGroups = 16
	// noisier is how many times the pooled variance an arm's own must be to be used alone.
	noisier = 4
)

// Radius returns by how much an estimate of metric i of arm k with this squared error may be off at
// any time, to one side, with probability 1 − alpha: the normal mixture boundary (Robbins 1970;
// Howard, Ramdas, McAuliffe and Sekhon 2021, equation 14). It is tight at manyUnits or tightGroups,
// where bounds of rates of some percent are about as wide as the rates themselves. Where values
// come from noisy sums, errors of two rounds may be correlated in any way: see [released.errors].
func (e *Model) Radius(k, i int, square, alpha float64) float64 {
	s := &e.Stats
	if e.Released.any() {
		return float64(e.Released.errors(alpha) * math.Sqrt(square))
	}
	n := min(e.Variance(k, i)/square, s.Weight[k]) // what the estimate is worth in units
	tight := float64(manyUnits)
	if !s.unitsKnown(k, i) {
		tight = float64(tightGroups * (s.Weight[k] / s.Count[k]))
	}
	if !(n > 0) {
		n = s.Weight[k]
	}
	z := math.Sqrt(float64(2 * (1 + tight/n) * portable.Log(math.Sqrt(1+n/tight)/(2*alpha)+1)))
	return float64(z * math.Sqrt(square))
}

// Uneven returns the squared error of metric i of arm k that goes by the arm's own scatter where
// that is far above the pooled one, and else the given one.
func (e *Model) Uneven(k, i int, square float64) float64 {
	s := &e.Stats
	own := s.Squares[k*len(e.Metrics)+i] / s.Free[k]
	if s.UnitSize == nil && s.Free[k] > 0 && own > float64(noisier*s.pooled(i)) && e.has(NoUneven) {
		return max(square, own/s.Weight[k])
	}
	return square
}
