// Package vec holds the operations on dense vectors that every package shares: inner products,
// norms, scaled sums and checks.
//
// Each sum has one fixed order, so that the bits of a result are the same on every machine; those
// of gonum and of BLAS depend on the processor. No function allocates, and each is safe for
// concurrent use. A destination may be an argument itself but must not otherwise overlap it.
package vec
