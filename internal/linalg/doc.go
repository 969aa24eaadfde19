// Package linalg factors and solves small dense linear systems: Cholesky factors that grow by rank
// one, tridiagonal reduction, and Gaussian elimination.
//
// Matrices are row-major slices. The methods are written out because those of gonum and LAPACK sum
// in an order that depends on the processor: here the order is fixed, every product that is added
// is rounded first, and the bits of a result are the same on every machine. Nothing allocates
// unless its comment says so. Values are not safe for concurrent use; functions are.
package linalg
