package ascent

import (
	"fmt"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
)

// Estimator is a form of V̂, the running estimate of μ. With w = ω_q·1{i_q = k}/p_{t,k}
// the importance weight of group q, Û_t has column k = Σ_q w·û_q and E[Û_t] = μ for any p_t > 0: an
// arm drawn twice has twice the weight. Make one with the functions below.
//
//	form                bias                      noise, seldom served    use
//	IPW                 0 (n0 = 0)                (σ²+μ²)/p               paper's; unstable, many arms
//	Centred             0                         (σ²+(μ−b)²)/p           means far from 0
//	DoublyRobust        0 (n0 = 0)                σ²/p and more           means far from 0, unknown b
//	Clipped(w)          towards b, 1 − min(1, wp) at most w·(σ²+μ²)       many arms; w ≈ 10·K
//	ImplicitExploration towards b, ζ/(p + ζ)      at most (σ²+μ²)/4ζ      the same, smoother
//	SelfNormalized      O(1/n)                    σ²/p                    bounded by the data's range
//	ArmMeans            small, adaptive draws     σ²/n                    many arms; few: explore
//	Discounted*         lags by 1/ρ rounds        as above, 1/ρ rounds    drift
//	WindowMeans(n)      lags by n rounds          σ²/n of the window      drift
type Estimator struct {
	form     *form
	param    float64
	baseline []float64
}

// form holds what differs between estimators.
type form struct {
	name string
	// centred reports whether a baseline is allowed.
	centred bool
	// direct reports whether the sum holds V̂ itself.
	direct bool
	// check returns the allowed range if the parameter is outside it. It is nil without a
	// parameter.
	check func(param float64) string
	// add adds group i of a round, which has the share ω of the round's size.
	add func(e *estimate, r *roundOf, i int, omega, size float64)
}

// roundOf is a round: the distribution served and its observations.
type roundOf struct {
	p   []float64
	obs []pasto.Observation
}

// Centred applies the importance weights to û − b, for metrics b of a baseline. It is for IPW,
// Clipped, ImplicitExploration and DiscountedIPW, and needed if |μ| is much larger than the
// differences between arms.
func (e Estimator) Centred(b []float64) Estimator {
	e.baseline = append([]float64(nil), b...)
	return e
}

// String describes the estimator in one line.
func (e Estimator) String() string {
	if e.form == nil {
		return "none"
	}
	name := e.form.name
	if e.param != 0 {
		name = fmt.Sprintf("%s(%v)", name, e.param)
	}
	if e.baseline != nil {
		name = fmt.Sprintf("%s-%v", name, e.baseline)
	}
	return name
}

func (e Estimator) validate(metrics int) error {
	if e.form == nil {
		return noregret.BadInputf("estimator", "no estimator: make one with IPW, ArmMeans or another function")
	}
	if e.form.check != nil {
		if want := e.form.check(e.param); want != "" {
			return noregret.BadInputf("estimator", "%v: want %s", e, want)
		}
	}
	if e.baseline == nil {
		return nil
	}
	if !e.form.centred {
		return noregret.BadInputf("estimator", "%v: only importance-weighted sums take a baseline", e)
	}
	return check.Vector("baseline", e.baseline, metrics)
}

// estimate is the state of V̂. In all forms V̂_k = Base_k + Scale_k·Sum_k, where Base is the
// baseline or, for doubly robust, the arm means.
type estimate struct {
	form  Estimator
	k, m  int
	s     estimateState
	round roundOf
}

type estimateState struct {
	N0     float64
	T      int       // rounds seen
	Sum    []float64 // K·M
	Base   []float64 // K·M, doubly robust only
	Weight []float64 // K: Σw, Σsize or the discounted count
	Last   []int     // K: round of the last change, for lazy discounts and doubly robust
	Start  []int     // K: the round after which the arm was added
	Scale  float64   // discounted IPW: V̂ = Scale·Sum
	Ring   []windowRound
	Count  []int // window: groups of the arm inside it
}

// newEstimate starts at U_0 (nil: 0), which counts as n0 observations.
func newEstimate(form Estimator, arms, metrics int, u0 *pasto.Table, n0 float64) *estimate {
	e := &estimate{form: form, k: arms, m: metrics}
	e.s = estimateState{
		N0: n0, Sum: make([]float64, arms*metrics), Weight: make([]float64, arms),
		Last: make([]int, arms), Start: make([]int, arms), Scale: 1,
	}
	if form.form == &formRobust {
		e.s.Base = make([]float64, arms*metrics)
	}
	if form.form == &formWindow {
		e.s.Ring = make([]windowRound, int(form.param))
		e.s.Count = make([]int, arms)
	}
	for k := range arms {
		var row []float64
		if u0 != nil {
			row = u0.Arm(k)
		}
		e.start(k, row)
	}
	return e
}

