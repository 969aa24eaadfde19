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
	"github.com/noregret/noregret/loss"
)

// CurvatureFTRL is follow-the-regularized-leader on quadratic lower bounds of the losses (Orabona
// 2019, section 7.9): where
//
//	l_t(u) ≥ l_t(x_t) + ⟨g_t, u − x_t⟩ + ½‖u − x_t‖²_{A_t}   for all u in V,   A_t = Σ_k a_k·a_kᵀ,
//
// it plays, with S_t = λI + Σ_{i≤t} A_i,
//
//	x_t = argmin_{x∈V} Σ_{i<t} ⟨g_i, x⟩ + (λ/2)‖x‖² + ½Σ_{i<t} ‖x − x_i‖²_{A_i}.
//
// The factors a_k of A_t come with the subgradient through UpdateFactors; Update takes a loss
// without known curvature. With the one factor √μ·g_t it is [OnlineNewtonStep]. Projections are
// in the norm of S and certified (see [convex.Mahalanobis]).
//
// Guarantee (Bound): (λ/2)‖u‖² + ½Σ ‖g_t‖²_{S_t⁻¹} ((7.7)), plus the possible cost of inexact
// projections, from their certificates. A round costs O(d²) for each factor while the unprojected
// point is in the set, and the Mahalanobis projection, O(d³), when it is not; memory is O(d²). For
// d above 1,024, V = ℝ^d or a ball around the origin, d² is not held: with r ≤ min(d, T) the
// dimension of the span of subgradients and factors, a round costs O(d·r + r²), a projection O(r³),
// and memory is O(d·r), which grows when r does.
type CurvatureFTRL struct {
	set    convex.Set // of dimension d
	core   convex.Set // that of the coordinates: set itself without a span
	lambda float64
	space  *convex.Mahalanobis
	state  curvatureState
	played []float64 // x_t: X itself without a span
	point  []float64
	work   []float64
	failed error
	text   string

	balls     *ballSteps // nil for other sets, and in low dimensions
	ballsFrom int        // the least dimension for balls

	gradient []float64   // scratch of UpdateLoss
	inner    []float64   // coordinates of the subgradient and the factors
	vectors  [][]float64 // the factors' parts of inner
}

// curvatureState holds matrices and vectors in the coordinates of Span, where there is one.
type curvatureState struct {
	T        int
	Span     *span
	Diagonal float64         // S outside of the span
	Factor   linalg.Cholesky // of S
	S        []float64       // row by row
	B        []float64       // Σ A_i·x_i − g_i
	X        []float64
	Gap      float64 // of the last projection
	Spent    sum     // Σ ‖g_t‖² in the norm of S_t⁻¹
	Slack    sum     // the possible cost of the gaps
	Outside  outside // norms of the parts outside the span
	Ball     *ballBase
}

// curvatureTolerance is the certified gap of the projections, relative to the size of the
// objective.
const curvatureTolerance = 1e-10

// NewCurvatureFTRL plays in set with regularization lambda > 0, first at the point of the set
// nearest to the origin.
func NewCurvatureFTRL(set convex.Set, lambda float64) (*CurvatureFTRL, error) {
	return newCurvatureFTRL(set, lambda, set != nil && set.Dim() > denseUpTo && isotropic(set))
}

// isotropic reports whether the set is ℝ^d or a ball around the origin.
func isotropic(set convex.Set) bool {
	switch v := set.(type) {
	case *convex.Space:
		return true
	case *convex.Ball:
		return v.Norm().P() == 2 && vec.Norm2(v.Center()) == 0
	}
	return false
}

