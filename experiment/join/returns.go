package join

import (
	"math"
	"math/bits"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/column"
)

// Returns measures the correlation of a unit's values in several versions if units keep their arm
// (stickiness unit). The versions' contrasts are then of the same units, and their sum varies more
// than that of independent contrasts. It follows a sample of the units, chosen by their hash.
type Returns struct {
	// Shift is the number of times that the sample was halved: units whose hash begins with that
	// many zeros are in it.
	Shift int            `json:"shift"`
	Unit  column.Uint64s `json:"unit"`
	// Sum and Square are, by unit and metric, the sums of the deviations from the mean of the arm
	// in the version, and of their squares.
	Sum    column.Float64s `json:"sum"`
	Square column.Float64s `json:"square"`
	index  map[uint64]int
	factor []float64 // by metric, nil if unknown
}

// followUnits is the maximum number of followed units.
const followUnits = 4096

// observe adds the units of a version in metrics whose window has closed.
func (x *Returns) observe(d *definition.Definition, c *Version, metrics []int) {
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
		u := r.Unit
		if !r.Seen() || bits.LeadingZeros64(u) < x.Shift {
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
		for _, j := range metrics {
			p := d.Metrics[j].Default
			if !r.Has(j) && p == nil || d.Metrics[j].Kind == "ratio" {
				continue
			}
			if !r.Has(j) {
				r.Values[j] = *p
			}
			v := r.Values[j] - c.Stats[r.Slot()].Metrics[j].Mean
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
func (x *Returns) halve(m int) {
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
func (x *Returns) measure() {
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

// Factors returns, by metric, the factor by which returning units raise the variance of a sum, at
// least 1; nil while it is unknown, and where units do not keep their arm. It must not be changed.
func (x *Returns) Factors() []float64 { return x.factor }

func (x *Returns) copy() Returns {
	return Returns{
		Shift: x.Shift, Unit: append(column.Uint64s(nil), x.Unit...), Sum: append(column.Float64s(nil), x.Sum...),
		Square: append(column.Float64s(nil), x.Square...), factor: x.factor,
	}
}
