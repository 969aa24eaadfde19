package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
)

// OnlineNewtonStep is follow-the-regularized-leader on quadratic lower bounds along the subgradients
// (Hazan, Agarwal and Kale 2007; Orabona 2019, Algorithm 7.5), for losses that curve in the direction of
// their gradients, l_t(x) − l_t(u) ≤ ⟨g_t, x − u⟩ − (μ/2)⟨g_t, x − u⟩²:
//
//	S_t = λI + μ·Σ_{i≤t} g_i·g_iᵀ,   x_t = argmin_{x∈V} ‖x − S_{t−1}⁻¹·Σ_{i<t}(μ⟨g_i, x_i⟩ − 1)·g_i‖_{S_{t−1}}.
//
// An α-exp-concave loss on a set of diameter D with gradients of norm at most L is so with μ = ½·min(α,
// 1/(L·D)), see [ExpConcaveMu]. The projection is in the norm of S and certified (see
// [convex.Mahalanobis]); a Euclidean one would have no guarantee.
//
// Guarantee (Bound): (λ/2)‖u‖² + (1/2μ)·ln(det S_T/λ^d), at most (λ/2)‖u‖² + (d/2μ)·ln(1 + μTL²/(dλ))
// (section 7.9). A round costs O(d²) while the unprojected point is in the set, and the Mahalanobis
// projection, O(d³), when it is not; memory is O(d²).
type OnlineNewtonStep struct {
	set        convex.Set
	mu, lambda float64
	space      *convex.Mahalanobis
	state      newtonState
	point      []float64
	work       []float64
	text       string
}

type newtonState struct {
	T      int
	Factor cholesky  // of S
	S      []float64 // row by row
	B      []float64
	X      []float64
	Gap    float64 // of the last projection
	Spent  sum     // Σ ‖g_t‖² in the norm of S_t⁻¹
}

// ExpConcaveMu is ½·min(α, 1/(L·D)), the μ of [OnlineNewtonStep] for α-exp-concave losses with |⟨g, x−y⟩| ≤
// lipschitz·diameter (Orabona 2019, (7.8)). Logistic losses with ‖z‖ ≤ 1 on ‖x‖ ≤ U have α = exp(−U);
// squared losses ½(p−y)² with residuals of at most ρ have 1/ρ².
func ExpConcaveMu(alpha, lipschitz, diameter float64) float64 {
	return min(alpha, 1/(lipschitz*diameter)) / 2
}

// newtonTolerance is the certified gap of the projections, relative to the size of the objective.
const newtonTolerance = 1e-10

// NewOnlineNewtonStep plays in set with curvature mu > 0 and regularization lambda > 0; λ = 1/(μD²) is a
// good choice on a set of diameter D around the origin.
func NewOnlineNewtonStep(set convex.Set, mu, lambda float64) (*OnlineNewtonStep, error) {
	if set == nil {
		return nil, badArgument("set", "nil: want a set")
	}
	if err := positive("mu", mu); err != nil {
		return nil, err
	}
	if err := positive("lambda", lambda); err != nil {
		return nil, err
	}
	d := set.Dim()
	space, err := convex.NewMahalanobis(d)
	if err != nil {
		return nil, err
	}
	l := &OnlineNewtonStep{set: set, mu: mu, lambda: lambda, space: space, point: make([]float64, d), work: make([]float64, d)}
	l.state = newtonState{Factor: newCholesky(d, lambda), S: make([]float64, d*d), B: make([]float64, d), X: make([]float64, d)}
	for i := range d {
		l.state.S[i*d+i] = lambda
	}
	set.Project(l.state.X, l.state.X) // argmin ‖x‖ over the set
	l.text = fmt.Sprintf("online-newton-step(%v, mu=%v, lambda=%v)", set, mu, lambda)
	return l, nil
}

// Dim implements [Learner].
func (l *OnlineNewtonStep) Dim() int { return len(l.point) }

// Rounds implements [Counter].
func (l *OnlineNewtonStep) Rounds() int { return l.state.T }

// Predict implements [Learner].
func (l *OnlineNewtonStep) Predict() []float64 { return l.state.X }

// Gap is the certificate of the last projection: the objective is within it of its minimum.
func (l *OnlineNewtonStep) Gap() float64 { return l.state.Gap }

// newtonLimit bounds the subgradients: S holds their squares.
const newtonLimit = 1e100

// Update implements [Learner]. Values of 1e100 and above are refused, as S holds their squares.
func (l *OnlineNewtonStep) Update(g []float64) error {
	largest, err := checkVector("gradient", g, l.Dim())
	if err != nil {
		return err
	}
	if largest >= newtonLimit {
		return badArgument("gradient", "its largest value is %v: want below %v", largest, newtonLimit)
	}
	st, d := &l.state, l.Dim()
	if largest == 0 {
		st.T++
		return nil
	}
	a := float64(l.mu*convex.Dot(g, st.X)) - 1
	for i, v := range g {
		st.B[i] += float64(a * v)
		m := float64(l.mu * v)
		row := st.S[i*d : (i+1)*d]
		for j, w := range g {
			row[j] += float64(m * w)
		}
	}
	root := math.Sqrt(l.mu)
	for i, v := range g {
		l.work[i] = root * v
	}
	st.Factor.add(l.work)
	copy(l.work, g)
	st.Spent.add(st.Factor.inverseSquare(l.work))
	st.T++
	return l.move()
}

// move computes the next point.
func (l *OnlineNewtonStep) move() error {
	st := &l.state
	copy(l.point, st.B)
	st.Factor.solve(l.point)
	st.Gap = 0
	if !l.set.Contains(l.point, 0) {
		gap, err := l.space.Argmax(l.point, st.S, st.B, l.set, newtonTolerance)
		if err != nil {
			return fmt.Errorf("projection in round %d, certified to %v: %w", st.T, gap, err)
		}
		st.Gap = gap
	}
	copy(st.X, l.point)
	return nil
}

// Bound implements [Bounder]. It needs the curvature in the doc comment, which linear losses do not have.
func (l *OnlineNewtonStep) Bound(u []float64) (float64, error) {
	if inside, err := comparator(u, l.set); err != nil || !inside {
		return math.Inf(1), err
	}
	logs := (l.state.Factor.logDet() - float64(float64(l.Dim())*portable.Log(l.lambda))) / (2 * l.mu)
	return float64(l.lambda/2*convex.Dot(u, u)) + max(logs, float64(l.state.Spent.value()/2)), nil
}

// SharpBound is (λ/2)‖u‖² + ½Σ ‖g_t‖² in the norm of S_t⁻¹ (Orabona 2019, (7.7)), which Bound is never below.
func (l *OnlineNewtonStep) SharpBound(u []float64) (float64, error) {
	b, err := l.Bound(u)
	if err != nil || math.IsInf(b, 1) {
		return b, err
	}
	return float64(l.lambda/2*convex.Dot(u, u)) + float64(l.state.Spent.value()/2), nil
}

// String describes the learner and its options in one line.
func (l *OnlineNewtonStep) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *OnlineNewtonStep) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *OnlineNewtonStep) UnmarshalBinary(data []byte) error {
	var s newtonState
	if err := snapshot.Open(data, snapshotMagic, l.text, &s); err != nil {
		return err
	}
	d := l.Dim()
	if err := checkState(d, s.T, s.B, s.X); err != nil {
		return err
	}
	if err := s.Factor.check(d); err != nil {
		return err
	}
	if !allFinite(s.S, d*d) {
		return snapshot.Bad("it is damaged: its matrix has %d values for dimension %d, or is not finite", len(s.S), d)
	}
	l.state = s
	return nil
}
