package experiment

import (
	"math"
	"slices"
)

// Pair are the running means and second moments of two metrics of the same units, the numerator x
// and the denominator y of a ratio. The zero Pair is empty.
type Pair struct {
	N     int64
	X, Y  float64 // means
	XX    float64 // Σ (x − X)²
	YY    float64
	Cross float64 // Σ (x − X)·(y − Y)
}

// Add takes a unit's values, which are finite.
func (p *Pair) Add(x, y float64) {
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
	p.X += float64(dx * (m / (n + m)))
	p.Y += float64(dy * (m / (n + m)))
	p.XX += o.XX + float64(dx*dx*w)
	p.YY += o.YY + float64(dy*dy*w)
	p.Cross += o.Cross + float64(dx*dy*w)
	p.N += o.N
}

// Contrast is the sequence of x − c·y.
func (p *Pair) Contrast(c float64) Sequence {
	m2 := p.XX - float64(2*float64(c*p.Cross)) + float64(float64(c*c)*p.YY)
	return Sequence{N: p.N, Mean: p.X - float64(c*p.Y), M2: max(m2, 0)}
}

// ratio is X/Y. Ok is false where there is none: without units, for a denominator that is not above
// 0, and for one so small that the quotient leaves the range of float64.
func (p *Pair) ratio() (r float64, ok bool) {
	if p.N == 0 || !(p.Y > 0) {
		return 0, false
	}
	if r = p.X / p.Y; !finite(r) {
		return 0, false
	}
	return r, true
}

// Interval is the ratio X/Y and an interval for it, by the contrast x − r·y at the estimate r:
// asymptotically valid at all times, as [Sequence.Interval] is. Ok is false while there is no
// estimate, and where the quotient leaves the range of float64.
func (p *Pair) Interval(alpha float64) (ratio, low, high float64, ok bool) {
	r, ok := p.ratio()
	if !ok {
		return 0, math.Inf(-1), math.Inf(1), false
	}
	s := p.Contrast(r)
	s.Mean = 0 // it is, up to rounding
	low, high = s.Interval(alpha, math.Inf(-1), math.Inf(1))
	return r, r + low/p.Y, r + high/p.Y, true
}

// armStats is what is known of an arm, or of a part of its traffic.
type armStats struct {
	Units   int64      `json:"units"`
	Metrics []Sequence `json:"metrics"` // by metric; those of ratios stay empty
	Pairs   []Pair     `json:"pairs"`   // by ratio
}

func newArmStats(d *Definition) armStats {
	return armStats{Metrics: make([]Sequence, len(d.Metrics)), Pairs: make([]Pair, len(d.ratios()))}
}

func (a *armStats) merge(o *armStats) {
	a.Units += o.Units
	for i := range a.Metrics {
		a.Metrics[i].Merge(o.Metrics[i])
	}
	for i := range a.Pairs {
		a.Pairs[i].Merge(o.Pairs[i])
	}
}

func (a *armStats) clone() armStats {
	return armStats{a.Units, slices.Clone(a.Metrics), slices.Clone(a.Pairs)}
}

func cloneStats(a []armStats) []armStats {
	out := make([]armStats, len(a))
	for i := range a {
		out[i] = a[i].clone()
	}
	return out
}

// ratio is a ratio metric by the indices of its parts.
type ratio struct{ metric, numerator, denominator int }

// ratios lists the ratio metrics in their order.
func (d *Definition) ratios() []ratio {
	var out []ratio
	for i := range d.Metrics {
		if m := &d.Metrics[i]; m.Kind == "ratio" {
			out = append(out, ratio{i, d.metricIndex(m.Numerator), d.metricIndex(m.Denominator)})
		}
	}
	return out
}

// ratioIndex is the index of a metric among the ratios, or -1.
func (d *Definition) ratioIndex(metric int) int {
	if d.Metrics[metric].Kind != "ratio" {
		return -1
	}
	for i, r := range d.ratios() {
		if r.metric == metric {
			return i
		}
	}
	return -1
}
