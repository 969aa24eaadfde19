package classify

import (
	"math"
	"slices"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
)

// intervalDraws is the number of draws of an interval.
const intervalDraws = 2000

// Intervals returns for each measure of the counts of two or several classes the interval of the
// given confidence, in (0, 1), for new rows of the same distribution: the quantiles of the measure
// over confusion matrices whose cells are Gamma-distributed around the counts, with 1/C added to
// each cell of a class with rows (for two classes the prior of Jeffreys; Goutte and Gaussier, ECIR
// 2005, have it for precision, recall and F). An interval is extended to the value itself where the
// prior has moved it away, as at 0 and 1 (Brown, Cai and DasGupta 2001). Weighted rows count by
// their effective number. An interval is NaN where the measure is undefined, and for rows with
// several labels, whose counts are not those of a matrix. The same counts give the same intervals.
// O(2000·C²).
func Intervals(c *Confusion, measures []measure.Objective, confidence float64) [][2]float64 {
	out := make([][2]float64, len(measures))
	if c.Labels != nil || !(c.Square > 0) {
		for i := range out {
			out[i] = [2]float64{math.NaN(), math.NaN()}
		}
		return out
	}
	scale := c.Weight / c.Square
	return drawnIntervals(c, measures, confidence, func(r *random.Source) *Confusion { return c.drawn(r, scale) })
}

// drawnIntervals returns the quantiles of measures over confusions that are drawn around the counts
// c; NaN for a measure that is undefined.
func drawnIntervals(c *Confusion, measures []measure.Objective, confidence float64,
	draw func(r *random.Source) *Confusion,
) [][2]float64 {
	out := make([][2]float64, len(measures))
	r := random.New(1, "intervals")
	values := make([][]float64, len(measures))
	for range intervalDraws {
		drawn := draw(r)
		for i, m := range measures {
			if v := drawn.Value(m); v == v {
				values[i] = append(values[i], v)
			}
		}
	}
	for i, m := range measures {
		v := c.Value(m)
		if v != v || len(values[i]) == 0 {
			out[i] = [2]float64{math.NaN(), math.NaN()}
			continue
		}
		slices.Sort(values[i])
		tail := float64((1 - confidence) / 2)
		out[i] = [2]float64{min(v, stat.Quantile(values[i], tail)), max(v, stat.Quantile(values[i], 1-tail))}
	}
	return out
}

// drawn draws a confusion around the counts, which scale turns into effective rows.
func (c *Confusion) drawn(r *random.Source, scale float64) *Confusion {
	cell := func(count, prior float64) float64 { return stat.Gamma(r, float64(count*scale)+prior) }
	n := c.Classes.Classes()
	if n == 0 {
		t := c.Two
		out := &Confusion{}
		if t.TP+t.FN > 0 {
			out.Two.TP, out.Two.FN = cell(t.TP, 0.5), cell(t.FN, 0.5)
		}
		if t.TN+t.FP > 0 {
			out.Two.TN, out.Two.FP = cell(t.TN, 0.5), cell(t.FP, 0.5)
		}
		return out
	}
	out := &Confusion{}
	out.Classes, _ = measure.NewMulticlassConfusion(n) // n is that of a matrix
	for i := range n {
		rows := 0.0
		for j := range n {
			rows += c.Classes.Count(i, j)
		}
		for j := 0; j < n && rows > 0; j++ {
			out.Classes.Add(i, j, cell(c.Classes.Count(i, j), 1/float64(n)))
		}
	}
	return out
}
