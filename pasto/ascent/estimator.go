package ascent

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
)

// Estimator is a form of V̂, the running estimate of μ (spec 3). With w = ω_q·1{i_q = k}/p_{t,k}
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
	kind     estimatorKind
	param    float64
	baseline []float64
}

type estimatorKind int

const (
	kindIPW estimatorKind = iota + 1
	kindDR
	kindClipped
	kindIX
	kindSNIPS
	kindMeans
	kindDiscountedIPW
	kindDiscountedMeans
	kindWindow
)

// IPW is the importance-weighted average of the paper (eq. 5, line 5 of Algorithm 1): V̂_t =
// (n_0·U_0 + Σ_s Û_s)/(n_0 + t). With n_0 = 1 it is V̂_t = t/(t+1)·V̂_{t−1} + Û_t/(t+1), with n_0 =
// 0 the plain mean of eq. (6) (erratum E5).
func IPW() Estimator { return Estimator{kind: kindIPW} }

// DoublyRobust averages m_k + 1{i_s = k}·(û_s − m_k)/p_{s,k}, where m_k is the arm's mean before
// round s.
func DoublyRobust() Estimator { return Estimator{kind: kindDR} }

// Clipped is [IPW] with weights min(1/p, wmax).
func Clipped(wmax float64) Estimator { return Estimator{kind: kindClipped, param: wmax} }

// ImplicitExploration is [IPW] with weights 1/(p + zeta) (IX).
func ImplicitExploration(zeta float64) Estimator { return Estimator{kind: kindIX, param: zeta} }

// SelfNormalized is Σwû/Σw for each arm (SNIPS).
func SelfNormalized() Estimator { return Estimator{kind: kindSNIPS} }

// ArmMeans is the mean of the arm's groups, by size: no propensities at all.
func ArmMeans() Estimator { return Estimator{kind: kindMeans} }

// DiscountedIPW is V̂ ← (1−ρ)·V̂ + ρ·Û, a window of about 1/ρ rounds.
func DiscountedIPW(rho float64) Estimator { return Estimator{kind: kindDiscountedIPW, param: rho} }

// DiscountedMeans is [ArmMeans] where an observation counts (1−ρ)^age.
func DiscountedMeans(rho float64) Estimator { return Estimator{kind: kindDiscountedMeans, param: rho} }

// WindowMeans is [ArmMeans] over the last rounds. An arm that was not served in them keeps its last
// mean. Memory is that of the window's observations.
func WindowMeans(rounds int) Estimator { return Estimator{kind: kindWindow, param: float64(rounds)} }

// Centred applies the importance weights to û − b, for the baseline's metrics b; for IPW, Clipped,
// ImplicitExploration and DiscountedIPW. It is mandatory where |μ| is much larger than the
// differences between arms.
func (e Estimator) Centred(b []float64) Estimator {
	e.baseline = append([]float64(nil), b...)
	return e
}

// String describes the estimator in one line.
func (e Estimator) String() string {
	name := [...]string{
		"none", "ipw", "doubly-robust", "clipped", "ix", "snips", "arm-means", "discounted-ipw",
		"discounted-means", "window-means",
	}[e.kind]
	if e.param != 0 {
		name = fmt.Sprintf("%s(%v)", name, e.param)
	}
	if e.baseline != nil {
		name = fmt.Sprintf("%s-%v", name, e.baseline)
	}
	return name
}

func (e Estimator) validate(metrics int) error {
	switch e.kind {
	case 0:
		return noregret.BadInputf("estimator", "the zero Estimator is none; make one with IPW, ArmMeans, ...")
	case kindClipped:
		if !(e.param >= 1) {
			return noregret.BadInputf("estimator", "%v: want a largest weight of at least 1", e)
		}
	case kindIX:
		if !(e.param >= 0) || math.IsInf(e.param, 1) {
			return noregret.BadInputf("estimator", "%v: want a finite ζ, at least 0", e)
		}
	case kindDiscountedIPW, kindDiscountedMeans:
		if !(e.param > 0 && e.param <= 1) {
			return noregret.BadInputf("estimator", "%v: want ρ in (0, 1]", e)
		}
	case kindWindow:
		if !(e.param >= 1 && e.param <= 1e9) {
			return noregret.BadInputf("estimator", "%v: want a window of 1 to 1e9 rounds", e)
		}
	}
	if e.baseline != nil {
		switch e.kind {
		case kindIPW, kindClipped, kindIX, kindDiscountedIPW:
		default:
			return noregret.BadInputf("estimator", "%v: a baseline is for importance-weighted sums", e)
		}
		return check.Vector("baseline", e.baseline, metrics)
	}
	return nil
}

