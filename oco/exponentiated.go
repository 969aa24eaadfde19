package oco

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
)

// ExponentiatedGradient is the exponentiated gradient algorithm, or Hedge (Kivinen and Warmuth
// 1997; Freund and Schapire 1997; Orabona 2019, Algorithm 6.2): mirror descent with negative
// entropy on the simplex and a constant rate,
//
//	x_{t,j} ∝ x_{1,j}·exp(−η·Σ_{i<t} g_{i,j}),
//
// held as a sum of subgradients, so that no weight underflows to 0 for good. The rate must not
// decrease over time: see [NewEntropicFTRL].
//
// Guarantee (Bound), the least of these that applies: KL(u; x_1)/η + (η/2)·Σ‖g_t‖∞², where
// ‖g_t‖∞ may be replaced by half the range max g − min g, as a constant added to g_t changes no
// point; for g ≥ 0 also KL(u; x_1)/η + (η/2)·Σ_t Σ_j g_{t,j}²·x_{t,j} (local norms, section 6.6).
// With ‖g‖∞ ≤ L and η = √(2·ln d/(L²T)) that is √2·L·√(T·ln d), for losses in [0, 1] and
// η = √(8·ln d/T) it is √(T·ln d/2) (the book's constants are corrected here).
//
// A round costs O(d) time; memory is O(d).
type ExponentiatedGradient struct {
	eta      float64
	prior    []float64
	logPrior []float64
	state    hedgeState
	point    []float64
	fresh    bool
	text     string
}

type hedgeState struct {
	Dual     dualSum
	Infinity squares // Σ‖g‖∞²
	Range    squares // Σ(max g − min g)²
	Local    sum     // Σ_t Σ_j g²·x
	Negative bool    // a subgradient had a negative coordinate
}

// NewExponentiatedGradient plays on the simplex of ℝ^d with rate eta. The prior x_1 must be
// nonnegative and sum to 1 within 1e-12; nil is uniform. A coordinate of prior 0 stays 0.
func NewExponentiatedGradient(d int, prior []float64, eta float64) (*ExponentiatedGradient, error) {
	if err := checkDim(d, 5*float64(d)); err != nil {
		return nil, err
	}
	if err := positive("eta", eta); err != nil {
		return nil, err
	}
	p, err := priorOn(d, prior)
	if err != nil {
		return nil, err
	}
	l := &ExponentiatedGradient{eta: eta, prior: p, logPrior: make([]float64, d), point: make([]float64, d)}
	for i, v := range p {
		l.logPrior[i] = math.Inf(-1)
		if v > 0 {
			l.logPrior[i] = portable.Log(v)
		}
	}
	l.state.Dual.Theta = make([]float64, d)
	l.text = fmt.Sprintf("exponentiated-gradient(d=%d, eta=%v, prior=%s)", d, eta, digest(p))
	return l, nil
}

// priorOn returns a copy of a distribution, uniform for nil.
func priorOn(d int, prior []float64) ([]float64, error) {
	if prior == nil {
		p := make([]float64, d)
		for i := range p {
			p[i] = 1 / float64(d)
		}
		return p, nil
	}
	if err := checkFinite("prior", prior, d); err != nil {
		return nil, err
	}
	var s sum
	for i, v := range prior {
		if v < 0 {
			return nil, noregret.BadInputf(fmt.Sprintf("prior[%d]", i), "%v: want a number, at least 0", v)
		}
		s.add(v)
	}
	if math.Abs(s.value()-1) > 1e-12 {
		return nil, noregret.BadInputf("prior", "it sums to %v: want 1 within 1e-12", s.value())
	}
	return slices.Clone(prior), nil
}

// Dim implements [Learner].
func (l *ExponentiatedGradient) Dim() int { return len(l.prior) }

// Rounds implements [Counter].
func (l *ExponentiatedGradient) Rounds() int { return l.state.Dual.T }

// Predict implements [Learner].
func (l *ExponentiatedGradient) Predict() []float64 {
	if !l.fresh {
		for i, v := range l.state.Dual.Theta {
			l.point[i] = l.logPrior[i] + float64(l.eta*v)
		}
		convex.Softmax(l.point, l.point)
		l.fresh = true
	}
	return l.point
}

// Update implements [Learner].
func (l *ExponentiatedGradient) Update(g []float64) error {
	largest, err := l.state.Dual.check(g)
	if err != nil {
		return err
	}
	if q := (l.state.Dual.Mass + largest) * l.eta; !(q < math.MaxFloat64/4) {
		return noregret.BadInputf("gradient", "the sum of the subgradients' norms times η is %v: it leaves the range "+
			"of "+
			"float64", q)
	}
	x := l.Predict()
	st := &l.state
	st.Infinity.addScalar(largest)
	st.Range.addScalar(spread(g))
	var local float64
	for i, v := range g {
		if x[i] > 0 {
			local += float64(float64(v*v) * x[i])
		}
		st.Negative = st.Negative || v < 0
	}
	st.Local.add(local)
	st.Dual.subtract(g, largest)
	l.fresh = false
	return nil
}

// Bounds are the three guarantees of [ExponentiatedGradient], each KL(u; x_1)/η and a sum.
type Bounds struct {
	// Infinity has (η/2)·Σ‖g_t‖∞².
	Infinity float64
	// Range has (η/8)·Σ(max g_t − min g_t)².
	Range float64
	// Local has (η/2)·Σ_t Σ_j g_{t,j}²·x_{t,j}; +Inf unless all subgradients were nonnegative.
	Local float64
}

// Bounds returns all three guarantees.
func (l *ExponentiatedGradient) Bounds(u []float64) (Bounds, error) {
	if err := checkFinite("comparator", u, l.Dim()); err != nil {
		return Bounds{}, err
	}
	inf := math.Inf(1)
	kl := convex.KL(u, l.prior)
	if !onSimplex(u) || math.IsInf(kl, 1) {
		return Bounds{inf, inf, inf}, nil
	}
	b := Bounds{
		Infinity: kl/l.eta + float64(l.eta/2*l.state.Infinity.value()),
		Range:    kl/l.eta + float64(l.eta/8*l.state.Range.value()),
		Local:    inf,
	}
	if !l.state.Negative {
		b.Local = kl/l.eta + float64(l.eta/2*l.state.Local.value())
	}
	return b, nil
}

// Bound implements [Bounder].
func (l *ExponentiatedGradient) Bound(u []float64) (float64, error) {
	b, err := l.Bounds(u)
	return orInf(min(b.Infinity, b.Range, b.Local)), err
}

// onSimplex reports whether u is a distribution within the comparators' tolerance.
func onSimplex(u []float64) bool {
	var s sum
	for _, v := range u {
		if v < -comparatorTolerance {
			return false
		}
		s.add(v)
	}
	return math.Abs(s.value()-1) <= comparatorTolerance
}

// entropyGap is Σu·ln u + ln d ≥ 0, the relative entropy to uniform.
func entropyGap(u []float64) float64 {
	var s sum
	for _, v := range u {
		if v > 0 {
			s.add(v * portable.Log(v*float64(len(u))))
		}
	}
	return max(s.value(), 0)
}

// String describes the learner and its options in one line.
func (l *ExponentiatedGradient) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *ExponentiatedGradient) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *ExponentiatedGradient) UnmarshalBinary(data []byte) error {
	l.fresh = false
	return restore(data, l.text, &l.state, func(s *hedgeState) error {
		return checkState(l.Dim(), s.Dual.T, s.Dual.Theta)
	})
}
