package experiment

import (
	"math"
	"math/bits"

	"github.com/noregret/noregret/experiment/definition"
)

// returns measures the correlation of a unit's values in several versions if units keep their arm
// (stickiness unit). The versions' contrasts are then of the same units, and their sum varies more
// than that of independent contrasts. It follows a sample of the units, chosen by their hash.
type returns struct {
	// Shift is the number of times that the sample was halved: units whose hash begins with that
	// many zeros are in it.
	Shift int  `json:"shift"`
	Unit  u64s `json:"unit"`
	// Sum and Square are, by unit and metric, the sums of the deviations from the mean of the arm
	// in the version, and of their squares.
	Sum    f64s `json:"sum"`
	Square f64s `json:"square"`
	index  map[uint64]int
	factor []float64 // by metric, nil if unknown
}

// followUnits is the maximum number of followed units.
const followUnits = 4096

// observe adds the units of a version whose window has closed.
func (x *returns) observe(d *definition.Definition, c *cohort) {
	if d.Stickiness != "unit" {
		return
	}
	m := len(d.Metrics)
	if x.index == nil {
		x.index = make(map[uint64]int, len(x.Unit))
		for i, u := range x.Unit {
			x.index[u] = i
		}
	}
	for _, r := range c.rows.all() {
		u := r.unit
		if !r.seen() || bits.LeadingZeros64(u) < x.Shift {
			continue
		}
		i, ok := x.index[u]
		if !ok {
			i = len(x.Unit)
			x.index[u] = i
			x.Unit = append(x.Unit, u)
			x.Sum = append(x.Sum, make([]float64, m)...)
			x.Square = append(x.Square, make([]float64, m)...)
		}
		for j := range d.Metrics {
			p := d.Metrics[j].Default
			if !r.has(j) && p == nil || d.Metrics[j].Kind == "ratio" {
				continue
			}
			if !r.has(j) {
				r.values[j] = *p
			}
			v := r.values[j] - c.Stats[r.slot()].Metrics[j].Mean
			x.Sum[i*m+j] += v
			x.Square[i*m+j] += float64(v * v)
		}
		if len(x.Unit) > followUnits {
			x.halve(m)
		}
	}
	x.measure()
}

// halve drops about half of the units.
func (x *returns) halve(m int) {
	x.Shift++
	n := 0
	clear(x.index)
	for i, u := range x.Unit {
		if bits.LeadingZeros64(u) < x.Shift {
			continue
		}
		x.Unit[n] = u
		copy(x.Sum[n*m:(n+1)*m], x.Sum[i*m:(i+1)*m])
		copy(x.Square[n*m:(n+1)*m], x.Square[i*m:(i+1)*m])
		x.index[u] = n
		n++
	}
	x.Unit, x.Sum, x.Square = x.Unit[:n], x.Sum[:n*m], x.Square[:n*m]
}

// measure computes, by metric, the factor Σ(Σ deviations)²/Σ deviations² by which returning units
// raise the variance of a sum, two standard errors above its estimate and at least 1.
func (x *returns) measure() {
	n := len(x.Unit)
	if x.factor = nil; n == 0 {
		return
	}
	m := len(x.Sum) / n
	out := make([]float64, m)
	for j := range out {
		var total, squares, spread float64
		for i := range n {
			s := x.Sum[i*m+j]
			total += float64(s * s)
			squares += x.Square[i*m+j]
		}
		out[j] = 1
		if !(squares > 0) {
			continue
		}
		f := total / squares
		for i := range n {
			s := x.Sum[i*m+j]
			e := float64(s*s) - float64(f*x.Square[i*m+j])
			spread += float64(e * e)
		}
		out[j] = max(1, f+2*math.Sqrt(spread)/squares)
	}
	x.factor = out
}

func (x *returns) copy() returns {
	return returns{
		Shift: x.Shift, Unit: append(u64s(nil), x.Unit...), Sum: append(f64s(nil), x.Sum...),
		Square: append(f64s(nil), x.Square...), factor: x.factor,
	}
}
