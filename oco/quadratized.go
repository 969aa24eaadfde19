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

// QuadratizedFTRL is follow-the-leader on quadratic lower bounds ⟨g_t, x⟩ + (μ_t/2)‖x − x_t‖² of
// strongly convex losses (Orabona 2019, Algorithm 7.4):
//
//	x_{t+1} = Π_V(Σ_{i≤t} (μ_i·x_i − g_i)/M_t),   M_t = Σ_{i≤t} μ_i,
//
// computed as m_{t+1} = m_t + (μ_t·(x_t − m_t) − g_t)/M_t, x = Π_V(m), which loses no precision. On
// ℝ^d it equals [SubgradientDescent] with [StronglyConvex].
//
// Guarantee (Bound): ½Σ ‖g_t‖²/M_t, for μ_t-strongly convex losses in the Euclidean norm (Corollary
// 7.17). A round costs O(d) and a projection; memory is O(d).
type QuadratizedFTRL struct {
	set   convex.Set
	mu    float64
	state quadratizedState
	text  string
}

type quadratizedState struct {
	T      int
	X, M   []float64
	Plain  int
	Curved sum
	Spent  sum
}

// NewQuadratizedFTRL plays in set from start, nil for the projection of the origin. Losses are
// mu-strongly convex, or what UpdateCurved says.
func NewQuadratizedFTRL(set convex.Set, start []float64, mu float64) (*QuadratizedFTRL, error) {
	if set == nil {
		return nil, noregret.BadInputf("set", "nil: want a set")
	}
	if !(mu >= 0) || !vec.IsFinite(mu) {
		return nil, noregret.BadInputf("mu", "%v: want a finite number, at least 0", mu)
	}
	x, err := startIn(set, start)
	if err != nil {
		return nil, err
	}
	l := &QuadratizedFTRL{set: set, mu: mu, text: fmt.Sprintf("quadratized-ftrl(%v, mu=%v, start=%s)", set, mu,
		digest(x))}
	l.state.X, l.state.M = x, slices.Clone(x)
	return l, nil
}

// Dim implements [Learner].
func (l *QuadratizedFTRL) Dim() int { return l.set.Dim() }

// Rounds implements [Counter].
func (l *QuadratizedFTRL) Rounds() int { return l.state.T }

// Predict implements [Learner].
func (l *QuadratizedFTRL) Predict() []float64 { return l.state.X }

// Update implements [Learner].
func (l *QuadratizedFTRL) Update(g []float64) error { return l.update(g, -1) }

// UpdateCurved implements [Curved].
func (l *QuadratizedFTRL) UpdateCurved(g []float64, mu float64) error {
	if err := checkMu(mu); err != nil {
		return err
	}
	return l.update(g, mu)
}

func (l *QuadratizedFTRL) update(g []float64, own float64) error {
	s, e, err := checkSquared("gradient", g, l.Dim())
	if err != nil {
		return err
	}
	st := &l.state
	curved, plain, mu := st.Curved, st.Plain, l.mu
	if own >= 0 {
		curved.add(own)
		mu = own
	} else {
		plain++
	}
	total := curved.value() + float64(l.mu*float64(plain))
	switch {
	case total > 0:
		for i, v := range g {
			if !vec.IsFinite(st.M[i] + (float64(mu*(st.X[i]-st.M[i]))-v)/total) {
				return noregret.BadInputf(fmt.Sprintf("gradient[%d]", i),
					"%v: the step with Σμ = %v leaves the range of float64", v, total)
			}
		}
		for i, v := range g {
			st.M[i] += (float64(mu*(st.X[i]-st.M[i])) - v) / total
		}
		l.set.Project(st.X, st.M)
		st.Spent.add(math.Ldexp(s/total, 2*e))
	case s != 0:
		return noregret.BadInputf("mu", "%v: no loss so far is strongly convex, so the step 1/Σμ is infinite", total)
	}
	st.Curved, st.Plain = curved, plain
	st.T++
	return nil
}

// Bound implements [Bounder].
func (l *QuadratizedFTRL) Bound(u []float64) (float64, error) {
	if inside, err := comparator(u, l.set); err != nil || !inside {
		return math.Inf(1), err
	}
	return orInf(l.state.Spent.value() / 2), nil
}

// String describes the learner and its options in one line.
func (l *QuadratizedFTRL) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *QuadratizedFTRL) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *QuadratizedFTRL) UnmarshalBinary(data []byte) error {
	return restore(data, l.text, &l.state, func(s *quadratizedState) error {
		return checkState(l.Dim(), s.T, s.X, s.M)
	})
}
