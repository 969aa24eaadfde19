package mixed

import (
	"math"

	"github.com/noregret/noregret/internal/stat"
)

const (
	// unseen is −ln of what three standard errors leave out: a rate of unseen/n shows in n groups,
	// nearly surely.
	unseen = 6.6
	// sureErrors is the number of standard errors beyond which an estimate is surely off.
	sureErrors = 3
	// manyGroups without any scatter are taken to have none.
	manyGroups = 1000
)

// Allowance is by how much the mean of arm k in metric i, of this squared error, may be off, where
// three standard errors would do if they were known and the mean normal. +Inf where that is not
// known. Width is that of the metric's range, 0 without one.
func (e *Model) Allowance(k, i int, square, width float64) float64 {
	s := &e.Stats
	free, skew := s.Free[k], 0.0
	if s.UnitSize != nil {
		free = s.Weight[k] - 1
	} else if e.Noise.Compared {
		free = min(free, e.Noise.Pairs)
	}
	switch {
	case !(free > 0):
		return math.Inf(1)
	case s.UnitSize == nil && s.Pool[i] == 0 && width > 0:
		return unseen / s.Count[k] * width
	case s.UnitSize == nil && s.Pool[i] == 0 && s.Count[k] < manyGroups:
		return math.Inf(1)
	case s.Pool[i] > 0:
		skew = float64((sureErrors*sureErrors - 1.) / 6 * (s.Third[i] / s.Pool[i]))
	}
	if s.UnitSize == nil { // of an arm noisier than the pool the own variance alone is right
		square = max(square, s.Squares[k*len(e.Metrics)+i]/s.Free[k]/s.Weight[k])
	}
	return float64(stat.Student(sureErrors, free)*math.Sqrt(square)) + skew/s.Weight[k]
}
