package classify

import (
	"math"
	"slices"
)

// coord is all that an update of one coordinate touches, side by side for the cache.
type coord struct {
	v    float64 // weights are scale·(v - kappa·mean)
	u    float64 // part of the running average, see linear
	inv  float64 // 1/σ: a feature value x enters as x·inv
	mean float64 // μ/σ: and is centred by it
}

// linear is a linear score z = ⟨w, x̂⟩ + b·x_b on standardised features x̂ = (x - μ)/σ, together with the
// average of its past iterates, both updated in O(nnz) for sparse x and exactly equal, up to
// rounding, to the dense textbook form.
//
// The weights are w = s·(v - κm), where m = μ/σ is the centre in scaled units: adding e·x̂ = e·(x̃ - m) to w/s
// costs a sparse update of v and one of the scalar κ. The average keeps S = Σ c_τ s_τ since the last rebase and
// u with the invariant
//
//	Σ_τ c_τ w_τ = (acc - accKappa·m) + S·(v - κm) - (u - νm).
//
// Decay and projection on a ball change s alone. When s falls below 1e-4 the representation
// is rebased in O(d), which keeps all numbers in range. Rounding grows with ‖m‖²: a
// column k standard deviations away from 0 costs about 2·log₁₀k of the sixteen digits.
type linear struct {
	c   []coord
	acc []float64 // nil until the first rebase

	scale    float64 // s
	sumScale float64 // S
	norm2    float64 // ‖v - κm‖²
	omega    float64 // Σ c_τ

	bias, biasSum float64 // the weight of the constant feature, and Σ c_τ of it
	biasFeature   float64 // x_b, 0 without an intercept

	centred  bool
	mean2    float64 // ‖m‖²
	kappa    float64 // κ
	nu       float64 // ν
	accKappa float64
	dotV     float64 // ⟨v, m⟩
	dotU     float64 // ⟨u, m⟩
	dotAcc   float64 // ⟨acc, m⟩

	radius float64 // L₂ ball for w, +Inf for none
}

// rebaseBelow is the scale under which the representation is renewed.
const rebaseBelow = 1e-4

func newLinear(dim int, biasFeature, radius float64) *linear {
	l := &linear{scale: 1, biasFeature: biasFeature, radius: radius}
	l.grow(dim)
	return l
}

// grow adds coordinates of weight 0 and scale 1 until there are dim. That is exact: past iterates had weight 0 there.
func (l *linear) grow(dim int) {
	for len(l.c) < dim {
		l.c = append(l.c, coord{inv: 1})
	}
	if l.acc != nil {
		for len(l.acc) < dim {
			l.acc = append(l.acc, 0)
		}
	}
}

// standardize sets centre and scale of every coordinate. It must come before the first update.
func (l *linear) standardize(s *Scaling) {
	l.grow(len(s.Inverse))
	l.centred, l.mean2 = false, 0
	for i := range s.Inverse {
		c := &l.c[i]
		c.inv, c.mean = s.Inverse[i], s.Center[i]*s.Inverse[i]
		if c.mean != 0 {
			l.centred = true
			l.mean2 += float64(c.mean * c.mean)
		}
	}
}

// centredAt reports whether a coordinate is centred.
func (l *linear) centredAt(i uint32) bool { return l.c[i].mean != 0 }

// rescale changes the scale of an uncentred coordinate and keeps the function that
// the weights, past and present, compute.
func (l *linear) rescale(i uint32, inv float64) {
	c := &l.c[i]
	if c.v != 0 || c.u != 0 {
		ratio := c.inv / inv
		l.norm2 = max(0, l.norm2+float64((float64(ratio*ratio)-1)*c.v*c.v))
		c.v *= ratio
		c.u *= ratio
		if l.acc != nil {
			l.acc[i] *= ratio
		}
	}
	c.inv = inv
}

// dots holds the inner products of a row with the state, in scaled units.
type dots struct {
	v  float64 // ⟨v - κm, x̂⟩
	m  float64 // ⟨m, x̃⟩
	x2 float64 // ‖x̂‖²
}

