package picture

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// Ticks are the marks of a linear axis: those of [plot.DefaultTicks], each labelled with its value.
// The labels of an axis have the same number of decimals, the least that tells every value.
type Ticks struct{}

// Ticks implements plot.Ticker. It takes low < high.
func (Ticks) Ticks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	var values []float64 // those with a label
	for i := range ticks {
		if !ticks[i].IsMinor() {
			values = append(values, ticks[i].Value)
		}
	}
	labels := labelsOf(values)
	for i := range ticks {
		if !ticks[i].IsMinor() {
			ticks[i].Label, labels = labels[0], labels[1:]
		}
	}
	return ticks
}

// labelsOf writes values in ascending order, which may have an error of rounding. Steps of 10⁷ and
// more, and values of more than six decimals, are written with an exponent where that is shorter.
func labelsOf(values []float64) []string {
	step := math.Inf(1)
	for i := 1; i < len(values); i++ {
		step = min(step, values[i]-values[i-1])
	}
	tolerance := float64(1e-6 * step)
	labels := make([]string, len(values))
	// written reports whether labels in a format tell the values, and sets the labels.
	written := func(format byte, digits int) bool {
		near := true
		for i, v := range values {
			if math.Abs(v) < tolerance {
				v = 0 // and not -0.0
			}
			labels[i] = strconv.FormatFloat(v, format, digits, 64)
			told, _ := strconv.ParseFloat(labels[i], 64)
			near = near && math.Abs(told-v) <= tolerance
		}
		return near
	}
	if step < 1e7 {
		for decimals := range 7 {
			if written('f', decimals) {
				return labels
			}
		}
	}
	for digits := 1; digits < 17 && !written('g', digits); digits++ {
	}
	return labels
}
