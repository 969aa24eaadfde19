package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/memory"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// SketchedNewtonStep is the online Newton step with a matrix of bounded rank (Luo, Agarwal,
// Cesa-Bianchi and Langford 2016, with the frequent-directions sketch), for ℝ^d and balls around
// the origin in any dimension, and losses that curve along their gradients as for
// [OnlineNewtonStep], l_t(x) − l_t(u) ≤ ⟨g_t, x − u⟩ − (μ/2)⟨g_t, x − u⟩²:
//
//	S_t = λI + C̃_t,   y = x_t − S_t⁻¹g_t,   x_{t+1} = argmin_{x∈V} ‖x − y‖_{S_t},   x_1 = 0,
//
// where C̃_t is a sketch of μ·Σ_{i≤t} g_i·g_iᵀ of rank at most 2m, which is reduced, at most once
// in m rounds, to the m largest eigenvalues, each less the (m+1)-th.
//
// Guarantee (Bound): (λ/2)‖u‖² + ½Σ g_tᵀS_t⁻¹g_t, plus the possible cost of inexact projections and
// of the sketch's rounding. It follows from the projection's ½‖x_{t+1} − u‖² ≤ ½‖y − u‖² in the
// norm of S_t, summed over t, as S_t − S_{t−1} ⪯ μ·g_t·g_tᵀ: the subtracted eigenvalues only reduce
// these terms. With C_T the matrix without a sketch it is, for every k ≤ m, at most (their Theorem
// 3)
//
//	(λ/2)‖u‖² + (m/μ)·ln(1 + tr C_T/(2mλ)) + (m/(λμ·(m + 1 − k)))·Σ_{i>k} λ_i(C_T).
//
// A round costs O(d·m + m²), a projection O(d·m + m³), and the sketch's steps back O(d·m²) once in
// m rounds; memory is O(d·m).
type SketchedNewtonStep struct {
	set    convex.Set
	mu     float64
	lambda float64
	m      int
	state  sketchedState
	factor linalg.Cholesky // of S_t in the sketch's basis
	next   []float64
	coords []float64 // of the subgradient
	solved []float64
	ball   *sketchedBall // nil on ℝ^d
	failed error
	text   string
}

type sketchedState struct {
	T       int
	X       []float64
	Sketch  *sketch
	Spent   sum     // Σ g_tᵀS_t⁻¹g_t
	Slack   sum     // the possible cost of inexact projections
	Fixed   sum     // the possible cost of rounding at u = 0
	Outside outside // and beyond, by u
}

// NewSketchedNewtonStep plays in ℝ^d or a ball around the origin, with curvature mu > 0,
// regularization lambda > 0 and a sketch of m = size ≥ 1 directions.
func NewSketchedNewtonStep(set convex.Set, mu, lambda float64, size int) (*SketchedNewtonStep, error) {
	if set == nil || !isotropic(set) {
		return nil, noregret.BadInputf("set", "%v: only the whole space and Euclidean balls around the origin are "+
			"allowed", set)
	}
	if err := positive("mu", mu); err != nil {
		return nil, err
	}
	if err := positive("lambda", lambda); err != nil {
		return nil, err
	}
	d := set.Dim()
	if size < 1 || size > denseUpTo {
		return nil, noregret.BadInputf("size", "%d: want 1 to %d directions", size, denseUpTo)
	}
	size = min(size, d)
	what := fmt.Sprintf("a sketch of %d directions in dimension %d", size, d)
	if err := memory.Check("size", what, float64(2*size+3)*float64(d)); err != nil {
		return nil, err
	}
	l := &SketchedNewtonStep{set: set, mu: mu, lambda: lambda, m: size, next: make([]float64, d)}
	l.state = sketchedState{X: make([]float64, d), Sketch: newSketch(d, size)}
	n := l.state.Sketch.Size
	l.factor = linalg.NewCholesky(n, lambda)
	l.coords, l.solved = make([]float64, n), make([]float64, n)
	if b, ok := set.(*convex.Ball); ok {
		var err error
		if l.ball, err = newSketchedBall(n, b.Radius()); err != nil {
			return nil, err
		}
	}
	l.text = fmt.Sprintf("sketched-newton-step(%v, mu=%v, lambda=%v, size=%d)", set, mu, lambda, size)
	return l, nil
}