// dot computes the inner products of one row in one pass over its entries.
func (l *linear) dot(index []uint32, value []float32) dots {
	var dv, dm, x2 float64
	value = value[:len(index)]
	if !l.centred {
		for j, i := range index {
			c := &l.c[i]
			x := float64(value[j]) * c.inv
			dv += float64(c.v * x)
			x2 += float64(x * x)
		}
		return dots{v: dv, x2: x2}
	}
	for j, i := range index {
		c := &l.c[i]
		x := float64(value[j]) * c.inv
		dv += float64(c.v * x)
		dm += float64(c.mean * x)
		x2 += float64(x * x)
	}
	return dots{
		v:  dv - l.dotV + float64(l.kappa*(l.mean2-dm)),
		m:  dm,
		x2: max(0, x2-float64(2*dm)+l.mean2),
	}
}

// score is the score of the current iterate.
func (l *linear) score(d dots) float64 { return float64(l.scale*d.v) + float64(l.bias*l.biasFeature) }

// accumulate adds the current iterate to the average with weight c.
func (l *linear) accumulate(c float64) {
	l.sumScale += float64(c * l.scale)
	l.omega += c
	l.biasSum += float64(c * l.bias)
}

// decay multiplies the weights, not the intercept, by f. The inner products d are those of
// the row about to be added, and are kept right through a rebase.
func (l *linear) decay(f float64, d *dots) {
	if f <= 0 {
		l.flush()
		for i := range l.c {
			l.c[i].v = 0
		}
		l.kappa, l.dotV, l.norm2, l.scale = 0, 0, 0, 1
		d.v = 0
		return
	}
	l.scale *= f
	if l.scale < rebaseBelow {
		d.v *= l.rebase()
	}
}

// add adds c·x̂ to the weights and c·x_b to the intercept's weight, then projects on the ball.
func (l *linear) add(index []uint32, value []float32, d dots, c float64) {
	e := c / l.scale
	l.norm2 = max(0, l.norm2+float64(2*e*d.v)+float64(e*e*d.x2))
	se := float64(l.sumScale * e)
	value = value[:len(index)]
	for j, i := range index {
		k := &l.c[i]
		x := float64(value[j]) * k.inv
		k.v += float64(e * x)
		k.u += float64(se * x)
	}
	if l.centred {
		l.kappa += e
		l.nu += se
		l.dotV += float64(e * d.m)
		l.dotU += float64(se * d.m)
	}
	l.bias += float64(c * l.biasFeature)
	if l.scale*l.scale*l.norm2 > l.radius*l.radius {
		l.scale = l.radius / math.Sqrt(l.norm2)
		if l.scale < rebaseBelow {
			l.rebase()
		}
	}
}

// flush moves S·v - u into acc and empties S and u.
func (l *linear) flush() {
	if l.acc == nil {
		l.acc = make([]float64, len(l.c))
	}
	for i := range l.c {
		c := &l.c[i]
		l.acc[i] += float64(l.sumScale*c.v) - c.u
		c.u = 0
	}
	l.accKappa += float64(l.sumScale*l.kappa) - l.nu
	l.dotAcc += float64(l.sumScale*l.dotV) - l.dotU
	l.nu, l.dotU, l.sumScale = 0, 0, 0
}

// rebase renews the representation with scale 1 and returns the factor that inner products with v gain.
func (l *linear) rebase() float64 {
	l.flush()
	s := l.scale
	for i := range l.c {
		l.c[i].v *= s
	}
	l.kappa *= s
	l.scale = 1
	l.refresh()
	return s
}

// refresh recomputes the running inner products from the coordinates, which rids them of accumulated
// rounding. O(d); called at the end of every pass.
func (l *linear) refresh() {
	var n2, dv, du float64
	for i := range l.c {
		c := &l.c[i]
		w := c.v - float64(l.kappa*c.mean)
		n2 += float64(w * w)
		dv += float64(c.v * c.mean)
		du += float64(c.u * c.mean)
	}
	l.norm2, l.dotV, l.dotU = n2, dv, du
}

// resetAverage forgets the past iterates and keeps the current one.
func (l *linear) resetAverage() {
	clear(l.acc)
	for i := range l.c {
		l.c[i].u = 0
	}
	l.sumScale, l.omega, l.biasSum = 0, 0, 0
	l.nu, l.dotU, l.accKappa, l.dotAcc = 0, 0, 0, 0
}

