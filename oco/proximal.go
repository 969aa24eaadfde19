package oco

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// ProximalFTRL is follow-the-regularized-leader with regularizers centred at the points played
// (McMahan 2011; Orabona 2019, section 7.8), in the Euclidean norm:
//
//	σ_t = 1/η_t − 1/η_{t−1},   x_{t+1} = Π_V(−η_t·Σ_{i≤t} (g_i − σ_i·x_i)),
//
// with any nonincreasing [Rate]; η_t may depend on g_t. On ℝ^d it equals [SubgradientDescent] with
// the same rate; on other sets this learner remembers sums and that one points.
//
// Guarantee (Bound): ½Σ σ_t‖u − x_t‖² + ½Σ η_t‖g_t‖², at most D²/(2η_T) + ½Σ η_t‖g_t‖² (Lemma
// 7.15). A round costs O(d) and a projection; memory is O(d).
type ProximalFTRL struct {
	set   convex.Set
	rate  Rate
	start []float64
	state proximalState
	next  []float64
	text  string
}

type proximalState struct {
	Rate    rateState
	X       []float64
	Sum     []float64 // Σ g
	Center  []float64 // Σ σ·(x − x_1)
	Square  sum       // Σ σ‖x − x_1‖²
	Inverse float64   // 1/η_t = Σ σ
}

// NewProximalFTRL plays in set from start, nil for the projection of the origin.
func NewProximalFTRL(set convex.Set, start []float64, rate Rate) (*ProximalFTRL, error) {
	if set == nil {
		return nil, noregret.BadInputf("set", "nil: want a set")
	}
	if err := rate.validate(); err != nil {
		return nil, err
	}
	x, err := startIn(set, start)
	if err != nil {
		return nil, err
	}
	d := len(x)
	l := &ProximalFTRL{set: set, rate: rate, start: x, next: make([]float64, d)}
	l.state = proximalState{X: slices.Clone(x), Sum: make([]float64, d), Center: make([]float64, d)}
	l.text = fmt.Sprintf("proximal-ftrl(%v, rate=%v, start=%s)", set, rate, digest(x))
	return l, nil
}

// Dim implements [Learner].
func (l *ProximalFTRL) Dim() int { return len(l.next) }

// Rounds implements [Counter].
func (l *ProximalFTRL) Rounds() int { return l.state.Rate.T }

// Predict implements [Learner].
func (l *ProximalFTRL) Predict() []float64 { return l.state.X }

// Update implements [Learner].
func (l *ProximalFTRL) Update(g []float64) error {
	s, e, err := checkSquared("gradient", g, l.Dim())
	if err != nil {
		return err
	}
	eta, rs, err := l.rate.next(l.state.Rate, s, e, -1)
	if err != nil {
		return err
	}
	st := &l.state
	if eta.zero() { // an adaptive rate before the first subgradient that is not 0
		st.Rate = rs
		return nil
	}
	sigma := eta.inverse() - st.Inverse
	if sigma < 0 {
		if l.rate.kind == funcRate && sigma < -1e-12*st.Inverse {
			return noregret.BadInputf("rate", "%v rose in round %d: proximal regularizers need a nonincreasing one",
				l.rate, rs.T)
		}
		sigma = 0
	}
	// All points are relative to the start, so that a set far from the origin loses no precision.
	var square float64
	for i, v := range g {
		x := st.X[i] - l.start[i]
		square += float64(x * x)
		c := st.Center[i] + float64(sigma*x)
		l.next[i] = l.start[i] + eta.of(c-(st.Sum[i]+v))
	}
	if !vec.IsFinite(vec.MaxAbs(l.next)) || !vec.IsFinite(st.Square.value()+float64(sigma*square)) {
		return noregret.BadInputf("gradient", "the step with η = %v leaves the range of float64", eta)
	}
	l.set.Project(l.next, l.next)
	if !vec.IsFinite(vec.MaxAbs(l.next)) {
		return noregret.BadInputf("gradient", "the step with η = %v leaves the range in which %v projects", eta, l.set)
	}
	st.Square.add(sigma * square)
	for i, v := range g {
		st.Center[i] += float64(sigma * (st.X[i] - l.start[i]))
		st.Sum[i] += v
	}
	st.X, l.next = l.next, st.X
	st.Inverse += sigma
	st.Rate = rs
	return nil
}

// Bound implements [Bounder].
func (l *ProximalFTRL) Bound(u []float64) (float64, error) {
	if inside, err := comparator(u, l.set); err != nil || !inside {
		return math.Inf(1), err
	}
	st := &l.state
	var pull, size sum
	for i, v := range u {
		v -= l.start[i]
		a, b := float64(st.Inverse*v*v), float64(2*st.Center[i]*v)
		pull.add(a)
		pull.add(-b)
		size.add(a + math.Abs(b))
	}
	// Add what may be lost by cancellation, so that the bound remains valid.
	slack := float64(0x1p-48 * (size.value() + st.Square.value()))
	return orInf((max(pull.value()+st.Square.value(), 0) + slack + st.Rate.Spent.value()) / 2), nil
}

// String describes the learner and its options in one line.
func (l *ProximalFTRL) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *ProximalFTRL) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *ProximalFTRL) UnmarshalBinary(data []byte) error {
	return restore(data, l.text, &l.state, func(s *proximalState) error {
		return checkState(l.Dim(), s.Rate.T, s.X, s.Sum, s.Center)
	})
}
