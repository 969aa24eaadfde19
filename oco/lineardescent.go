package oco

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
)

// coordinate holds everything that an update of one coordinate reads or writes, contiguously for
// the cache.
type coordinate struct {
	v    float64 // weights are scale·(v - kappa·mean)
	u    float64 // part of the running average, see LinearDescent
	inv  float64 // 1/σ: a feature value x enters as x·inv
	mean float64 // μ/σ: and is centred by it
}

// LinearDescent is projected subgradient descent with online-to-batch averaging for losses φ(z) of
// linear predictions z = ⟨w, x̂⟩ + b·x_b on sparse rows x: in O(nnz) a round what
// [SubgradientDescent] on a ball with [Averaging] does in O(d), exactly up to rounding. Features
// are standardised on the way, x̂ = (x − μ)/σ, which centres them without making rows dense. It is
// the engine of package classify, whose learners choose the steps:
//
//	d := l.Products(index, value)   // once a row
//	z := l.Score(d)                 // the prediction
//	l.Accumulate(1)                 // the iterate's weight in the average
//	l.Step(index, value, d, −η·φ'(z))
//
// The caller has checked its rows: indices are ascending, unique and below Dim, values finite. It
// allocates nothing per round; memory is O(d). It is not safe for concurrent use.
//
// The weights are w = s·(v - κm), where m = μ/σ is the centre in scaled units: adding e·x̂ = e·(x̃
// - m) to w/s costs a sparse update of v and one of the scalar κ. The average keeps S = Σ c_τ s_τ
// since the last rebase and u with the invariant
//
//	Σ_τ c_τ w_τ = (acc - accKappa·m) + S·(v - κm) - (u - νm).
//
// Decay and projection on a ball change s alone. When s falls below 1e-4 the representation
// is rebased in O(d), which keeps all numbers in range. Rounding grows with ‖m‖²: a
// column k standard deviations away from 0 costs about 2·log₁₀k of the sixteen digits.
type LinearDescent struct {
	c   []coordinate
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

	squares     []float64 // Σg² of every coordinate, nil before the first adaptive step
	biasSquares float64
	centres     []uint32 // the centred coordinates, ascending
	overflown   bool     // an adaptive step or a bet was out of range

	stakes    []Stake // of the coordinates, those after the last that has bet left out
	biasStake Stake
	risen     float64 // the iterates that AccumulateRising has added
}

// rebaseBelow is the scale below which the vectors are rebased.
const rebaseBelow = 1e-4

// NewLinearDescent starts at 0 in dimension dim, which may grow, with identity standardisation. The
// constant feature's value is biasFeature, 0 for no intercept; radius is that of the L₂ ball around
// 0 for w, the intercept not included, +Inf for none.
func NewLinearDescent(dim int, biasFeature, radius float64) (*LinearDescent, error) {
	switch {
	case dim < 0:
		return nil, noregret.BadInputf("dimension", "%d: want at least 0", dim)
	case !vec.IsFinite(biasFeature):
		return nil, noregret.BadInputf("bias feature", "%v: want a finite number", biasFeature)
	case !(radius > 0):
		return nil, noregret.BadInputf("radius", "%v: want a number above 0", radius)
	}
	l := &LinearDescent{scale: 1, biasFeature: biasFeature, radius: radius}
	l.Grow(dim)
	return l, nil
}

// Dim is the number of coordinates.
func (l *LinearDescent) Dim() int { return len(l.c) }

// BiasFeature is x_b, the value of the constant feature.
func (l *LinearDescent) BiasFeature() float64 { return l.biasFeature }

// Bias is b, the weight of the constant feature.
func (l *LinearDescent) Bias() float64 { return l.bias }

// Weight is coordinate i of the current iterate, in standardised units.
func (l *LinearDescent) Weight(i int) float64 {
	c := &l.c[i]
	return l.scale * (c.v - float64(l.kappa*c.mean))
}

// Norm is ‖w‖₂ of the current iterate, maintained incrementally.
func (l *LinearDescent) Norm() float64 { return l.scale * math.Sqrt(l.norm2) }

// Standard is the standardisation of coordinate i: x̂_i = x_i·inverse − mean.
func (l *LinearDescent) Standard(i int) (inverse, mean float64) { return l.c[i].inv, l.c[i].mean }

// Grow adds coordinates of weight 0 and scale 1 until there are dim. That is exact: past iterates
// had weight 0 there.
func (l *LinearDescent) Grow(dim int) {
	for len(l.c) < dim {
		l.c = append(l.c, coordinate{inv: 1})
	}
	if l.acc != nil {
		for len(l.acc) < dim {
			l.acc = append(l.acc, 0)
		}
	}
	if l.squares != nil {
		for len(l.squares) < dim {
			l.squares = append(l.squares, 0)
		}
	}
}