// Dim implements [Learner].
func (l *SketchedNewtonStep) Dim() int { return len(l.next) }

// Rounds implements [Counter].
func (l *SketchedNewtonStep) Rounds() int { return l.state.T }

// Predict implements [Learner].
func (l *SketchedNewtonStep) Predict() []float64 { return l.state.X }

// Removed is the sum of the eigenvalues that the sketch has subtracted, 0 as long as the
// subgradients span at most twice its size.
func (l *SketchedNewtonStep) Removed() float64 { return l.state.Sketch.Removed.value() }

// Update implements [Learner]. Values of 1e100 and above are refused, as the matrix holds their
// squares. If a step cannot be computed, Update returns an error of code diverged, and so does
// every later call.
func (l *SketchedNewtonStep) Update(g []float64) error {
	if l.failed != nil {
		return l.failed
	}
	largest, err := checkVector("gradient", g, l.Dim())
	root := math.Sqrt(l.mu)
	switch {
	case err != nil:
		return err
	case largest*max(root, 1) >= curvatureLimit:
		return noregret.BadInputf("gradient", "the largest value is %v, times √μ = %v: want both below %v", largest,
			root, curvatureLimit)
	case largest == 0:
		l.state.T++
		return nil
	}
	// ‖S⁻¹g‖ ≤ ‖g‖/λ, so that no step leaves the range of float64 if this one does not.
	st := &l.state
	norm, size := vec.Norm2(g), vec.Norm2(st.X)
	if !(size+norm/l.lambda < 1e150) {
		return noregret.BadInputf("gradient", "norm %v with λ = %v: the step leaves the range of float64",
			norm, l.lambda)
	}
	for i, v := range g {
		l.next[i] = root * v
	}
	left, err := st.Sketch.add(l.coords, l.next)
	if err == nil {
		err = l.refactor()
	}
	if err != nil {
		l.failed = err
		return err
	}
	if e := st.Sketch.rounding; e > 0 { // ½e‖x − u‖² ≤ e(‖x‖² + ‖u‖²)
		st.Fixed.add(e * size * size)
		st.Outside.Quadratic.add(e)
	}
	left /= root
	if left > 0 { // ⟨left out, x − u⟩, and the curvature along it
		st.Fixed.add(float64(left*size) + float64(float64(2*l.mu*left*norm)*size*size))
		st.Outside.Linear.add(left)
		st.Outside.Quadratic.add(2 * l.mu * left * norm)
	}
	for i := range l.coords {
		l.coords[i] /= root
	}
	copy(l.solved, l.coords)
	l.factor.Solve(l.solved)
	st.Spent.add(max(vec.Dot(l.coords, l.solved), 0))
	st.Sketch.Basis.point(l.next, l.solved)
	for i, v := range st.X {
		l.next[i] = v - l.next[i]
	}
	if l.ball != nil && !l.set.Contains(l.next, 0) {
		gap, err := l.ball.project(l.next, st.Sketch, l.lambda)
		if err != nil {
			l.failed = noregret.Errorf(noregret.Diverged, fmt.Sprintf("round %d", st.T+1), "no projection: %w", err)
			return l.failed
		}
		st.Slack.add(gap)
		l.set.Project(l.next, l.next) // of what rounding puts outside
	}
	st.X, l.next = l.next, st.X
	st.T++
	return nil
}

