// Package dense multiplies float64 weights with rows of float32 values of which most are not zero,
// as a batch problem does with every row in every pass.
//
// [Dot] and [AddScaled] are for one output: its score of a row, and its gradient. [AddScores] and
// [AddOuter] are for n outputs, whose weights lie column by column: weight k·n+c belongs to column
// k and output c. [AddSquares] and [SquaredNorm] are of the squares of rows, and [Products] makes
// the products of the columns of a row. [Quadratic] and [AddQuadratic] are the score and the
// gradient of one output by the products of factors, without making these.
//
// # The same bits everywhere
//
// Each function states the order of its sums, and each product is rounded before it is added. So
// the results have the same bits on every machine, but for the sign and the payload of a NaN.
//
// Each function has two forms. The one in plain Go runs anywhere. The other works on four columns
// or four outputs at a time with the vectors of simd/archsimd. It is compiled for amd64 by
// GOEXPERIMENT=simd, which a plain go install does not have, and runs on processors with AVX2. Rows
// too short for it take the form in Go.
//
//	GOEXPERIMENT=simd go build ./cmd/noregret
//	GOEXPERIMENT=simd go test -bench . ./internal/dense
//
// No function allocates. Each is safe for concurrent use with different destinations. A destination
// must not overlap the other arguments.
package dense
