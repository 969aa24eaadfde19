package bandit

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// Thompson sampling needs the arm of the lowest draw, not all draws. The draws of arms whose
// posterior is far above the lowest draw matter only if they are in their own lower tail. The
// events that they are there are independent and of a small probability, so that one number from
// the source decides which of them come next, and almost always there is none. Where a draw is in
// its tail, it is drawn from there. The law of the winner is the same as with a draw for each arm.
//
// The leader is the arm of the lowest posterior mean. If the tails of all other arms begin above
// the upper tail of the leader, then that tail is one more such event, and without an event the
// leader wins: a round then takes one number from the source and costs O(1).

// thinning runs independent trials that succeed with a small probability δ.
type thinning struct {
	delta float64
	none  []float64 // (1 − δ)^n
	miss  float64   // ln(1 − δ)
}

func newThinning(delta float64) *thinning {
	t := &thinning{delta: delta, none: make([]float64, 65), miss: portable.Log1p(-delta)}
	for n := range t.none {
		t.none[n] = portable.Exp(float64(float64(n) * t.miss))
	}
	return t
}

// next returns the first of n trials that succeeds, counted from 0, and n if none does.
func (t *thinning) next(n int, r Rand) int {
	if n == 0 {
		return 0
	}
	u := r.Float64()
	if n < len(t.none) && u < t.none[n] || u == 0 {
		return n
	}
	return int(min(math.Floor(portable.Log(u)/t.miss), float64(n)))
}
