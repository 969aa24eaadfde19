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

// SubgradientDescent is projected online subgradient descent (Zinkevich 2003; Orabona 2019,
// Algorithms 2.1 and 2.2),
//
//	x_{t+1} = Π_V(x_t − η_t g_t),
//
// with any [Rate]. Losses are convex; with [StronglyConvex] they are strongly convex and
// L-Lipschitz on V.
//
// Guarantees (Bound): constant rates, any V: ‖u−x_1‖²/(2η) + (η/2)·Σ‖g_t‖²; decreasing ones,
// V of diameter D: D²/(2η_T) + ½Σ η_t‖g_t‖² (Theorem 2.13); [Adaptive] with scale √2·D/2:
// √2·D·√Σ‖g_t‖² (Theorem 4.14), and for losses that are nonnegative and M-smooth on all of ℝ^d
// also 4MD² + 4D√(M·Σ l_t(u)) (Theorem 4.21, see [LStarBound]); [StronglyConvex]: ½Σ η_t‖g_t‖²
// (Theorem 4.7).
//
// A round costs O(d) and a projection; memory is O(d). For V = ℝ^d and for boxes a sparse round is
// O(nnz).
type SubgradientDescent struct {
	set    convex.Set
	rate   Rate
	start  []float64
	sparse func(i int, v float64) float64 // projects coordinate i; nil if V has no such projection
	state  subgradientState
	next   []float64
}

type subgradientState struct {
	X     []float64
	Rate  rateState
	Slack float64 // Σ gap_t/η_t, for mirror descent with a numeric oracle
}

// NewSubgradientDescent plays in set from start, which must be in the set; nil is the projection of
// the origin. Decreasing rates need a bounded set.
func NewSubgradientDescent(set convex.Set, start []float64, rate Rate) (*SubgradientDescent, error) {
	if set == nil {
		return nil, noregret.BadInputf("set", "nil: want a set")
	}
	if err := rate.validate(); err != nil {
		return nil, err
	}
	if d := set.Diameter(); math.IsInf(d, 1) && !rate.anyClosedSet() {
		return nil, noregret.BadInputf("rate", "%v needs a bounded set; %v is not", rate, set)
	}
	x, err := startIn(set, start)
	if err != nil {
		return nil, err
	}
	l := &SubgradientDescent{set: set, rate: rate, start: x, next: make([]float64, len(x))}
	l.state.X = slices.Clone(x)
	switch v := set.(type) {
	case *convex.Space:
		l.sparse = func(_ int, x float64) float64 { return x }
	case *convex.Box:
		lower, upper := sides(v)
		l.sparse = func(i int, x float64) float64 { return min(max(x, lower[i]), upper[i]) }
	}
	return l, nil
}

// startIn returns a copy of start, refused if it is not in the set; nil is the projection of the
// origin.
func startIn(set convex.Set, start []float64) ([]float64, error) {
	d := set.Dim()
	if d < 1 {
		return nil, noregret.BadInputf("set", "its dimension is %d: want a set made by a constructor of package convex",
			d)
	}
	if start == nil {
		x := make([]float64, d)
		set.Project(x, x)
		return x, nil
	}
	if err := checkFinite("start", start, d); err != nil {
		return nil, err
	}
	if !set.Contains(start, 1e-12) {
		return nil, noregret.BadInputf("start", "%s: not in the set %v", brief(start), set)
	}
	return slices.Clone(start), nil
}

// brief is a vector for an error message.
func brief(v []float64) string {
	if len(v) > 8 {
		return fmt.Sprintf("%v... (%d values)", v[:8], len(v))
	}
	return fmt.Sprint(v)
}

// Dim implements [Learner].
func (l *SubgradientDescent) Dim() int { return l.set.Dim() }

// Rounds implements [Counter].
func (l *SubgradientDescent) Rounds() int { return l.state.Rate.T }

// Predict implements [Learner].
func (l *SubgradientDescent) Predict() []float64 { return l.state.X }

// At implements [SparseLearner].
func (l *SubgradientDescent) At(i int) float64 { return l.state.X[i] }

// Update implements [Learner].
func (l *SubgradientDescent) Update(g []float64) error { return l.update(g, -1) }

// UpdateCurved implements [Curved]; rates other than [StronglyConvex] ignore mu.
func (l *SubgradientDescent) UpdateCurved(g []float64, mu float64) error {
	if err := checkMu(mu); err != nil {
		return err
	}
	return l.update(g, mu)
}

func (l *SubgradientDescent) update(g []float64, mu float64) error {
	s, e, err := checkSquared("gradient", g, l.Dim())
	if err != nil {
		return err
	}
	eta, st, err := l.rate.next(l.state.Rate, s, e, mu)
	if err != nil {
		return err
	}
	if s != 0 && !eta.zero() {
		x := l.state.X
		if eta.Exp != 0 {
			for i, v := range g {
				l.next[i] = x[i] - eta.of(v)
			}
		} else {
			eta := eta.Eta
			for i, v := range g {
				l.next[i] = x[i] - float64(eta*v)
			}
		}
		if !vec.IsFinite(vec.MaxAbs(l.next)) {
			return noregret.BadInputf("gradient", "the step with η = %v leaves the range of float64", eta)
		}
		l.set.Project(l.next, l.next)
		l.state.X, l.next = l.next, x
	}
	l.state.Rate = st
	return nil
}

