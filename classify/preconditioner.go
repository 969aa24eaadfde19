package classify

import (
	"math"
	"slices"

	"github.com/noregret/noregret/internal/dense"
	"github.com/noregret/noregret/internal/vec"
)

// preconditioner approximates the Hessian of a problem of [design] at the point of its last pass,
// and multiplies by the inverse. With it an optimum takes fewer passes, of two labels often a
// third, where columns depend on one another, have different scales or nearly separate the labels.
//
// The Hessian of output c is
//
//	Σ_i h_ic·x̂_i·x̂_iᵀ / W + λ·I,   h_ic = ω·k_y·p_c·(1-p_c),  x̂ with a last column of ones,
//
// without those terms that belong to two outputs. Σ_i h_i·x̂_i·x̂_iᵀ with h_i = Σ_c h_ic stands for
// all outputs; each has its share of it. What several outputs have in common changes no
// probability, so it is kept apart. The Hessian is of all rows, or of a sample if that costs too
// much: rows with large h_i·‖x̂_i‖² are in it, of the others every so many, with more weight, and
// then the diagonal is of all rows. The Hessian is computed anew when the passes since have cost as
// much.
type preconditioner struct {
	x      *rowReader
	lambda float64
	rows   int // that are in the Hessian, at most

	// Of the last pass: h_i of each row, Σ_i h_ic of each output and W.
	curvature []float64
	share     []float64
	weight    float64

	norms  []float64 // ‖x̂_i‖² of each row if not all rows are taken
	common []float64 // of the outputs, for each column
	hessianFactor

	// In passes: what a Hessian costs and a product with its inverse, and all costs so far.
	cost, productCost, work float64
	computed                bool
	passes                  int // since it was
}

// hessianFactor is a Hessian of a problem, which also serves one of other rows of the same data.
type hessianFactor struct {
	column  []uint32  // the features of its columns
	factor  []float64 // the lower triangle of the Cholesky factor, row after row
	inverse []float64 // W/Σ_i h_ic of each output
}

// startFrom takes over the Hessian of another problem until one is computed, if that is of the same
// columns and outputs.
func (h *preconditioner) startFrom(other *hessianFactor) {
	if h == nil || other == nil || !slices.Equal(h.column, other.column) || len(h.inverse) != len(other.inverse) {
		return
	}
	copy(h.factor, other.factor)
	copy(h.inverse, other.inverse)
	h.computed, h.passes = true, -int(h.cost) // it is of an optimum nearby: it serves twice as long
}

// last returns the Hessian last computed or taken over, nil without one. It does not keep the rows.
func (h *preconditioner) last() *hessianFactor {
	if h == nil || !h.computed {
		return nil
	}
	f := h.hessianFactor
	return &f
}

const (
	// mostPreconditioned is the largest number of columns of a preconditioner, and
	// mostHessianPasses the number of passes that a Hessian may cost, at most one in hessianShare
	// of those allowed.
	mostPreconditioned, mostHessianPasses, hessianShare = 1_000, 8, 2.5
	// sampledPasses is the number of passes that the rows of a sample may cost, leastSample the
	// number of rows that it needs for each column, and leastRowsOfColumn that of all rows: with
	// fewer the first passes keep to the directions that the rows know.
	sampledPasses, leastSample, leastRowsOfColumn = 3, 3, 10
	// sampledDiagonal is the share of the diagonal of all rows in the Hessian of a sample.
	sampledDiagonal = 0.01
	// leastShare is the least share of an output.
	leastShare = 1e-6
	// Nanoseconds of a core of 2026 for a product of two numbers of a dense or sparse row, for one
	// of the factorization, and for one with the factor.
	denseProduct, sparseProduct, factorProduct, solveProduct = 0.25, 1.5, 0.8, 0.7
)

// newPreconditioner returns nil if a Hessian of the rows costs too much for the given number of
// passes.
func newPreconditioner(x *design, lambda float64, passes int) *preconditioner {
	if x.columns > mostPreconditioned || x.rows < leastRowsOfColumn*x.columns || x.rows == 0 {
		return nil
	}
	n, numbers, product := float64(x.columns+1), float64(x.columns), denseProduct
	kept := float64(x.kept)
	if x.dense == nil {
		kept = float64(len(x.value)) / float64(x.rows)
	}
	if !x.withZeros() {
		numbers, product = kept, sparseProduct
	}
	p := prices{outputs: float64(x.outputs)}
	pass := float64(float64(x.rows) * p.visit(float64(x.kept), kept, float64(x.columns-x.kept)))
	row := float64(product*numbers*numbers/2) + float64(product*numbers)
	factor := float64(factorProduct * n * n * n / 6)
	h := &preconditioner{
		x: x.reader(), lambda: lambda, rows: x.rows, productCost: solveProduct * n * n * p.outputs / pass,
	}
	h.cost = (float64(float64(x.rows)*row) + factor) / pass
	most := min(mostHessianPasses, float64(passes)/hessianShare)
	if h.cost > most {
		h.rows = int(float64(sampledPasses*pass) / row)
		h.cost = sampledPasses + 1 + factor/pass
		if h.rows < leastSample*x.columns || h.cost > most {
			return nil
		}
		h.norms = make([]float64, x.rows)
		for i := range h.norms {
			h.norms[i] = dense.SquaredNorm(h.x.numbers(i))
		}
	}
	h.curvature, h.share = make([]float64, x.rows), make([]float64, x.outputs)
	h.hessianFactor = hessianFactor{
		column: x.column, inverse: make([]float64, x.outputs),
		factor: make([]float64, (x.columns+1)*(x.columns+2)/2),
	}
	return h
}