func newCurvatureFTRL(set convex.Set, lambda float64, spanned bool) (*CurvatureFTRL, error) {
	if set == nil {
		return nil, noregret.BadInputf("set", "nil: want a set")
	}
	if err := positive("lambda", lambda); err != nil {
		return nil, err
	}
	d := set.Dim()
	l := &CurvatureFTRL{set: set, lambda: lambda, gradient: make([]float64, d), ballsFrom: ballStepsFrom}
	l.text = fmt.Sprintf("curvature-ftrl(%v, lambda=%v)", set, lambda)
	l.state.Diagonal = lambda
	if !spanned {
		l.core = set
		// The matrices and factors of the state and of the projection. In high dimensions ℝ^d
		// and balls around the origin work without them.
		what := fmt.Sprintf("the matrix of dimension %d for a %T", d, set)
		if err := memory.Check("set", what, 7*float64(d)*float64(d)); err != nil {
			return nil, err
		}
		if err := l.workspace(d); err != nil {
			return nil, err
		}
		l.state.Factor, l.state.S = linalg.NewCholesky(d, lambda), extended(nil, 0, d, lambda)
		l.state.B, l.state.X = make([]float64, d), make([]float64, d)
		l.played = l.state.X
		set.Project(l.state.X, l.state.X)
		l.setBalls(l.ballsFrom)
		return l, nil
	}
	l.state.Span, l.played = newSpan(d), make([]float64, d)
	l.state.Factor = linalg.NewCholesky(0, lambda)
	return l, l.grow()
}

// workspace allocates the scratch vectors of c coordinates.
func (l *CurvatureFTRL) workspace(c int) error {
	space, err := convex.NewMahalanobis(c)
	if err != nil {
		return err
	}
	l.space, l.point, l.work = space, make([]float64, c), make([]float64, c)
	return nil
}

// grow extends the matrices to the capacity that the span needs, and the set to that dimension.
func (l *CurvatureFTRL) grow() error {
	st := &l.state
	n, c := len(st.B), st.Span.capacity(st.Span.Rank)
	if c != n {
		st.Factor = linalg.Cholesky{D: c, R: extended(st.Factor.R, n, c, math.Sqrt(st.Diagonal))}
		st.S = extended(st.S, n, c, st.Diagonal)
		st.B, st.X = lengthened(st.B, c), lengthened(st.X, c)
		st.Ball = nil
	}
	if len(l.point) == c {
		return nil
	}
	if err := l.workspace(c); err != nil {
		return err
	}
	var err error
	if v, ok := l.set.(*convex.Ball); ok {
		l.core, err = convex.NewCenteredBall(c, v.Radius())
	} else {
		l.core, err = convex.NewSpace(c)
	}
	l.setBalls(l.ballsFrom)
	return err
}

// setBalls makes the solver for balls, if the dimension is at least from.
func (l *CurvatureFTRL) setBalls(from int) {
	l.ballsFrom = from
	l.balls = nil
	if l.core != nil {
		l.balls = newBallSteps(l.core, from)
	}
	if l.balls != nil && l.state.Ball == nil {
		l.state.Ball = new(ballBase)
	}
}

// Dim implements [Learner].
func (l *CurvatureFTRL) Dim() int { return l.set.Dim() }

// Rounds implements [Counter].
func (l *CurvatureFTRL) Rounds() int { return l.state.T }

// Predict implements [Learner].
func (l *CurvatureFTRL) Predict() []float64 { return l.played }

// Gap is the certificate of the last projection: the objective is within it of its minimum.
func (l *CurvatureFTRL) Gap() float64 { return l.state.Gap }

// Update implements [Learner], for a loss without known curvature.
func (l *CurvatureFTRL) Update(g []float64) error { return l.UpdateFactors(g) }

// curvatureLimit bounds subgradients and factors: S holds their squares.
const curvatureLimit = 1e100

// UpdateFactors ends the round with a subgradient and the factors of A_t. Values of 1e100 and above
// are refused, as S holds their squares. If a projection cannot be computed, UpdateFactors returns
// an error of code diverged, and so does every later call.
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
		return noregret.BadInputf("gradient", "the largest value, factors included, is %v: want below %v",
			largest,
			curvatureLimit)
	}
	if largest == 0 {
		l.state.T++
		return nil
	}
	return l.step(g, 1, 0, factors...)
}

// UpdateLoss implements [LossLearner] and uses the known curvature of the loss: the factor z for
// squared losses ½(⟨z, x⟩ − y)², where it is exact; A_t = μI, in O(d³), for other losses that are
// μ-strongly convex; none otherwise.
func (l *CurvatureFTRL) UpdateLoss(f loss.Function) error {
	if err := checkLoss(f, l.Dim()); err != nil {
		return err
	}
	g := l.gradient
	f.Subgradient(g, l.played)
	if e, ok := f.(*loss.Example); ok {
		if _, ok := e.Loss.(loss.Squared); ok {
			return l.UpdateFactors(g, e.Z)
		}
	}
	c, ok := f.(loss.Curvature)
	if !ok || !(c.StrongConvexity() > 0) {
		return l.UpdateFactors(g)
	}
	return l.updateCurved(g, c.StrongConvexity())
}