// start sets arm k to U_0 = row; its rounds count from the present one.
func (e *estimate) start(k int, row []float64) {
	e.s.Start[k], e.s.Last[k] = e.s.T, e.s.T
	e.s.Weight[k] = e.s.N0
	if e.form.form == &formWindow {
		e.s.Weight[k] = 0 // U_0 stands until the first observation
	}
	for m := range e.m {
		u := 0.0
		if row != nil {
			u = row[m]
		}
		switch i := k*e.m + m; {
		case e.form.form.direct:
			e.s.Sum[i] = u
		case e.form.form == &formRobust: // V̂ = Base + Sum/(n_0 + t): U_0 is the first model
			e.s.Base[i] = u
			e.s.Sum[i] = 0
		case e.form.form == &formDiscountedIPW:
			e.s.Sum[i] = (u - e.base(m)) / e.s.Scale
		default:
			e.s.Sum[i] = float64(e.s.N0 * (u - e.base(m)))
		}
	}
}

func (e *estimate) base(m int) float64 {
	if e.form.baseline == nil {
		return 0
	}
	return e.form.baseline[m]
}

// scale is the factor of Sum for arm k.
func (e *estimate) scale(k int) float64 {
	switch f := e.form.form; {
	case f.direct:
		return 1
	case f == &formDiscountedIPW:
		return e.s.Scale
	}
	n := e.s.N0 + float64(e.s.T-e.s.Start[k])
	if n == 0 {
		return 0
	}
	return 1 / n
}

// value is V̂_{k,m}.
func (e *estimate) value(k, m int) float64 {
	v := e.base(m) + float64(e.scale(k)*e.s.Sum[k*e.m+m])
	if e.s.Base != nil {
		v += e.s.Base[k*e.m+m]
	}
	return v
}

// observed reports whether V̂_k rests on an observation or a starting value that counts as one.
func (e *estimate) observed(k int) bool { return e.s.Weight[k] > 0 }

// table writes V̂.
func (e *estimate) table(dst *pasto.Table) {
	for k := range e.k {
		for m := range e.m {
			dst.Arm(k)[m] = e.value(k, m)
		}
	}
}

// mean writes θ = V̂p.
func (e *estimate) mean(theta, p []float64) {
	clear(theta)
	for k, w := range p {
		if w == 0 {
			continue
		}
		vec.AddScaled(theta, float64(w*e.scale(k)), e.s.Sum[k*e.m:(k+1)*e.m])
		if e.s.Base != nil {
			vec.AddScaled(theta, w, e.s.Base[k*e.m:(k+1)*e.m])
		}
	}
	for m, b := range e.form.baseline {
		theta[m] += b
	}
}

// scores writes g = V̂ᵀd.
func (e *estimate) scores(g, d []float64) {
	constant := 0.0
	for m, b := range e.form.baseline {
		constant += float64(b * d[m])
	}
	products(g, e.s.Sum, d)
	for k, v := range g {
		v = float64(v * e.scale(k))
		if e.s.Base != nil {
			for m, s := range e.s.Base[k*e.m : (k+1)*e.m] {
				v += float64(s * d[m])
			}
		}
		g[k] = v + constant
	}
}

// products writes the inner products of d with the rows of a, each summed from the first term to
// the last. It works on four rows at once, as the terms of one must wait for each other.
func products(dst, a, d []float64) {
	m, k := len(d), 0
	for ; k+4 <= len(dst); k += 4 {
		a0, a1 := a[k*m:(k+1)*m:(k+1)*m], a[(k+1)*m:(k+2)*m:(k+2)*m]
		a2, a3 := a[(k+2)*m:(k+3)*m:(k+3)*m], a[(k+3)*m:(k+4)*m:(k+4)*m]
		var v0, v1, v2, v3 float64
		for i, w := range d {
			v0 += float64(a0[i] * w)
			v1 += float64(a1[i] * w)
			v2 += float64(a2[i] * w)
			v3 += float64(a3[i] * w)
		}
		dst[k], dst[k+1], dst[k+2], dst[k+3] = v0, v1, v2, v3
	}
	for ; k < len(dst); k++ {
		v := 0.0
		for i, w := range d {
			v += float64(a[k*m+i] * w)
		}
		dst[k] = v
	}
}

// add adds a checked round with distribution p. Total is the sum of the sizes, 0 for equal groups.
func (e *estimate) add(p []float64, obs []pasto.Observation, total float64) {
	e.s.T++
	switch e.form.form {
	case &formDiscountedIPW:
		e.discount()
	case &formWindow:
		e.slide(obs)
		return
	}
	e.round = roundOf{p, obs}
	for i := range obs {
		omega, size := 1/float64(len(obs)), 1.0
		if total > 0 {
			omega, size = obs[i].Size/total, obs[i].Size
		}
		e.form.form.add(e, &e.round, i, omega, size)
	}
	e.round = roundOf{}
}

// grow adds an arm.
func (e *estimate) grow(u0 []float64) {
	e.s.Sum = append(e.s.Sum, make([]float64, e.m)...)
	e.s.Weight, e.s.Last, e.s.Start = append(e.s.Weight, 0), append(e.s.Last, 0), append(e.s.Start, 0)
	if e.s.Base != nil {
		e.s.Base = append(e.s.Base, make([]float64, e.m)...)
	}
	if e.s.Count != nil {
		e.s.Count = append(e.s.Count, 0)
	}
	e.k++
	e.start(e.k-1, u0)
}
