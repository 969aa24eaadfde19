package picture

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// Decades marks powers of ten on a logarithmic axis, at most ten of them with a number.
type Decades struct{}

// Ticks implements plot.Ticker. It takes numbers above zero.
func (Decades) Ticks(low, high float64) []plot.Tick {
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	every := (last-first)/10 + 1
	var ticks []plot.Tick
	for k := first; k <= last; k++ {
		v := math.Pow10(k)
		if v < low || v > high {
			continue
		}
		t := plot.Tick{Value: v}
		if k%every == 0 {
			t.Label = strconv.FormatFloat(v, 'g', -1, 64)
		}
		ticks = append(ticks, t)
	}
	return ticks
}