// UpdateSparse implements [SparseLearner]. It costs O(nnz) for V = ℝ^d and for boxes, O(d) and a
// projection for other sets.
func (l *SubgradientDescent) UpdateSparse(g Sparse) error {
	largest, err := checkSparse("gradient", g, l.Dim())
	if err != nil {
		return err
	}
	s, e := sumOfSquares(g.Value, largest)
	eta, st, err := l.rate.next(l.state.Rate, s, e, -1)
	if err != nil {
		return err
	}
	x := l.state.X
	for k, i := range g.Index {
		if !vec.IsFinite(x[i] - eta.of(g.Value[k])) {
			return noregret.BadInputf(fmt.Sprintf("gradient.Value[%d]", k),
				"%v: the step with η = %v leaves the range of float64", g.Value[k], eta)
		}
	}
	switch {
	case s == 0 || eta.zero():
	case l.sparse != nil:
		for k, i := range g.Index {
			x[i] = l.sparse(int(i), x[i]-eta.of(g.Value[k]))
		}
	default:
		for k, i := range g.Index {
			x[i] -= eta.of(g.Value[k])
		}
		l.set.Project(x, x)
	}
	l.state.Rate = st
	return nil
}

// Bound implements [Bounder].
func (l *SubgradientDescent) Bound(u []float64) (float64, error) {
	if inside, err := comparator(u, l.set); err != nil || !inside {
		return math.Inf(1), err
	}
	st := &l.state.Rate
	half := float64(st.Spent.value() / 2)
	switch d := l.set.Diameter(); {
	case st.LastEta == 0:
		return 0, nil // nothing but zero subgradients
	case l.rate.kind == constantRate:
		return orInf(float64(distanceSquared(u, l.start))/(2*l.rate.a) + half), nil
	case l.rate.kind == stronglyConvexRate:
		return orInf(half), nil
	case l.rate.kind == adaptiveRate && l.rate.a == d*math.Sqrt2/2:
		return math.Sqrt2 * d * st.Q.root(), nil
	default:
		return orInf(float64(d*d/2*st.Rise.value()) + half), nil
	}
}

// SharpBound implements [SharpBounder]: R²/(2η_T) + ½Σ η_t‖g_t‖² for decreasing rates, where R is
// the largest distance of u to a point of the set, in place of its diameter, for boxes and
// Euclidean balls.
func (l *SubgradientDescent) SharpBound(u []float64) (float64, error) {
	b, err := l.Bound(u)
	if err != nil || math.IsInf(b, 1) || l.rate.anyClosedSet() {
		return b, err
	}
	r := reach(l.set, u)
	st := &l.state.Rate
	return min(b, orInf(float64(r*r/2*st.Rise.value())+float64(st.Spent.value()/2))), nil
}

// reach is at least the largest distance of u to a point of the set.
func reach(set convex.Set, u []float64) float64 {
	d := set.Diameter()
	switch v := set.(type) {
	case *convex.Box:
		var s float64
		for i, x := range u {
			lower, upper := v.Bounds(i)
			t := max(upper-x, x-lower)
			s += float64(t * t)
		}
		return min(d, math.Sqrt(s)*(1+0x1p-40))
	case *convex.Ball:
		if v.Norm().P() == 2 {
			return min(d, (v.Radius()+math.Sqrt(distanceSquared(u, v.Center())))*(1+0x1p-40))
		}
	}
	return d
}

// comparatorTolerance is the distance from the set, relative to its size, at which a comparator
// still counts as inside.
const comparatorTolerance = 1e-9

// comparator reports whether u is in the set. It returns an error if u has the wrong length or is
// not finite.
func comparator(u []float64, set convex.Set) (inside bool, err error) {
	if err := checkFinite("comparator", u, set.Dim()); err != nil {
		return false, err
	}
	return set.Contains(u, comparatorTolerance), nil
}

// LStarBound is the bound 4MD² + 4D√(M·L*) on the regret of [SubgradientDescent] with [Adaptive]
// rate √2·D/2, for losses that are nonnegative and M-smooth on all of ℝ^d, against a comparator of
// total loss lstar (Orabona 2019, Theorem 4.21; smoothness near V alone is not enough).
func LStarBound(smoothness, diameter, lstar float64) float64 {
	return float64(4*smoothness*diameter*diameter) + float64(4*diameter*math.Sqrt(smoothness*lstar))
}

// String describes the learner and its options in one line.
func (l *SubgradientDescent) String() string {
	return fmt.Sprintf("subgradient-descent(%v, rate=%v, start=%s)", l.set, l.rate, digest(l.start))
}

// MarshalBinary implements [Snapshotter].
func (l *SubgradientDescent) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.String(), &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *SubgradientDescent) UnmarshalBinary(data []byte) error {
	return restore(data, l.String(), &l.state, func(s *subgradientState) error {
		return checkState(l.Dim(), s.Rate.T, s.X)
	})
}