// Standardize sets μ and 1/σ of the first coordinates, from slices of equal length. Other
// coordinates are not standardized. It must be called before the first step.
func (l *LinearDescent) Standardize(center, inverse []float64) {
	l.Grow(len(inverse))
	l.centred, l.mean2 = false, 0
	for i := range l.c {
		c := &l.c[i]
		c.inv, c.mean = 1, 0
		if i < len(inverse) {
			c.inv, c.mean = inverse[i], center[i]*inverse[i]
		}
	}
	l.findCentres()
}

// findCentres computes the values that depend on the coordinates' means.
func (l *LinearDescent) findCentres() {
	l.centred, l.mean2, l.centres = false, 0, l.centres[:0]
	for i := range l.c {
		if m := l.c[i].mean; m != 0 {
			l.centred = true
			l.mean2 += float64(m * m)
			l.centres = append(l.centres, uint32(i))
		}
	}
}

// Centred reports whether a coordinate is centred.
func (l *LinearDescent) Centred(i uint32) bool { return l.c[i].mean != 0 }

// Rescale changes the scale of an uncentred coordinate and keeps the function that
// the weights, past and present, compute.
func (l *LinearDescent) Rescale(i uint32, inv float64) {
	c := &l.c[i]
	ratio := c.inv / inv
	if c.v != 0 || c.u != 0 {
		l.norm2 = max(0, l.norm2+float64((float64(ratio*ratio)-1)*c.v*c.v))
		c.v *= ratio
		c.u *= ratio
	}
	if l.acc != nil {
		l.acc[i] *= ratio
	}
	if l.squares != nil {
		l.squares[i] *= float64((inv / c.inv) * (inv / c.inv))
	}
	if int(i) < len(l.stakes) {
		l.stakes[i] = l.stakes[i].rescaled(ratio)
	}
	c.inv = inv
}

// RowProducts are the inner products of a row with the state of a [LinearDescent].
type RowProducts struct {
	v float64 // ⟨v - κm, x̂⟩
	m float64 // ⟨m, x̃⟩
}

// Products computes the inner products of one row in one pass over its entries.
func (l *LinearDescent) Products(index []uint32, value []float32) RowProducts {
	var dv, dm float64
	value, all := value[:len(index)], l.c
	if !l.centred {
		for j, i := range index {
			c := &all[i]
			dv += float64(c.v * (float64(value[j]) * c.inv))
		}
		return RowProducts{v: dv}
	}
	for j, i := range index {
		c := &all[i]
		x := float64(value[j]) * c.inv
		dv += float64(c.v * x)
		dm += float64(c.mean * x)
	}
	return RowProducts{v: dv - l.dotV + float64(l.kappa*(l.mean2-dm)), m: dm}
}

// Score is the score of the current iterate.
func (l *LinearDescent) Score(d RowProducts) float64 {
	return float64(l.scale*d.v) + float64(l.bias*l.biasFeature)
}

// Accumulate adds the current iterate to the average with weight c.
func (l *LinearDescent) Accumulate(c float64) {
	l.sumScale += float64(c * l.scale)
	l.omega += c
	l.biasSum += float64(c * l.bias)
}

