package convex

import (
	"math"
	"sync"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
)

// Potential is a strictly convex function given by its values and gradients. [NewMap] makes a
// [MirrorMap] of it. Every [MirrorMap] is a Potential.
type Potential interface {
	// Dim is d, at least 1.
	Dim() int
	// Value is ψ(x), +Inf outside the domain.
	Value(x []float64) float64
	// Gradient writes ∇ψ(x) to dst. Where it does not exist, an entry is infinite or NaN.
	Gradient(dst, x []float64)
	// String describes the function in one line, all parameters included. It becomes part of
	// learners' snapshots.
	String() string
}

// NewMap makes a mirror map of a function that is λ-strongly convex in the norm, λ ≥ 0 (a nil norm
// is [L2]), on the sets that it will be restricted to. For a bounded set λ = 0 is enough. ℝ^d needs
// λ > 0 everywhere and a norm that is at least l2, such as [Lp] with p ≤ 2. Without these, or where
// no maximum is found there, Inverse and Conjugate are NaN and [Restrict] refuses [Space].
//
// Argmax, Inverse and Conjugate are numeric; see [Restrict] for their accuracy and cost. Divergence
// is formed from values and, for points near each other, from gradients: it is exact to some 1e-8
// of itself, and to 1e-15 of the values.
func NewMap(p Potential, lambda float64, norm Norm) (MirrorMap, error) {
	const what = "mirror map"
	if p == nil {
		return nil, noregret.BadInputf(what, "the function is nil")
	}
	if err := checkDim(what, p.Dim()); err != nil {
		return nil, err
	}
	if !(lambda >= 0) || math.IsInf(lambda, 1) {
		return nil, noregret.BadInputf(what, "the strong convexity is %v, want a finite number, at least 0", lambda)
	}
	if norm == nil {
		norm = L2
	}
	m := &potentialMap{Potential: p, lambda: lambda, norm: norm}
	d := p.Dim()
	m.pool.New = func() any {
		g := make([]float64, d)
		return &g
	}
	if convexityInL2(lambda, norm) > 0 {
		space, err := NewSpace(d)
		if err != nil {
			return nil, err
		}
		// A function that is strongly convex on some sets only may have no minimum on ℝ^d.
		if free, err := newNumeric(what, m, space); err == nil {
			m.free = free
		}
	}
	return m, nil
}

// convexityInL2 is the strong convexity in l2 that follows from λ in a norm, or 0 if none follows.
func convexityInL2(lambda float64, norm Norm) float64 {
	if lp, ok := norm.(*Lp); ok && lp.p <= 2 {
		return lambda
	}
	return 0
}

// potentialMap is the MirrorMap of a Potential.
type potentialMap struct {
	Potential
	lambda float64
	norm   Norm
	free   *numeric  // on ℝ^d; nil if a maximum may not exist
	pool   sync.Pool // of *[]float64
}

// Inverse implements [MirrorMap].
func (m *potentialMap) Inverse(dst, theta []float64) {
	if m.free == nil {
		for i := range dst {
			dst[i] = math.NaN()
		}
		return
	}
	m.free.argmax(dst, theta)
}

// Conjugate implements [MirrorMap].
func (m *potentialMap) Conjugate(theta []float64) float64 {
	x := m.pool.Get().(*[]float64)
	defer m.pool.Put(x)
	m.Inverse(*x, theta)
	return vec.Dot(theta, *x) - m.Value(*x)
}

// Divergence implements [MirrorMap].
func (m *potentialMap) Divergence(x, y []float64) float64 {
	g, h := m.pool.Get().(*[]float64), m.pool.Get().(*[]float64)
	defer m.pool.Put(g)
	defer m.pool.Put(h)
	a, b := m.Value(x), m.Value(y)
	m.Gradient(*g, x)
	m.Gradient(*h, y)
	step, change := 0.0, 0.0
	for i, v := range x {
		step += float64((*h)[i] * (v - y[i]))
		change += float64(((*g)[i] - (*h)[i]) * (v - y[i]))
	}
	direct := a - b - step
	// B(x; y) + B(y; x) = ⟨∇ψ(x) − ∇ψ(y), x − y⟩, and near each other the two are equal.
	if rounding := 4 * eps * (math.Abs(a) + math.Abs(b) + math.Abs(step)); math.Abs(direct) < 1e8*rounding &&
		vec.IsFinite(change) && change < 1e8*rounding {
		return max(0.5*change, 0)
	}
	if direct != direct { // both infinite, or a gradient that does not exist
		return math.Inf(1)
	}
	return max(direct, 0)
}

// StrongConvexity implements [MirrorMap].
func (m *potentialMap) StrongConvexity() (float64, Norm) { return m.lambda, m.norm }

// Interior reports whether value and gradient are finite.
func (m *potentialMap) Interior(x []float64) bool {
	if !vec.Finite(x) || !vec.IsFinite(m.Value(x)) {
		return false
	}
	g := m.pool.Get().(*[]float64)
	defer m.pool.Put(g)
	m.Gradient(*g, x)
	return vec.Finite(*g)
}

// restrictNumeric is the oracle of a map by its values and gradients.
func restrictNumeric(m MirrorMap, s Set) (pair, *numeric, error) {
	const what = "restrict"
	out := pair{}
	out.lambda, out.norm = m.StrongConvexity()
	if _, ok := s.(*Space); ok {
		own, ok := m.(*potentialMap)
		if ok && own.free == nil {
			return pair{}, nil, noregret.BadInputf(what,
				"the map %s is not known to be strongly convex in l2, want a bounded set in place of %s", m, s)
		}
		out.argmax, out.conjugate = m.Inverse, m.Conjugate
		if ok {
			return out, own.free, nil
		}
		return out, nil, nil
	}
	if math.IsInf(s.Diameter(), 1) {
		return pair{}, nil, noregret.BadInputf(what,
			"the set %s is unbounded, want Space or a bounded set for a map of another package", s)
	}
	n, err := newNumeric(what, m, s)
	if err != nil {
		return pair{}, nil, err
	}
	out.argmax = func(dst, theta []float64) { n.argmax(dst, theta) }
	return out, n, nil
}