// refactor computes the factor of S_t.
func (l *SketchedNewtonStep) refactor() error {
	s := l.state.Sketch
	n := s.Size
	copy(l.factor.R, s.C)
	for i := range n {
		l.factor.R[i*n+i] += l.lambda
	}
	if !linalg.Factorize(l.factor.R, n) {
		return noregret.Errorf(noregret.Diverged, fmt.Sprintf("round %d", l.state.T+1),
			"the matrix is singular to rounding")
	}
	return nil
}

// Bound implements [Bounder]. It needs the curvature in the doc comment, which linear losses do not
// have.
func (l *SketchedNewtonStep) Bound(u []float64) (float64, error) {
	if inside, err := comparator(u, l.set); err != nil || !inside {
		return math.Inf(1), err
	}
	st := &l.state
	return orInf(float64(l.lambda/2*vec.Dot(u, u)) + float64(st.Spent.value()/2) + st.Slack.value() +
		st.Fixed.value() + st.Outside.cost(vec.Norm2(u))), nil
}

// String describes the learner and its options in one line.
func (l *SketchedNewtonStep) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *SketchedNewtonStep) MarshalBinary() ([]byte, error) {
	if l.failed != nil {
		return nil, l.failed
	}
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *SketchedNewtonStep) UnmarshalBinary(data []byte) error {
	err := restore(data, l.text, &l.state, func(s *sketchedState) error {
		if err := checkState(l.Dim(), s.T, s.X); err != nil {
			return err
		}
		if !(s.Spent.value() >= 0) || !(s.Slack.value() >= 0) || !(s.Fixed.value() >= 0) || !s.Outside.valid() {
			return snapshot.Bad("damaged: its sums are out of range")
		}
		return s.Sketch.check(l.Dim(), l.m)
	})
	if err == nil {
		l.failed = nil
	}
	return err
}

// sketchedBall projects on the ball ‖x‖ ≤ r in the norm of S = λI + C̃: in the coordinates of the
// basis and one for the direction of y outside of it, where S is λ.
type sketchedBall struct {
	space  *convex.Mahalanobis
	ball   *convex.Ball
	s      []float64 // (n+1)×(n+1)
	theta  []float64
	coords []float64
	inside []float64 // the part of y in the basis
}

func newSketchedBall(n int, radius float64) (*sketchedBall, error) {
	space, err := convex.NewMahalanobis(n + 1)
	if err != nil {
		return nil, err
	}
	ball, err := convex.NewCenteredBall(n+1, radius)
	if err != nil {
		return nil, err
	}
	return &sketchedBall{
		space: space, ball: ball, s: make([]float64, (n+1)*(n+1)), theta: make([]float64, n+1),
		coords: make([]float64, n+1),
	}, nil
}

// project replaces y by its projection, and returns the certified gap.
func (b *sketchedBall) project(y []float64, sk *sketch, lambda float64) (gap float64, err error) {
	n := sk.Size
	if len(b.inside) != len(y) {
		b.inside = make([]float64, len(y))
	}
	sk.Basis.coordinates(b.coords[:n], y)
	sk.Basis.point(b.inside, b.coords[:n])
	for i, v := range b.inside {
		y[i] -= v // the part outside of the basis
	}
	outside := vec.Norm2(y)
	b.coords[n] = outside
	for i := range n {
		row := b.s[i*(n+1) : (i+1)*(n+1)]
		copy(row, sk.C[i*n:(i+1)*n])
		row[i] += lambda
	}
	b.s[n*(n+1)+n] = lambda
	linalg.MulSymmetric(b.theta, b.s, b.coords)
	gap, err = b.space.Argmax(b.coords, b.s, b.theta, b.ball, curvatureTolerance)
	if err != nil && (noregret.CodeOf(err) != noregret.Diverged || !(gap < math.Inf(1))) {
		return gap, err
	}
	sk.Basis.point(b.inside, b.coords[:n])
	f := 0.0
	if outside > 0 {
		f = b.coords[n] / outside
	}
	for i, v := range b.inside {
		y[i] = v + float64(f*y[i])
	}
	return gap, nil
}