// estimate is the state of V̂. In all forms V̂_k = Base_k + Scale_k·Sum_k, where Base is the
// baseline or, for doubly robust, the arm means.
type estimate struct {
	form Estimator
	k, m int
	s    estimateState
}

type estimateState struct {
	N0     float64
	T      int       // rounds seen
	Sum    []float64 // K·M
	Base   []float64 // K·M, doubly robust only
	Weight []float64 // K: Σw, Σsize or the discounted count
	Last   []int     // K: round of the last change, for lazy discounts and doubly robust
	Start  []int     // K: the round after which the arm came (its own clock)
	Scale  float64   // discounted IPW: V̂ = Scale·Sum
	Ring   []windowRound
	Count  []int // window: groups of the arm inside it
}

type windowRound struct {
	Arms   []int
	Sizes  []float64
	Values []float64
}

// leastScale is the scale below which it is folded into the sums.
const leastScale = 1e-100

// newEstimate starts at U_0 (nil: 0), which counts as n0 observations.
func newEstimate(form Estimator, arms, metrics int, u0 *pasto.Table, n0 float64) *estimate {
	e := &estimate{form: form, k: arms, m: metrics}
	e.s = estimateState{
		N0: n0, Sum: make([]float64, arms*metrics), Weight: make([]float64, arms),
		Last: make([]int, arms), Start: make([]int, arms), Scale: 1,
	}
	if form.kind == kindDR {
		e.s.Base = make([]float64, arms*metrics)
	}
	if form.kind == kindWindow {
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

// start sets arm k to U_0 = row, with its clock at the present round.
func (e *estimate) start(k int, row []float64) {
	e.s.Start[k], e.s.Last[k] = e.s.T, e.s.T
	e.s.Weight[k] = e.s.N0
	if e.form.kind == kindWindow {
		e.s.Weight[k] = 0 // U_0 stands until the first observation
	}
	for m := range e.m {
		u := 0.0
		if row != nil {
			u = row[m]
		}
		switch i := k*e.m + m; e.form.kind {
		case kindMeans, kindDiscountedMeans, kindSNIPS, kindWindow: // Sum holds V̂ itself
			e.s.Sum[i] = u
		case kindDR: // V̂ = Base + Sum/(n_0 + t): U_0 is the first model
			e.s.Base[i] = u
			e.s.Sum[i] = 0
		case kindDiscountedIPW:
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
	switch e.form.kind {
	case kindMeans, kindDiscountedMeans, kindSNIPS, kindWindow:
		return 1
	case kindDiscountedIPW:
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
		c := float64(w * e.scale(k))
		for m, v := range e.s.Sum[k*e.m : (k+1)*e.m] {
			theta[m] += float64(c * v)
		}
		if e.s.Base != nil {
			for m, v := range e.s.Base[k*e.m : (k+1)*e.m] {
				theta[m] += float64(w * v)
			}
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
	for k := range g {
		v := 0.0
		for m, s := range e.s.Sum[k*e.m : (k+1)*e.m] {
			v += float64(s * d[m])
		}
		v = float64(v * e.scale(k))
		if e.s.Base != nil {
			for m, s := range e.s.Base[k*e.m : (k+1)*e.m] {
				v += float64(s * d[m])
			}
		}
		g[k] = v + constant
	}
}

// add takes in a round that has been checked: its distribution p and Σ of the sizes (0: equal
// groups).
func (e *estimate) add(p []float64, obs []pasto.Observation, total float64) {
	e.s.T++
	switch e.form.kind {
	case kindDiscountedIPW:
		e.discount()
	case kindWindow:
		e.slide(obs)
		return
	}
	for i := range obs {
		o := &obs[i]
		omega := 1 / float64(len(obs))
		size := 1.0
		if total > 0 {
			omega, size = o.Size/total, o.Size
		}
		switch e.form.kind {
		case kindMeans, kindDiscountedMeans:
			e.blend(o, size)
		case kindSNIPS:
			e.blend(o, omega/p[o.Arm])
		case kindDR:
			e.robust(p, obs, i, omega, size)
		default:
			e.weigh(o, omega, p[o.Arm])
		}
	}
}

// weigh adds ω·weight·(û − b) to the sum.
func (e *estimate) weigh(o *pasto.Observation, omega, p float64) {
	w := 1 / p
	switch e.form.kind {
	case kindClipped:
		w = min(w, e.form.param)
	case kindIX:
		w = 1 / (p + e.form.param)
	case kindDiscountedIPW:
		w = float64(e.form.param/e.s.Scale) * w
	}
	w *= omega
	row := e.s.Sum[o.Arm*e.m : (o.Arm+1)*e.m]
	for m, v := range o.Metrics {
		row[m] += float64(w * (v - e.base(m)))
	}
}

// discount scales the sum by 1 − ρ.
func (e *estimate) discount() {
	e.s.Scale *= 1 - e.form.param
	if e.s.Scale < leastScale { // fold the scale in before it underflows
		for i := range e.s.Sum {
			e.s.Sum[i] *= e.s.Scale
		}
		e.s.Scale = 1
	}
}

// blend moves the arm's mean towards û with weight w.
func (e *estimate) blend(o *pasto.Observation, w float64) {
	k := o.Arm
	n := e.s.Weight[k]
	if e.form.kind == kindDiscountedMeans {
		if age := e.s.T - e.s.Last[k]; age > 0 && n > 0 {
			if e.form.param == 1 {
				n = 0
			} else {
				n *= portable.Exp(float64(float64(age) * portable.Log1p(-e.form.param)))
			}
		}
		e.s.Last[k] = e.s.T
	}
	n += w
	e.s.Weight[k] = n
	if n == 0 {
		return
	}
	share := w / n
	row := e.s.Sum[k*e.m : (k+1)*e.m]
	for m, v := range o.Metrics {
		row[m] += float64(share * (v - row[m]))
	}
}

// robust adds ω·(û − m)/p with the model m of before the round, and moves m once the arm's last
// group is in: V̂·(n_0+t) is m·(n_0+t) + Sum, so that a change of m by δ at round t takes δ·(n_0+t)
// off the sum of all rounds up to t.
func (e *estimate) robust(p []float64, obs []pasto.Observation, i int, omega, _ float64) {
	o := &obs[i]
	k := o.Arm
	sum, base := e.s.Sum[k*e.m:(k+1)*e.m], e.s.Base[k*e.m:(k+1)*e.m]
	w := omega / p[k]
	for m, v := range o.Metrics {
		sum[m] += float64(w * (v - base[m]))
	}
	for j := i + 1; j < len(obs); j++ {
		if obs[j].Arm == k {
			return
		}
	}
	rounds := e.s.N0 + float64(e.s.T-e.s.Start[k])
	for j := range obs {
		if obs[j].Arm != k {
			continue
		}
		size := 1.0
		if obs[j].Size > 0 {
			size = obs[j].Size
		}
		e.s.Weight[k] += size
		share := size / e.s.Weight[k]
		for m, v := range obs[j].Metrics {
			step := float64(share * (v - base[m]))
			base[m] += step
			sum[m] -= float64(step * rounds)
		}
	}
}

// slide takes the oldest round out of the window and the new one in, and recomputes the means of
// the arms of either.
func (e *estimate) slide(obs []pasto.Observation) {
	n := len(e.s.Ring)
	slot := &e.s.Ring[(e.s.T-1)%n]
	for i, k := range slot.Arms {
		w := slot.Sizes[i]
		e.s.Count[k]--
		rest := e.s.Weight[k] - w
		if e.s.Count[k] > 0 && rest > 0 {
			row := e.s.Sum[k*e.m : (k+1)*e.m]
			for m := range row {
				row[m] -= float64(w / rest * (slot.Values[i*e.m+m] - row[m]))
			}
		} else {
			rest = 0
		}
		e.s.Weight[k] = rest
	}
	slot.Arms, slot.Sizes, slot.Values = slot.Arms[:0], slot.Sizes[:0], slot.Values[:0]
	for i := range obs {
		o := &obs[i]
		size := 1.0
		if o.Size > 0 {
			size = o.Size
		}
		slot.Arms = append(slot.Arms, o.Arm)
		slot.Sizes = append(slot.Sizes, size)
		slot.Values = append(slot.Values, o.Metrics...)
		e.s.Count[o.Arm]++
		e.blend(o, size)
	}
	if e.s.T%n == 0 {
		e.refresh()
	}
}

// refresh recomputes the window's means from its observations, so that rounding does not pile up.
func (e *estimate) refresh() {
	for k := range e.k {
		if e.s.Count[k] > 0 {
			e.s.Weight[k] = 0
		}
	}
	for r := range e.s.Ring {
		slot := &e.s.Ring[r]
		for i, k := range slot.Arms {
			e.blend(&pasto.Observation{Arm: k, Metrics: slot.Values[i*e.m : (i+1)*e.m]}, slot.Sizes[i])
		}
	}
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
