package bandit

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

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
