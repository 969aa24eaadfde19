package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/loss"
)

// CurvatureFTRL is follow-the-regularized-leader on quadratic lower bounds of the losses (Orabona 2019,
// section 7.9): where
//
//	l_t(u) ≥ l_t(x_t) + ⟨g_t, u − x_t⟩ + ½‖u − x_t‖²_{A_t}   for all u in V,   A_t = Σ_k a_k·a_kᵀ,
//
// it plays, with S_t = λI + Σ_{i≤t} A_i,
//
//	x_t = argmin_{x∈V} Σ_{i<t} ⟨g_i, x⟩ + (λ/2)‖x‖² + ½Σ_{i<t} ‖x − x_i‖²_{A_i}.
//
// The factors a_k of A_t come with the subgradient through UpdateFactors; Update takes a loss of which no
// curvature is known. With the one factor √μ·g_t it is [OnlineNewtonStep]. Projections are in the norm of S
// and certified (see [convex.Mahalanobis]).
//
// Guarantee (Bound): (λ/2)‖u‖² + ½Σ ‖g_t‖²_{S_t⁻¹} ((7.7)), and what inexact projections may cost, from
// their certificates. A round costs O(d²) for each factor while the unprojected point is in the set, and
// the Mahalanobis projection, O(d³), when it is not; memory is O(d²).
type CurvatureFTRL struct {
	set    convex.Set
	lambda float64
	space  *convex.Mahalanobis
	state  curvatureState
	point  []float64
	work   []float64
	failed error
	text   string

	gradient []float64   // scratch of UpdateLoss
	axes     [][]float64 // the unit vectors, scaled, once UpdateLoss has needed them
}

type curvatureState struct {
	T      int
	Factor convex.Cholesky // of S
	S      []float64       // row by row
	B      []float64       // Σ A_i·x_i − g_i
	X      []float64
	Gap    float64 // of the last projection
	Spent  sum     // Σ ‖g_t‖² in the norm of S_t⁻¹
	Slack  sum     // what the gaps may cost
}

// curvatureTolerance is the certified gap of the projections, relative to the size of the objective.
const curvatureTolerance = 1e-10

// NewCurvatureFTRL plays in set with regularization lambda > 0, first at the point of the set nearest to
// the origin.
func NewCurvatureFTRL(set convex.Set, lambda float64) (*CurvatureFTRL, error) {
	if set == nil {
		return nil, badArgument("set", "nil: want a set")
	}
	if err := positive("lambda", lambda); err != nil {
		return nil, err
	}
	d := set.Dim()
	space, err := convex.NewMahalanobis(d)
	if err != nil {
		return nil, err
	}
	l := &CurvatureFTRL{set: set, lambda: lambda, space: space, point: make([]float64, d), work: make([]float64, d), gradient: make([]float64, d)}
	l.state = curvatureState{Factor: convex.NewCholesky(d, lambda), S: make([]float64, d*d), B: make([]float64, d), X: make([]float64, d)}
	for i := range d {
		l.state.S[i*d+i] = lambda
	}
	set.Project(l.state.X, l.state.X)
	l.text = fmt.Sprintf("curvature-ftrl(%v, lambda=%v)", set, lambda)
	return l, nil
}

// Dim implements [Learner].
func (l *CurvatureFTRL) Dim() int { return len(l.point) }

// Rounds implements [Counter].
func (l *CurvatureFTRL) Rounds() int { return l.state.T }

// Predict implements [Learner].
func (l *CurvatureFTRL) Predict() []float64 { return l.state.X }

// Gap is the certificate of the last projection: the objective is within it of its minimum.
func (l *CurvatureFTRL) Gap() float64 { return l.state.Gap }

// Update implements [Learner], for a loss of which no curvature is known.
func (l *CurvatureFTRL) Update(g []float64) error { return l.UpdateFactors(g) }

// curvatureLimit bounds subgradients and factors: S holds their squares.
const curvatureLimit = 1e100

// UpdateFactors ends the round with a subgradient and the factors of A_t. Values of 1e100 and above are
// refused, as S holds their squares. An error of code diverged, for a projection that cannot be computed,
// ends the learner's use.
func (l *CurvatureFTRL) UpdateFactors(g []float64, factors ...[]float64) error {
	if l.failed != nil {
		return l.failed
	}
	largest, err := checkVector("gradient", g, l.Dim())
	if err != nil {
		return err
	}
	for k, a := range factors {
		m, err := checkVector(fmt.Sprintf("factors[%d]", k), a, l.Dim())
		if err != nil {
			return err
		}
		largest = max(largest, m)
	}
	if largest >= curvatureLimit {
		return badArgument("gradient", "its largest value, or that of the factors, is %v: want below %v", largest, curvatureLimit)
	}
	if largest == 0 {
		l.state.T++
		return nil
	}
	return l.step(g, 1, factors...)
}