// updateCurved ends the round with A_t = μI.
func (l *CurvatureFTRL) updateCurved(g []float64, mu float64) error {
	largest, err := checkVector("gradient", g, l.Dim())
	if err != nil {
		return err
	}
	if largest >= curvatureLimit || mu >= curvatureLimit {
		return noregret.BadInputf("gradient", "the largest value is %v, with strong convexity %v: want both below %v",
			largest,
			mu, curvatureLimit)
	}
	return l.step(g, 1, mu)
}

// step takes checked vectors; the factors are root·a, and μI.
func (l *CurvatureFTRL) step(g []float64, root, mu float64, factors ...[]float64) error {
	if l.failed != nil {
		return l.failed
	}
	if l.state.Span == nil {
		return l.stepCore(g, root, mu, factors)
	}
	g, factors, err := l.inSpan(g, root, mu, factors)
	if err != nil {
		return err
	}
	if err := l.stepCore(g, root, mu, factors); err != nil {
		return err
	}
	l.play()
	return nil
}

// play computes the point from its coordinates.
func (l *CurvatureFTRL) play() {
	l.state.Span.point(l.played, l.state.X)
	l.set.Project(l.played, l.played) // of what rounding puts outside
}

// inSpan extends the span by the vectors and returns them in its coordinates. Nothing changes when
// the sums of the step might leave the range of float64.
func (l *CurvatureFTRL) inSpan(g []float64, root, mu float64, factors [][]float64) ([]float64, [][]float64, error) {
	st := &l.state
	size := vec.Norm2(st.B) + vec.Norm2(g) + float64(mu*vec.Norm2(st.X))
	for _, a := range factors {
		size += float64(math.Abs(float64(root*root)*vec.Dot(a, l.played)) * vec.Norm2(a))
	}
	if !(size < 1e300) {
		return nil, nil, noregret.BadInputf("gradient", "with points of norm %v the sums leave the range of float64",
			vec.Norm2(st.X))
	}
	st.Outside.Linear.add(st.Span.include(g))
	x := vec.Norm2(st.X)
	for _, a := range factors {
		if left := st.Span.include(a); left > 0 {
			left *= float64(root*root) * vec.Norm2(a)
			st.Outside.Linear.add(left * x)
			st.Outside.Quadratic.add(left)
		}
	}
	if err := l.grow(); err != nil {
		return nil, nil, err
	}
	c := len(st.B)
	if need := c * (1 + len(factors)); len(l.inner) < need {
		l.inner = make([]float64, need)
	}
	l.vectors = l.vectors[:0]
	st.Span.coordinates(l.inner[:c], g)
	for k, a := range factors {
		at := l.inner[(k+1)*c : (k+2)*c]
		st.Span.coordinates(at, a)
		l.vectors = append(l.vectors, at)
	}
	return l.inner[:c], l.vectors, nil
}

// stepCore is step in the coordinates of the state.
func (l *CurvatureFTRL) stepCore(g []float64, root, mu float64, factors [][]float64) error {
	st := &l.state
	// Compute the new b first, in point, as nothing may change if it overflows.
	copy(l.point, st.B)
	for i, v := range g {
		l.point[i] += float64(mu*st.X[i]) - v
	}
	for _, a := range factors {
		inner := root * vec.Dot(a, st.X)
		for i, v := range a {
			l.point[i] += float64(float64(inner*root) * v)
		}
	}
	if !vec.IsFinite(vec.MaxAbs(l.point)) {
		return noregret.BadInputf("gradient", "with points of norm %v the sums leave the range of float64",
			vec.Norm2(st.X))
	}
	if st.Gap > 0 {
		copy(l.work, g)
		size := math.Sqrt(st.Factor.InverseSquare(l.work))
		st.Slack.add(2 * (st.Gap + float64(size*math.Sqrt(2*st.Gap))))
	}
	copy(st.B, l.point)
	if err := l.addCurvature(root, mu, factors); err != nil {
		return err
	}
	copy(l.work, g)
	st.Spent.add(st.Factor.InverseSquare(l.work))
	st.T++
	return l.move()
}

