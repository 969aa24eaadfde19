package convex

import (
	"math"

	"github.com/noregret/noregret"
)

// ErrUnbounded is the error of [Set.Minimize] when the linear function has no minimum on the set.
var ErrUnbounded = noregret.BadInputf("minimize", "the linear function has no minimum on this set")

// Set is a nonempty closed convex subset V of ℝ^d. Implementations are immutable and safe for
// concurrent use; no method allocates. Arguments have length d and hold no NaN.
type Set interface {
	// Dim is d, at least 1.
	Dim() int
	// Project writes the Euclidean projection Π_V(v) = argmin_{x∈V} ‖x−v‖₂ to dst. A point of
	// the set is its own projection, bit for bit.
	Project(dst, v []float64)
	// Minimize writes a minimizer of ⟨c, x⟩ over V to dst and returns the minimum. Ties go to the
	// lowest index. Where there is no minimum it returns [ErrUnbounded] and leaves dst unchanged.
	Minimize(dst, c []float64) (float64, error)
	// Contains reports whether x is within tol of the set: a constraint may be violated by tol
	// times the size of the set (a radius, a width, a sum), but for tol > 0 by no less than the
	// rounding of its numbers. An x that is not finite is in no set.
	Contains(x []float64, tol float64) bool
	// Diameter is the Euclidean diameter sup ‖x−y‖₂ over V, +Inf for an unbounded set. Sets
	// for which it is hard to compute return an upper bound; their comment says so.
	Diameter() float64
	// String describes the set in one line, all parameters included: two sets with equal
	// text are the same set. It is part of learners' snapshots.
	String() string
}

// Norm is a norm on ℝ^d for every d.
type Norm interface {
	// Of is ‖x‖, computed without overflow or underflow on the way.
	Of(x []float64) float64
	// Dual is the dual norm ‖θ‖* = sup {⟨θ, x⟩ : ‖x‖ ≤ 1}.
	Dual() Norm
	// String names the norm: "l1", "l2", "linf", "l1.5", ...
	String() string
}

// MirrorMap is a function ψ that is strictly convex and continuously differentiable in the interior
// of its domain X. Implementations are immutable and safe for concurrent use; no method allocates.
type MirrorMap interface {
	// Dim is d, at least 1.
	Dim() int
	// Value is ψ(x), +Inf outside the domain.
	Value(x []float64) float64
	// Gradient writes ∇ψ(x) to dst; x is in the interior of the domain.
	Gradient(dst, x []float64)
	// Inverse writes ∇ψ*(θ) = (∇ψ)⁻¹(θ) to dst, where ψ* is the conjugate over the whole domain.
	Inverse(dst, theta []float64)
	// Conjugate is ψ*(θ) = sup_x ⟨θ, x⟩ − ψ(x), +Inf where that is infinite.
	Conjugate(theta []float64) float64
	// Divergence is B_ψ(x; y) = ψ(x) − ψ(y) − ⟨∇ψ(y), x−y⟩, in the form that loses no digits for x
	// near y; +Inf when y is on the boundary of the domain and x is not reached from it.
	Divergence(x, y []float64) float64
	// StrongConvexity is the λ ≥ 0 and the norm for which B_ψ(x; y) ≥ (λ/2)‖x−y‖² on the whole
	// domain; 0 when there is none.
	StrongConvexity() (float64, Norm)
	// Interior reports whether x is in the interior of the domain, where Gradient is defined.
	Interior(x []float64) bool
	// String describes the map in one line, all parameters included.
	String() string
}

// Regularizer is ψ_V = ψ + ind_V: a mirror map restricted to a set that meets the interior of its
// domain. Get one from [Restrict]. Implementations are immutable and safe for concurrent use; no
// method allocates.
type Regularizer interface {
	// Map is ψ.
	Map() MirrorMap
	// Set is V.
	Set() Set
	// Value is ψ(x) for x in V (within 1e-9 of it), +Inf elsewhere.
	Value(x []float64) float64
	// Argmax writes ∇ψ_V*(θ) = argmax_{x∈V} ⟨θ, x⟩ − ψ(x) to dst.
	Argmax(dst, theta []float64)
	// Conjugate is ψ_V*(θ) = max_{x∈V} ⟨θ, x⟩ − ψ(x).
	Conjugate(theta []float64) float64
	// Min is min_V ψ, attained at Argmax(0).
	Min() float64
	// StrongConvexity is the λ and the norm for which ψ is λ-strongly convex on V. On a bounded V
	// it may be larger than the map's own (negative entropy has none on the orthant and 1 in l1 on
	// the simplex).
	StrongConvexity() (float64, Norm)
	// String describes map and set in one line.
	String() string
}

// allowance returns the violation that Contains accepts in a set of the given size, whose numbers
// have at most the given modulus. A small set far from 0 is as strict as one near 0.
func allowance(tol, size, modulus float64) float64 {
	if tol == 0 {
		return 0
	}
	return max(float64(tol*size), float64(4*eps*modulus))
}

// sideAllowance is the allowance for a coordinate between two sides, of which one or both may be
// infinite: then the size is the modulus of the finite one, or 1.
func sideAllowance(tol, lower, upper float64) float64 {
	modulus := 0.0
	for _, v := range [2]float64{math.Abs(lower), math.Abs(upper)} {
		if !math.IsInf(v, 1) {
			modulus = max(modulus, v)
		}
	}
	size := upper - lower
	if math.IsInf(size, 1) {
		if size = modulus; size == 0 {
			size = 1
		}
	}
	return allowance(tol, size, modulus)
}
