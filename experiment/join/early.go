package join

import (
	"math"
	"slices"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/definition"
)

// Early sums the known values of an arm's exposed units in a metric with a default: the reported
// values, and, once the window has closed, the defaults of the other units. Until then the values
// of the other units are pending.
type Early struct {
	// N is the number of known values.
	N int64 `json:"n"`
	// Sum is Σ (x − low)/width with each term cut to [0, 1], for the low and the width of
	// [EarlyScale]. From aggregates it is at most that.
	Sum float64 `json:"sum"`
	// Uncut is Σ max((x − low)/width, 0).
	Uncut float64 `json:"uncut"`
}

// EarlyScale returns the lowest value of a metric and the width by which its early values are
// scaled: that of its range, or 1 for a count without one. Ok is false for a mean without a range,
// whose values are not summed.
func EarlyScale(d *definition.Definition, metric int) (low, width float64, ok bool) {
	low, high := d.Lowest(metric), d.Highest(metric)
	switch {
	case math.IsInf(low, 0):
		return 0, 0, false
	case math.IsInf(high, 0):
		return low, 1, true
	}
	return low, high - low, true
}

// EarlySum returns Σ (x − low)/width of observations, or, for a count without a range, a lower
// bound of the number of those above 0: at least (Σx)²/Σx², by Cauchy and Schwarz.
func EarlySum(d *definition.Definition, metric int, q *confseq.Sequence) (s float64, ok bool) {
	low, width, ok := EarlyScale(d, metric)
	n := float64(q.N)
	switch {
	case !ok || q.N == 0:
		return 0, ok
	case !math.IsInf(d.Highest(metric), 0):
		return n * min(max((q.Mean-low)/width, 0), 1), true
	}
	squares := q.M2 + float64(float64(n*q.Mean)*q.Mean)
	if !(squares > 0) {
		return 0, true
	}
	return min(float64(n*q.Mean)/squares*float64(n*q.Mean), n), true
}

// earlyValue returns a value as early sums count it. Ok is false if they do not.
func earlyValue(d *definition.Definition, metric int, v float64) (e Early, ok bool) {
	low, width, ok := EarlyScale(d, metric)
	scaled := max((v-low)/width, 0)
	return Early{1, min(scaled, 1), scaled}, ok
}

// earlyValues returns the values of an aggregate as early sums count them.
func earlyValues(d *definition.Definition, metric int, q *confseq.Sequence) (e Early, ok bool) {
	s, ok := EarlySum(d, metric, q)
	low, width, _ := EarlyScale(d, metric)
	return Early{q.N, s, max(float64(float64(q.N)*((q.Mean-low)/width)), 0)}, ok && q.N > 0
}

// addEarly adds known values of an arm in a metric to sums by arm and metric, which may grow.
func addEarly(to [][]Early, arm, metric int, e Early) [][]Early {
	for len(to) <= arm {
		to = append(to, nil)
	}
	for len(to[arm]) <= metric {
		to[arm] = append(to[arm], Early{})
	}
	s := &to[arm][metric]
	s.N += e.N
	s.Sum += e.Sum
	s.Uncut += e.Uncut
	return to
}

func copyEarly(a [][]Early) [][]Early {
	out := slices.Clone(a)
	for k := range out {
		out[k] = slices.Clone(out[k])
	}
	return out
}
