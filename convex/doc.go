// Package convex holds the geometry that learners work with: sets with their projections, norms
// with their duals, mirror maps with their Bregman divergences, and proximal maps.
//
// A [Set] contains a learner's points. A [MirrorMap] ψ measures movement in it: its Bregman
// divergence takes the place of ½‖x−y‖². A [Regularizer] is a mirror map restricted to a set,
// ψ_V = ψ + ind_V, with the oracle that mirror descent and follow-the-regularized-leader need:
// ∇ψ_V*(θ), the maximizer of ⟨θ, x⟩ − ψ(x) over V. [Restrict] makes one. It has exact and cheap
// oracles for the usual pairs and a numeric one, with a certificate, for maps of other packages and
// functions given by values and gradients ([NewMap]).
//
// To choose: the [Simplex] with the [NegativeEntropy] for weights on many experts, as the bound
// then grows with √(ln d); a [Ball] or [Box] with the [Quadratic] for most else; [PNorm] with
// [NearL1] for sparse comparators; [Tsallis] and [LogBarrier] where gradients are estimated from
// one arm. [Mahalanobis] projects in the norm of a matrix that changes every round. [Intersection]
// joins constraints that no other set has together, and [Interior] keeps points at a distance from
// the boundary.
//
// Sets, norms, maps and regularizers are immutable: safe for concurrent use, and free of allocation
// given a destination. Constructors and learners validate; methods trust their arguments (lengths,
// no NaN). Vectors are dense []float64; a destination may be the same slice as an argument, but
// must not otherwise overlap it. Sums are in a fixed order and elementary functions from
// internal/portable, so that every result has the same bits on every machine.
package convex