// addCurvature advances S to the next round.
func (l *CurvatureFTRL) addCurvature(root, mu float64, factors [][]float64) error {
	st, d := &l.state, len(l.state.B)
	if mu > 0 {
		st.Diagonal += mu
		for i := range d {
			st.S[i*d+i] += mu
		}
		if !st.Factor.Factorize(st.S) {
			l.failed = noregret.Errorf(noregret.Diverged, fmt.Sprintf("round %d", st.T+1),
				"the matrix is singular to rounding")
			return l.failed
		}
	}
	for _, a := range factors {
		for i, v := range a {
			l.work[i] = root * v
		}
		for i, v := range l.work {
			vec.AddScaled(st.S[i*d:(i+1)*d], v, l.work)
		}
		if l.balls != nil {
			l.balls.add(st.Ball, l.work)
		}
		st.Factor.Add(l.work)
	}
	return nil
}

// move sets X to the minimizer for S and B.
func (l *CurvatureFTRL) move() error {
	st := &l.state
	copy(l.point, st.B)
	st.Factor.Solve(l.point)
	st.Gap = 0
	if !l.core.Contains(l.point, 0) {
		if err := l.project(); err != nil {
			return err
		}
	}
	copy(st.X, l.point)
	return nil
}

// project computes the projection and sets point and gap.
func (l *CurvatureFTRL) project() error {
	st := &l.state
	if l.balls != nil {
		for range 2 { // with the present base, then with a new one
			known := st.Ball.Count > 0
			gap, ok := l.balls.argmin(l.point, st.Ball, st.S, st.B, st.Diagonal, curvatureTolerance)
			if ok {
				st.Gap = gap
				return nil
			}
			l.balls.reset(st.Ball)
			if !known {
				break
			}
		}
	}
	gap, err := l.space.ArgmaxFactored(l.point, st.S, st.Factor.R, st.B, l.core, curvatureTolerance)
	// On Diverged the point is the best one found; its gap enters the bound.
	if err != nil && noregret.CodeOf(err) != noregret.Diverged {
		l.failed = noregret.Errorf(noregret.Diverged, fmt.Sprintf("round %d", st.T), "no projection: %w", err)
		return l.failed
	}
	if !(gap >= 0) || !vec.IsFinite(vec.MaxAbs(l.point)) {
		l.failed = noregret.Errorf(noregret.Diverged, fmt.Sprintf("round %d", st.T),
			"the projection is not a number: the matrix is singular to rounding")
		return l.failed
	}
	st.Gap = gap
	return nil
}

// Bound implements [Bounder].
func (l *CurvatureFTRL) Bound(u []float64) (float64, error) {
	if inside, err := comparator(u, l.set); err != nil || !inside {
		return math.Inf(1), err
	}
	return orInf(float64(l.lambda/2*vec.Dot(u, u)) + float64(l.state.Spent.value()/2) + l.extra(u)), nil
}

// extra bounds the cost of inexact projections and of rounding in the span.
func (l *CurvatureFTRL) extra(u []float64) float64 {
	return l.state.Slack.value() + l.state.Outside.cost(vec.Norm2(u))
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
	spanned := l.state.Span != nil
	err := restore(data, l.text, &l.state, func(s *curvatureState) error {
		d := len(s.B)
		if !spanned && (s.Span != nil || d != l.Dim()) {
			return snapshot.Bad("damaged: it has %d coordinates for dimension %d", d, l.Dim())
		}
		if spanned {
			if err := s.Span.check(l.Dim(), d); err != nil {
				return err
			}
		}
		if err := checkState(d, s.T, s.B, s.X); err != nil {
			return err
		}
		if !s.Factor.Valid(d) || !allFinite(s.S, d*d) || !(s.Gap >= 0) || !(s.Diagonal >= l.lambda) ||
			!vec.IsFinite(s.Diagonal) ||
			!(s.Spent.value() >= 0) || !(s.Slack.value() >= 0) || !s.Outside.valid() {
			return snapshot.Bad("damaged: its matrix has %d values for dimension %d, or is not finite", len(s.S),
				d)
		}
		return s.Ball.check(d)
	})
	if err != nil {
		return err
	}
	l.failed = nil
	if !spanned {
		l.played = l.state.X
		l.setBalls(l.ballsFrom)
		return nil
	}
	if err := l.grow(); err != nil {
		return err
	}
	l.setBalls(l.ballsFrom)
	l.play()
	return nil
}
