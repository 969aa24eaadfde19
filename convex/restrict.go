package convex

import (
	"errors"
	"math"
	"sync"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
)

// pair is the oracle of a map on a set, with its constants there.
type pair struct {
	argmax    func(dst, theta []float64)
	conjugate func(theta []float64) float64 // nil: formed from the argmax
	lambda    float64
	norm      Norm
}

// errPair is returned by restrict for a set on which the map has no exact oracle.
var errPair = errors.New("no exact oracle")

// restrictable is a map with oracles for some sets.
type restrictable interface {
	MirrorMap
	restrict(s Set) (pair, error)
	pairs() string // the sets it has oracles for, for the error message
}

// separable is a map that is a sum over coordinates, so that it splits over a [Product].
type separable interface {
	part(from, to int) restrictable // the map of these coordinates
}

// restricted is the one implementation of Regularizer.
type restricted struct {
	pair
	m       MirrorMap
	s       Set
	min     float64
	scratch sync.Pool // of *[]float64, for Conjugate, which has no destination
}

// Restrict makes ψ_V = ψ + ind_V for a map and a set of the same dimension. The oracles of these
// pairs are exact:
//
//   - [Quadratic] with any set: Argmax is the Euclidean projection;
//   - [DiagonalQuadratic] with [Space], [Box], [Simplex], [CappedSimplex], [Halfspace] and a
//     Euclidean [Ball];
//   - [MatrixQuadratic] with every set of [Mahalanobis.Project], to a certified gap of 1e-12 of the
//     value's scale;
//   - [NegativeEntropy] and [UnnormalizedEntropy] with [Space], [Simplex], [CappedSimplex] with
//     lower bounds ≥ 0, and [Box];
//   - [PNorm] with [Space] and a centered [Ball] of its own norm;
//   - [Tsallis] and [LogBarrier] with [Simplex] and a [Box] with finite upper sides;
//   - every map but PNorm and MatrixQuadratic with a [Product] whose factors are in its list.
//
// For any other set Restrict returns an error that lists the sets of the map. The methods of the
// result cost what the projection of that kind costs. Conjugate keeps a pool of vectors of length d
// where it has no closed form.
//
// A map of another package, or one that [NewMap] has made of a function, has a numeric Argmax on
// any bounded set; on [Space] it has its own Inverse. It uses values and gradients only. A pass
// costs one of each, a Project and a Minimize; from 5 to 50 passes are usual for maps with a
// Lipschitz gradient and some 400 where the maximizer is at the boundary of the domain, as with an
// entropy, at most 20,000. The result is a [Certified] regularizer, which states the gap to the
// maximum. It is at most 1e-10·(|ψ(x)| + |⟨θ, x⟩|), and a thousandth of that in most cases, for
// maps with a Lipschitz gradient that are sums over coordinates, and for other such sums on
// [Simplex], [CappedSimplex], [Box], Euclidean [Ball] and products of these even where their
// gradient is infinite at the boundary. No accuracy is promised for maps that couple coordinates,
// such as a quadratic with a rotated matrix, nor for a gradient with an infinite slope inside the
// domain. Restrict refuses a map that misses it at θ = 0, with an error of code diverged. The
// learners of package oco that take such a regularizer add the gaps to their bounds.
func Restrict(m MirrorMap, s Set) (Regularizer, error) {
	if m == nil || s == nil {
		return nil, noregret.BadInputf("restrict", "the map is %v and the set %v, want both", m, s)
	}
	if m.Dim() != s.Dim() {
		return nil, noregret.BadInputf("restrict",
			"the map %s has dimension %d and the set %s has %d, want the same",
			m, m.Dim(), s, s.Dim())
	}
	// The least value is found at a point; some oracles keep another.
	if err := checkMemory("restrict", m.Dim(), float64(2*float64(m.Dim()))); err != nil {
		return nil, err
	}
	p, n, err := findPair(m, s)
	if err != nil {
		return nil, err
	}
	r := &restricted{pair: p, m: m, s: s}
	d := s.Dim()
	r.scratch.New = func() any {
		x := make([]float64, d)
		return &x
	}
	r.min = -r.Conjugate(make([]float64, d))
	if r.min == 0 {
		r.min = 0 // not -0
	}
	if n != nil {
		return &numericRegularizer{r, n}, nil
	}
	return r, nil
}

// findPair returns the oracle for a map and a set; n is not nil if it is numeric.
func findPair(m MirrorMap, s Set) (p pair, n *numeric, err error) {
	exact, ok := m.(restrictable)
	if !ok {
		return restrictNumeric(m, s)
	}
	if p, err = restrictAny(exact, s); errors.Is(err, errPair) {
		err = noregret.BadInputf("restrict", "%s has no exact oracle on %s, want one of these sets: %s",
			m, s, exact.pairs())
	}
	return p, nil, err
}

func restrictAny(m restrictable, s Set) (pair, error) {
	if product, ok := s.(*Product); ok {
		if split, ok := m.(separable); ok {
			return restrictProduct(split, product)
		}
	}
	return m.restrict(s)
}

// Map implements [Regularizer].
func (r *restricted) Map() MirrorMap { return r.m }

// Set implements [Regularizer].
func (r *restricted) Set() Set { return r.s }

// Value implements [Regularizer].
func (r *restricted) Value(x []float64) float64 {
	if !r.s.Contains(x, 1e-9) {
		return math.Inf(1)
	}
	return r.m.Value(x)
}

// Argmax implements [Regularizer].
func (r *restricted) Argmax(dst, theta []float64) { r.argmax(dst, theta) }

// Conjugate implements [Regularizer].
func (r *restricted) Conjugate(theta []float64) float64 {
	if r.conjugate != nil {
		return r.conjugate(theta)
	}
	x := r.scratch.Get().(*[]float64)
	r.argmax(*x, theta)
	v := vec.Dot(theta, *x) - r.m.Value(*x)
	r.scratch.Put(x)
	return v
}

// Min implements [Regularizer].
func (r *restricted) Min() float64 { return r.min }

// StrongConvexity implements [Regularizer].
func (r *restricted) StrongConvexity() (float64, Norm) { return r.lambda, r.norm }

// String describes it in one line, all parameters included.
func (r *restricted) String() string { return r.m.String() + " on " + r.s.String() }
