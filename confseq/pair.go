package confseq

import (
	"math"

	"github.com/noregret/noregret/internal/vec"
)

// Pair holds the running means and second moments of two variables of the same units, the numerator
// x and the denominator y of a ratio. The zero Pair is empty. Its fields are exported to be saved.
// It is not safe for concurrent use.
type Pair struct {
	N     int64
	X, Y  float64 // means
	XX    float64 // Σ (x − X)²
	YY    float64
	Cross float64 // Σ (x − X)·(y − Y)
	// The smallest and the largest value of each. Of sums they are bounds.
	XLow, XHigh float64
	YLow, YHigh float64
}

// FromParts returns the pair of n units, given the sequences of both variables over the same units
// and the sum of the products of their deviations.
func FromParts(x, y Sequence, cross float64) Pair {
	return Pair{
		N: x.N, X: x.Mean, Y: y.Mean, XX: x.M2, YY: y.M2, Cross: cross,
		XLow: x.Low, XHigh: x.High, YLow: y.Low, YHigh: y.High,
	}
}

// Add adds a unit's values, which must be finite.
func (p *Pair) Add(x, y float64) {
	p.XLow, p.XHigh = widen(p.N, p.XLow, p.XHigh, x, x)
	p.YLow, p.YHigh = widen(p.N, p.YLow, p.YHigh, y, y)
	p.N++
	dx, dy := x-p.X, y-p.Y
	p.X += dx / float64(p.N)
	p.Y += dy / float64(p.N)
	p.XX += float64(dx * (x - p.X))
	p.YY += float64(dy * (y - p.Y))
	p.Cross += float64(dx * (y - p.Y))
}

// Merge adds the units of another pair.
func (p *Pair) Merge(o Pair) {
	if o.N == 0 {
		return
	}
	if p.N == 0 {
		*p = o
		return
	}
	n, m := float64(p.N), float64(o.N)
	dx, dy, w := o.X-p.X, o.Y-p.Y, n*m/(n+m)
	p.XLow, p.XHigh = widen(p.N, p.XLow, p.XHigh, o.XLow, o.XHigh)
	p.YLow, p.YHigh = widen(p.N, p.YLow, p.YHigh, o.YLow, o.YHigh)
	p.X += float64(dx * (m / (n + m)))
	p.Y += float64(dy * (m / (n + m)))
	p.XX += o.XX + float64(dx*dx*w)
	p.YY += o.YY + float64(dy*dy*w)
	p.Cross += o.Cross + float64(dx*dy*w)
	p.N += o.N
}

// Contrast returns the sequence of x − c·y. Its extremes are bounds.
func (p *Pair) Contrast(c float64) Sequence {
	m2 := p.XX - float64(2*float64(c*p.Cross)) + float64(float64(c*c)*p.YY)
	a, b := float64(c*p.YLow), float64(c*p.YHigh)
	return Sequence{
		N: p.N, Mean: p.X - float64(c*p.Y), M2: max(m2, 0),
		Low: p.XLow - max(a, b), High: p.XHigh - min(a, b),
	}
}

// Ratio returns X/Y. It returns false if there are no units, if the denominator's mean is not above
// 0, or if the quotient leaves the range of float64.
func (p *Pair) Ratio() (r float64, ok bool) {
	if p.N == 0 || !(p.Y > 0) {
		return 0, false
	}
	if r = p.X / p.Y; !vec.IsFinite(r) {
		return 0, false
	}
	return r, true
}

// Interval returns the ratio X/Y of the means and a confidence sequence for it, by the contrast x −
// r·y at the estimate r. It is asymptotic, as [Sequence.Interval] is for observations without a
// range. It returns false while [Pair.Ratio] does.
func (p *Pair) Interval(alpha float64) (ratio, low, high float64, ok bool) {
	r, ok := p.Ratio()
	if !ok {
		return 0, math.Inf(-1), math.Inf(1), false
	}
	s := p.Contrast(r)
	s.Mean = 0 // but for rounding
	low, high = s.Interval(alpha, math.Inf(-1), math.Inf(1))
	return r, r + low/p.Y, r + high/p.Y, true
}

// IntervalWithin is [Pair.Interval] for a numerator in [x[0], x[1]] and a denominator in [y[0],
// y[1]]. If all four are finite it is exact: the quotients of the sequences of the two parts, at
// alpha/2 each.
func (p *Pair) IntervalWithin(alpha float64, x, y [2]float64) (ratio, low, high float64, ok bool) {
	ratio, low, high, ok = p.Interval(alpha)
	if !ok || !vec.IsFinite(x[0]) || !vec.IsFinite(x[1]) || !vec.IsFinite(y[0]) || !vec.IsFinite(y[1]) {
		return ratio, low, high, ok
	}
	top, bottom := p.parts()
	a, b := top.Interval(alpha/2, x[0], x[1])
	c, d := bottom.Interval(alpha/2, y[0], y[1])
	if !(c > 0) {
		return ratio, math.Inf(-1), math.Inf(1), true
	}
	return ratio, min(a/c, a/d), max(b/c, b/d), true
}

// parts returns the sequences of both variables.
func (p *Pair) parts() (x, y Sequence) {
	return Sequence{N: p.N, Mean: p.X, M2: p.XX, Low: p.XLow, High: p.XHigh},
		Sequence{N: p.N, Mean: p.Y, M2: p.YY, Low: p.YLow, High: p.YHigh}
}