// averaged returns the average iterate in standardised units; with no
// iterate accumulated it is the current one.
func (l *linear) averaged() point {
	w := make([]float64, len(l.c))
	if l.omega == 0 {
		for i := range l.c {
			w[i] = l.scale * (l.c[i].v - float64(l.kappa*l.c[i].mean))
		}
		return point{w: w, bias: l.bias}
	}
	k := l.accKappa + float64(l.sumScale*l.kappa) - l.nu
	for i := range l.c {
		c := &l.c[i]
		a := float64(l.sumScale*c.v) - c.u - float64(k*c.mean)
		if l.acc != nil {
			a += l.acc[i]
		}
		w[i] = a / l.omega
	}
	return point{w: w, bias: l.biasSum / l.omega}
}

// averagedScore is the score of the average iterate, of the current one with no iterate accumulated, in O(nnz). Features beyond the
// dimension count as absent.
func (l *linear) averagedScore(index []uint32, value []float32) float64 {
	// The model is (f·v - u + acc - k·m)/norm in scaled units, with the inner product dot of its first three terms with m.
	f, k, dot, bias, norm := l.scale, float64(l.scale*l.kappa), float64(l.scale*l.dotV), l.bias, 1.0
	acc, past := l.acc, 1.0
	if l.omega != 0 {
		f, k = l.sumScale, l.accKappa+float64(l.sumScale*l.kappa)-l.nu
		dot, bias, norm = l.dotAcc+float64(l.sumScale*l.dotV)-l.dotU, l.biasSum, l.omega
	} else {
		acc, past = nil, 0
	}
	var da, dm float64
	for j, i := range index {
		if int(i) >= len(l.c) {
			continue
		}
		c := &l.c[i]
		x := float64(value[j]) * c.inv
		a := float64(f*c.v) - float64(past*c.u)
		if acc != nil {
			a += acc[i]
		}
		da += float64(a * x)
		dm += float64(c.mean * x)
	}
	if l.centred {
		da += float64(k*(l.mean2-dm)) - dot
	}
	return (da + float64(bias*l.biasFeature)) / norm
}

// assign makes m, a model on raw features, the current iterate. The average is not touched, so it must be about to be reset.
func (l *linear) assign(m Linear) {
	bias := m.Intercept
	for i := range l.c {
		c := &l.c[i]
		c.v = 0
		if i < len(m.Weights) {
			c.v = m.Weights[i] / c.inv
		}
		bias += float64(c.v * c.mean)
	}
	l.kappa, l.scale, l.bias = 0, 1, 0
	if l.biasFeature != 0 {
		l.bias = bias / l.biasFeature
	}
	l.refresh()
}

// point is a linear model in standardised units.
type point struct {
	w    []float64
	bias float64
}

// model turns a point into weights on raw features: w_i/σ_i and intercept b·x_b - Σ w_i μ_i/σ_i.
func (l *linear) model(p point) Linear {
	out := Linear{Weights: make([]float64, len(p.w))}
	var shift float64
	for i, w := range p.w {
		out.Weights[i] = w * l.c[i].inv
		shift += float64(w * l.c[i].mean)
	}
	out.Intercept = float64(p.bias*l.biasFeature) - shift
	return out
}

// diverged reports whether the state has left the range in which it means anything.
func (l *linear) diverged(z float64) bool {
	return !(math.Abs(z) < 1e150) || !(l.scale*l.scale*l.norm2 < 1e300)
}

// Linear is a linear classifier on raw features: the score of x is ⟨Weights, x⟩ + Intercept, and
// the label is positive when the score exceeds Threshold, strictly.
type Linear struct {
	Weights   []float64
	Intercept float64
	Threshold float64
}

// Score is the score of a sparse row; entries beyond the model's dimension count as absent. O(nnz).
func (m *Linear) Score(index []uint32, value []float32) float64 {
	z := m.Intercept
	for j, i := range index {
		if int(i) < len(m.Weights) {
			z += float64(m.Weights[i] * float64(value[j]))
		}
	}
	return z
}

// clone returns a copy that shares nothing.
func (m Linear) clone() Linear {
	m.Weights = slices.Clone(m.Weights)
	return m
}

// Predict reports whether the score of the row exceeds the threshold.
func (m *Linear) Predict(index []uint32, value []float32) bool {
	return m.Score(index, value) > m.Threshold
}
