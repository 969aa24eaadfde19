package classify

import (
	"math"
)

// Scaling is the affine map x ↦ (x - Center)·Inverse that puts every feature on a common scale
// before learning. It is folded into the weights of the finished model.
//
// A feature that is non-zero on at least half of the examples is centred at its mean and divided by
// its standard deviation. A rarer one is not centred, because that would gain nothing. It is
// divided by σ = √(r₊·r), the geometric mean of the root mean square r₊ of its non-zero values and
// that of all its values, r = r₊·√f with f the share of non-zeros (taken as at least 1/1000): this
// removes the unit and keeps the sparsity, and rare features learn faster than with r₊ without
// being inflated as with r. A feature that has not varied is centred and divided by its magnitude:
// it gets no weight until it does vary.
type Scaling struct {
	// Center is μ, in raw units.
	Center []float64
	// Inverse is 1/σ, in inverse raw units.
	Inverse []float64
}

// Identity is the scaling of the given dimension that changes nothing.
func Identity(dim int) *Scaling {
	s := &Scaling{Center: make([]float64, dim), Inverse: make([]float64, dim)}
	for i := range s.Inverse {
		s.Inverse[i] = 1
	}
	return s
}

// denseShare is the smallest share of non-zero values at which a feature is centred.
const denseShare = 0.5

// minRelativeSpread is the standard deviation relative to the mean under which a feature counts as
// constant: values are float32, so a smaller spread is rounding.
const minRelativeSpread = 1e-7

// moments gathers per-feature moments of the non-zero values, by West's weighted form of Welford's
// update.
type moments struct {
	total float64 // weight of all rows
	rows  int64   // their number
	f     []featureMoments
}

type featureMoments struct {
	weight float64 // of the rows in which the feature is not zero
	mean   float64 // over these
	m2     float64 // Σ weight·(x - mean)² over these
}

// observe adds a row. O(nnz).
func (m *moments) observe(index []uint32, value []float32, weight float64) {
	if weight <= 0 {
		return
	}
	if n := len(index); n > 0 {
		m.reach(int(index[n-1]) + 1)
	}
	m.total += weight
	m.rows++
	for j, i := range index {
		if x := float64(value[j]); x != 0 {
			m.f[i].add(x, weight)
		}
	}
}

// add counts one non-zero value.
func (f *featureMoments) add(x, weight float64) {
	f.weight += weight
	d := x - f.mean
	f.mean += float64(d*weight) / f.weight
	f.m2 += float64(weight * d * (x - f.mean))
}

// reach adds features without values until there are dim.
func (m *moments) reach(dim int) {
	for len(m.f) < dim {
		m.f = append(m.f, featureMoments{})
	}
}

// scale returns centre and inverse scale of one feature.
func (m *moments) scale(i int, centre bool) (center, inverse float64) {
	f := &m.f[i]
	if f.weight == 0 {
		return 0, 1
	}
	if centre && f.weight >= denseShare*m.total {
		zero := m.total - f.weight
		mean := f.mean * f.weight / m.total
		variance := (f.m2 + float64(f.mean*f.mean*f.weight*zero)/m.total) / m.total
		sd := math.Sqrt(variance)
		if sd <= minRelativeSpread*math.Abs(mean) {
			return mean, 1 / math.Abs(mean)
		}
		return mean, 1 / sd
	}
	return 0, m.sparseInverse(f)
}

// minShare is the smallest share of non-zeros that a sparse feature's scale takes into account.
const minShare = 1e-3

// sparseInverse is 1/σ of a sparse feature: σ² = r₊²·√f.
func (m *moments) sparseInverse(f *featureMoments) float64 {
	share := max(minShare, f.weight/m.total)
	return 1 / math.Sqrt((float64(f.mean*f.mean)+f.m2/f.weight)*math.Sqrt(share))
}

// scaling returns the scaling of all features up to dim; those never seen are left as they are.
// Without an intercept, which centring would bring back, nothing is centred.
func (m *moments) scaling(dim int, intercept bool) *Scaling {
	s := Identity(max(dim, len(m.f)))
	for i := range m.f {
		s.Center[i], s.Inverse[i] = m.scale(i, intercept)
	}
	return s
}

// check returns an error for vectors of unequal lengths and for numbers out of range.
func (s *Scaling) check() error {
	if len(s.Center) != len(s.Inverse) {
		return usage("scaling has %d centres and %d inverse scales, want the same number", len(s.Center),
			len(s.Inverse))
	}
	for i, inv := range s.Inverse {
		if !(inv > 0) || math.IsInf(inv, 0) || s.Center[i]-s.Center[i] != 0 {
			return usage("scaling of feature %d is (x - %v)·%v, want a finite centre and a finite inverse scale > 0", i,
				s.Center[i], inv)
		}
	}
	return nil
}

// meanSquare is the mean of ‖x̂‖² over the rows seen, the constant feature x_b included: the m̄₂ of
// the default step sizes. It follows from the moments; no second pass is needed.
func (m *moments) meanSquare(s *Scaling, biasFeature float64) float64 {
	sum := float64(biasFeature * biasFeature)
	for i := range m.f {
		f := &m.f[i]
		if f.weight == 0 || m.total == 0 {
			continue
		}
		c, inv := 0.0, 1.0
		if i < len(s.Inverse) {
			c, inv = s.Center[i], s.Inverse[i]
		}
		share := f.weight / m.total
		second := float64(share*(f.m2/f.weight+float64((f.mean-c)*(f.mean-c)))) + float64((1-share)*c*c)
		sum += float64(second * inv * inv)
	}
	return sum
}