// begin begins a pass.
func (h *preconditioner) begin() {
	if h == nil {
		return
	}
	h.passes++
	h.weight = 0
	clear(h.share)
	clear(h.curvature)
}

// observe takes in row i of weight k, given the derivatives of its loss by the scores.
func (h *preconditioner) observe(i int, derivative []float64, k float64) {
	if h == nil {
		return
	}
	h.weight += k
	sum := 0.0
	for c, g := range derivative {
		p := math.Abs(g) / k // of the output or of all others
		v := float64(k * p * (1 - p))
		h.share[c] += v
		sum += v
	}
	h.curvature[i] = sum
}

// apply multiplies v, ordered as the coordinates of the problem, by the inverse.
func (h *preconditioner) apply(v []float64) {
	if !h.computed || float64(h.passes) >= max(2, h.cost) {
		h.compute()
		h.work += h.cost
		h.passes, h.computed = 0, true
	}
	h.work += h.productCost
	outputs := h.x.outputs
	if outputs == 1 {
		h.solve(v)
		return
	}
	mean, part := 0.0, 1/float64(outputs)
	for _, s := range h.inverse {
		mean += float64(part * s)
	}
	h.common = h.common[:0]
	for k := range h.x.columns + 1 {
		h.common = append(h.common, float64(mean*center(v[k*outputs:(k+1)*outputs])))
	}
	h.solve(v)
	for k, s := range h.common {
		own := v[k*outputs : (k+1)*outputs]
		center(own)
		for c := range own {
			own[c] += s
		}
	}
}

// center subtracts the mean of v from its elements and returns it.
func center(v []float64) float64 {
	mean := 0.0
	for _, u := range v {
		mean += u
	}
	mean /= float64(len(v))
	for c := range v {
		v[c] -= mean
	}
	return mean
}

// solve multiplies v by the inverse for each output.
func (h *preconditioner) solve(v []float64) {
	n, outputs := h.x.columns+1, h.x.outputs
	at := 0
	for k := range n {
		row := h.factor[at : at+k+1]
		at += k + 1
		own := v[k*outputs : (k+1)*outputs]
		if outputs == 1 {
			own[0] = (own[0] - vec.Dot(row[:k], v)) / row[k]
			continue
		}
		for j, f := range row[:k] {
			for c, u := range v[j*outputs : (j+1)*outputs] {
				own[c] -= float64(f * u)
			}
		}
		for c := range own {
			own[c] /= row[k]
		}
	}
	for k := n - 1; k >= 0; k-- {
		at -= k + 1
		row := h.factor[at : at+k+1]
		own := v[k*outputs : (k+1)*outputs]
		for c := range own {
			own[c] /= row[k]
		}
		for j, f := range row[:k] {
			to := v[j*outputs : (j+1)*outputs]
			for c, u := range own {
				to[c] -= float64(f * u)
			}
		}
	}
	for i := range v {
		v[i] *= h.inverse[i%outputs]
	}
}

// compute computes and factors the Hessian.
func (h *preconditioner) compute() {
	total := 0.0
	for _, s := range h.share {
		total += s
	}
	for c, s := range h.share {
		h.inverse[c] = h.weight / max(s, leastShare*total)
	}
	clear(h.factor)
	if !(total > 0) || math.IsInf(h.weight/total, 0) { // no row is uncertain, so no curvature
		for k := range h.x.columns + 1 {
			h.factor[(k+1)*(k+2)/2-1] = 1
		}
		for c := range h.inverse {
			h.inverse[c] = 1
		}
		return
	}
	if h.x.withZeros() {
		h.addDense(total)
	} else {
		h.addSparse(total)
	}
	// In units of total, an output's λ is λ·W/Σ_i h_ic; here it is that of the mean share.
	ridge := float64(h.lambda * h.weight * float64(len(h.share)) / total)
	if h.norms != nil {
		h.mixDiagonal(total)
	}
	at := 0
	for k := range h.x.columns + 1 {
		row := h.factor[at : at+k+1]
		at += k + 1
		for j := range row {
			row[j] /= total
		}
		if k < h.x.columns {
			row[k] += ridge
		}
	}
	h.factorize()
}