// UpdateLoss implements [LossLearner], with the curvature that the loss is known to have: for squared
// losses ½(⟨z, x⟩ − y)² the factor z, which is all of it; √μ·e_i for i = 1, ..., d, O(d³), for other losses
// that are μ-strongly convex; none else.
func (l *CurvatureFTRL) UpdateLoss(f loss.Function) error {
	if err := checkLoss(f, l.Dim()); err != nil {
		return err
	}
	g := l.gradient
	f.Subgradient(g, l.state.X)
	if e, ok := f.(*loss.Example); ok {
		if _, ok := e.Loss.(loss.Squared); ok {
			return l.UpdateFactors(g, e.Z)
		}
	}
	c, ok := f.(loss.Curvature)
	if !ok || !(c.StrongConvexity() > 0) {
		return l.UpdateFactors(g)
	}
	if l.axes == nil {
		for i := range l.Dim() {
			l.axes = append(l.axes, make([]float64, l.Dim()))
			l.axes[i][i] = 1
		}
	}
	for i, a := range l.axes {
		a[i] = math.Sqrt(c.StrongConvexity())
	}
	return l.UpdateFactors(g, l.axes...)
}

// step takes checked vectors; the factors are root·a.
func (l *CurvatureFTRL) step(g []float64, root float64, factors ...[]float64) error {
	st, d := &l.state, l.Dim()
	// The new b first, in point: nothing may change if it leaves the range of float64.
	copy(l.point, st.B)
	for i, v := range g {
		l.point[i] -= v
	}
	for _, a := range factors {
		inner := root * convex.Dot(a, st.X)
		for i, v := range a {
			l.point[i] += float64(float64(inner*root) * v)
		}
	}
	if !finite(maxAbs(l.point)) {
		return badArgument("gradient", "with points of norm %v the sums leave the range of float64", convex.Norm2(st.X))
	}
	if st.Gap > 0 {
		copy(l.work, g)
		size := math.Sqrt(st.Factor.InverseSquare(l.work))
		st.Slack.add(2 * (st.Gap + float64(size*math.Sqrt(2*st.Gap))))
	}
	copy(st.B, l.point)
	for _, a := range factors {
		for i, v := range a {
			l.work[i] = root * v
		}
		for i, v := range l.work {
			row := st.S[i*d : (i+1)*d]
			for j, w := range l.work {
				row[j] += float64(v * w)
			}
		}
		st.Factor.Add(l.work)
	}
	copy(l.work, g)
	st.Spent.add(st.Factor.InverseSquare(l.work))
	st.T++
	copy(l.point, st.B)
	st.Factor.Solve(l.point)
	st.Gap = 0
	if !l.set.Contains(l.point, 0) {
		gap, err := l.space.Argmax(l.point, st.S, st.B, l.set, curvatureTolerance)
		if err != nil && noregret.CodeOf(err) != noregret.Diverged { // else the point is the best found, and the gap says how good
			l.failed = noregret.Errorf(noregret.Diverged, fmt.Sprintf("round %d", st.T), "no projection: %w", err)
			return l.failed
		}
		if !(gap >= 0) || !finite(maxAbs(l.point)) {
			l.failed = noregret.Errorf(noregret.Diverged, fmt.Sprintf("round %d", st.T), "the projection is not a number: the matrix is singular to rounding")
			return l.failed
		}
		st.Gap = gap
	}
	copy(st.X, l.point)
	return nil
}

// Bound implements [Bounder].
func (l *CurvatureFTRL) Bound(u []float64) (float64, error) {
	if inside, err := comparator(u, l.set); err != nil || !inside {
		return math.Inf(1), err
	}
	return float64(l.lambda/2*convex.Dot(u, u)) + float64(l.state.Spent.value()/2) + l.state.Slack.value(), nil
}

// String describes the learner and its options in one line.
func (l *CurvatureFTRL) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *CurvatureFTRL) MarshalBinary() ([]byte, error) {
	if l.failed != nil {
		return nil, l.failed
	}
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *CurvatureFTRL) UnmarshalBinary(data []byte) error {
	d := l.Dim()
	err := restore(data, l.text, &l.state, func(s *curvatureState) error {
		if err := checkState(d, s.T, s.B, s.X); err != nil {
			return err
		}
		if !s.Factor.Valid(d) || !allFinite(s.S, d*d) || !(s.Gap >= 0) {
			return snapshot.Bad("it is damaged: its matrix has %d values for dimension %d, or is not finite", len(s.S), d)
		}
		return nil
	})
	if err == nil {
		l.failed = nil
	}
	return err
}
