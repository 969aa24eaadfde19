// Package convex holds the geometry that learners work with: sets with their projections, norms
// with their duals, mirror maps with their Bregman divergences, and proximal maps.
//
// A [Set] is where a learner's points live. A [MirrorMap] ψ measures movement in it, and a
// [Regularizer] is a mirror map restricted to a set, ψ_V = ψ + ind_V, with the one oracle that
// mirror descent and follow-the-regularized-leader are made of: ∇ψ_V*(θ), the maximizer of
// ⟨θ, x⟩ − ψ(x) over V. [Restrict] knows the pairs for which that oracle is exact and cheap.
//
// Sets, norms, maps and regularizers are immutable values: safe for concurrent use, and free of
// allocation given a destination. Methods trust their arguments (lengths, no NaN); constructors
// and learners validate. Vectors are dense []float64; a destination may be the same slice as an
// argument, but must not otherwise overlap it.
package convex