// Decay multiplies the weights, not the intercept, by f. The inner products d are those of
// the row about to be added, and are kept right through a rebase.
func (l *LinearDescent) Decay(f float64, d *RowProducts) {
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

// Step adds c·x̂ to the weights and c·x_b to the intercept's weight, then projects on the ball.
func (l *LinearDescent) Step(index []uint32, value []float32, d RowProducts, c float64) {
	e := c / l.scale
	se := float64(l.sumScale * e)
	x2 := 0.0 // ‖x̂‖²
	value, all := value[:len(index)], l.c
	for j, i := range index {
		k := &all[i]
		x := float64(value[j]) * k.inv
		k.v += float64(e * x)
		k.u += float64(se * x)
		x2 += float64(x * x)
	}
	x2 = max(0, x2-float64(2*d.m)+l.mean2) // two zeros without centres
	l.norm2 = max(0, l.norm2+float64(2*e*d.v)+float64(e*e*x2))
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

// AdaptiveStep adds AdaGrad's step for the direction c·x̂ to the weights, and for c·x_b to that of
// the intercept: with g_i = c·x̂_i and G_i = Σg_i² so far, this one included,
//
//	w_i ← w_i + rate·g_i/√G_i
//
// (Duchi, Hazan and Singer 2010; see [AdaGrad]). It depends neither on the size of c nor on a
// column's unit, and rare columns learn as fast as frequent ones. There is no ball: use it with a
// radius of +Inf. It costs O(nnz) plus the number of centred coordinates, which move in every row.
// A g_i below 1e-150 counts as 0; one above 1e150 ends the descent, see Diverged.
func (l *LinearDescent) AdaptiveStep(index []uint32, value []float32, c, rate float64) {
	if l.squares == nil {
		l.squares = make([]float64, len(l.c))
	}
	value = value[:len(index)]
	k := 0 // the next centred coordinate
	for j, i := range index {
		for ; k < len(l.centres) && l.centres[k] < i; k++ {
			l.adapt(l.centres[k], 0, c, rate)
		}
		if k < len(l.centres) && l.centres[k] == i {
			k++
		}
		l.adapt(i, float64(value[j]), c, rate)
	}
	for ; k < len(l.centres); k++ {
		l.adapt(l.centres[k], 0, c, rate)
	}
	if g := c * l.biasFeature; math.Abs(g) >= leastGradient {
		if !(math.Abs(g) <= mostGradient) {
			l.overflown = true
			return
		}
		l.biasSquares += float64(g * g)
		l.bias += float64(rate * g / math.Sqrt(l.biasSquares))
	}
}

// Gradients between these have squares, and sums of squares, in the range of float64.
const leastGradient, mostGradient = 1e-150, 1e150

// adapt is the adaptive step of coordinate i at value x.
func (l *LinearDescent) adapt(i uint32, x, c, rate float64) {
	k := &l.c[i]
	g := c * (float64(x*k.inv) - k.mean)
	if !(math.Abs(g) >= leastGradient) {
		return
	}
	if !(math.Abs(g) <= mostGradient) {
		l.overflown = true
		return
	}
	q := l.squares[i] + float64(g*g)
	l.squares[i] = q
	e := rate * g / math.Sqrt(q)
	if l.scale != 1 { // it changes with a decay or a ball only, and a quotient takes time
		e /= l.scale
	}
	l.move(k, e)
}

// flush moves S·v - u into acc and empties S and u.
func (l *LinearDescent) flush() {
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

// rebase changes the representation to scale 1 and returns the factor by which inner products with
// v change.
func (l *LinearDescent) rebase() float64 {
	l.flush()
	s := l.scale
	for i := range l.c {
		l.c[i].v *= s
	}
	l.kappa *= s
	l.scale = 1
	l.Refresh()
	return s
}

// Refresh recomputes the maintained inner products from the coordinates, which removes accumulated
// rounding errors. O(d). Call it at the end of every pass.
func (l *LinearDescent) Refresh() {
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

// ResetAverage removes the past iterates from the average and keeps the current one.
func (l *LinearDescent) ResetAverage() {
	clear(l.acc)
	for i := range l.c {
		l.c[i].u = 0
	}
	l.sumScale, l.omega, l.biasSum, l.risen = 0, 0, 0, 0
	l.nu, l.dotU, l.accKappa, l.dotAcc = 0, 0, 0, 0
}

// Average returns the average iterate in standardised units; with no iterate accumulated it is the
// current one. O(d).
func (l *LinearDescent) Average() (w []float64, bias float64) {
	w = make([]float64, len(l.c))
	if l.omega == 0 {
		for i := range l.c {
			w[i] = l.Weight(i)
		}
		return w, l.bias
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
	return w, l.biasSum / l.omega
}

// AverageScore is the score of the average iterate, of the current one with no iterate accumulated,
// in O(nnz). Features beyond the dimension count as absent.
func (l *LinearDescent) AverageScore(index []uint32, value []float32) float64 {
	// The model is (f·v - u + acc - k·m)/norm in scaled units, with the inner product dot of its
	// first three terms with m.
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

// Assign makes a point on raw features, the inverse of Raw, the current iterate. Weights beyond the
// slice are
// 0. The average does not change, so reset it next. O(d).
func (l *LinearDescent) Assign(weights []float64, intercept float64) {
	bias := intercept
	for i := range l.c {
		c := &l.c[i]
		c.v = 0
		if i < len(weights) {
			c.v = weights[i] / c.inv
		}
		bias += float64(c.v * c.mean)
	}
	l.kappa, l.scale, l.bias = 0, 1, 0
	if l.biasFeature != 0 {
		l.bias = bias / l.biasFeature
	}
	l.Refresh()
}

// Raw turns a point in standardised units into weights on raw features, w_i/σ_i, and the intercept
// b·x_b − Σ w_i μ_i/σ_i. O(d).
func (l *LinearDescent) Raw(w []float64, bias float64) (weights []float64, intercept float64) {
	weights = make([]float64, len(w))
	var shift float64
	for i, v := range w {
		weights[i] = v * l.c[i].inv
		shift += float64(v * l.c[i].mean)
	}
	return weights, float64(bias*l.biasFeature) - shift
}

// Diverged reports whether the score z or the weights are not finite or too large.
func (l *LinearDescent) Diverged(z float64) bool {
	return l.overflown || !(math.Abs(z) < 1e150) || !(l.scale*l.scale*l.norm2 < 1e300)
}