// eachRow calls f with the rows of the Hessian and their weights.
func (h *preconditioner) eachRow(total float64, f func(i int, weight float64)) {
	if h.norms == nil {
		for i, w := range h.curvature {
			if w > 0 {
				f(i, w)
			}
		}
		return
	}
	sum := 0.0
	for i, w := range h.curvature {
		sum += float64(w * h.norms[i])
	}
	mean := sum / total
	// The importances h_i·(1 + ‖x̂_i‖²/mean) have the sum 2·total.
	step := 2 * total / float64(h.rows)
	at, next := 0.0, step/2
	for i, w := range h.curvature {
		importance := float64(w * (1 + h.norms[i]/mean))
		if importance >= step {
			f(i, w)
			continue
		}
		if at += importance; at >= next {
			next += step
			f(i, step*w/importance)
		}
	}
}

// addDense adds the products of rows of all columns, four rows at a time.
func (h *preconditioner) addDense(total float64) {
	n := h.x.columns + 1
	four := make([]float64, 4*n)
	filled := 0
	h.eachRow(total, func(i int, weight float64) {
		root := math.Sqrt(weight)
		to := four[filled*n : (filled+1)*n]
		for k, v := range h.x.numbers(i) {
			to[k] = float64(root * float64(v))
		}
		to[n-1] = root
		if filled++; filled == 4 {
			h.addFour(four)
			filled = 0
		}
	})
	clear(four[filled*n:])
	h.addFour(four)
}

// addFour adds the products of four rows with themselves.
func (h *preconditioner) addFour(rows []float64) {
	n := h.x.columns + 1
	a, b, c, d := rows[:n], rows[n:2*n], rows[2*n:3*n], rows[3*n:]
	at := 0
	for k := range n {
		to := h.factor[at : at+k+1]
		at += k + 1
		ak, bk, ck, dk := a[k], b[k], c[k], d[k]
		a, b, c, d := a[:len(to)], b[:len(to)], c[:len(to)], d[:len(to)]
		for j := range to {
			to[j] += (float64(ak*a[j]) + float64(bk*b[j])) + (float64(ck*c[j]) + float64(dk*d[j]))
		}
	}
}

// addSparse adds the products of rows without their zeros, and then what the centres change.
func (h *preconditioner) addSparse(total float64) {
	x, n := h.x, h.x.columns+1
	sums, weights := make([]float64, n), 0.0 // of the columns before they are centred
	h.eachRow(total, func(i int, weight float64) {
		weights += weight
		place, value := x.sparseRow(i)
		for j, k := range place {
			v := float64(weight * float64(value[j]))
			sums[k] += v
			to := h.factor[int(k)*(int(k)+1)/2:][:k+1]
			for m, other := range place[:j+1] {
				to[other] += float64(v * float64(value[m]))
			}
		}
	})
	at := 0
	for k, s := range x.shift {
		to := h.factor[at : at+k+1]
		at += k + 1
		for j := range to {
			to[j] += float64(weights*s*x.shift[j]) - (float64(sums[k]*x.shift[j]) + float64(sums[j]*s))
		}
	}
	last := h.factor[at:]
	for k, s := range x.shift {
		last[k] = sums[k] - float64(weights*s)
	}
	last[n-1] = weights
}

// mixDiagonal replaces a share of the sample by the diagonal of all rows, so that no column is
// missing.
func (h *preconditioner) mixDiagonal(total float64) {
	x, n := h.x, h.x.columns+1
	diagonal, sums := make([]float64, n), make([]float64, n)
	for i, w := range h.curvature {
		if w == 0 {
			continue
		}
		if x.withZeros() {
			dense.AddSquares(diagonal, w, x.numbers(i))
			continue
		}
		place, value := x.sparseRow(i)
		for j, k := range place {
			v := float64(w * float64(value[j]))
			sums[k] += v
			diagonal[k] += float64(v * float64(value[j]))
		}
	}
	if !x.withZeros() {
		for k, s := range x.shift {
			diagonal[k] += float64(s * (float64(total*s) - 2*sums[k]))
		}
	}
	diagonal[n-1] = total
	for i := range h.factor {
		h.factor[i] *= 1 - sampledDiagonal
	}
	for k, v := range diagonal {
		h.factor[(k+1)*(k+2)/2-1] += float64(sampledDiagonal * v)
	}
}

// factorize replaces the lower triangle by its Cholesky factor. A pivot that rounding has brought
// to 0 becomes a small part of the diagonal.
func (h *preconditioner) factorize() {
	at := 0
	for k := range h.x.columns + 1 {
		row := h.factor[at : at+k+1]
		at += k + 1
		start := 0
		for j := range k {
			other := h.factor[start : start+j+1]
			start += j + 1
			row[j] = (row[j] - vec.Dot(row[:j], other)) / other[j]
		}
		pivot := row[k] - vec.Dot(row[:k], row)
		if least := 1e-10 * row[k]; !(pivot > least) {
			pivot = max(least, 1e-300)
		}
		row[k] = math.Sqrt(pivot)
	}
}
