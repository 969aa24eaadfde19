package classify

import "github.com/noregret/noregret/internal/dense"

// denseRow is row i of the columns kept.
func (x *design) denseRow(i int) []float32 { return x.dense[i*x.kept : (i+1)*x.kept] }

// sparseRow is row i of the columns kept without its zeros.
func (x *design) sparseRow(i int) (place []uint32, value []float32) {
	from, to := x.start[i], x.start[i+1]
	return x.place[from:to], x.value[from:to]
}

// rowFactors are the factors of the products of row i.
func (x *design) rowFactors(i int) []float32 { return x.factor[i*x.factors : (i+1)*x.factors] }

// rowReader visits the rows of a design for one goroutine.
type rowReader struct {
	*design
	product []float32 // those of row made
	made    int
	padded  []float64 // the factors of row at, and zeros for dense.Quadratic
	at      int
	full    []float32
}

// reader returns one.
func (x *design) reader() *rowReader {
	return &rowReader{
		design: x, product: make([]float32, x.columns-x.kept), made: -1,
		padded: make([]float64, dense.Padded(x.factors)), at: -1,
	}
}

// products are those of row i, until the next call.
func (x *rowReader) products(i int) []float32 {
	if x.made != i {
		dense.Products(x.product, x.rowFactors(i), x.productInverse, x.productShift)
		x.made = i
	}
	return x.product
}

// paddedFactors are the factors of row i with zeros behind them, until the next call.
func (x *rowReader) paddedFactors(i int) []float64 {
	if x.at != i {
		for k, v := range x.rowFactors(i) {
			x.padded[k] = float64(v)
		}
		x.at = i
	}
	return x.padded
}

// scores writes ⟨w_c, x̂⟩ + b_c of row i to z, given the weights of the outputs of every column one
// after the other and the constants, as raw returns them.
func (x *rowReader) scores(z, w, bias []float64, i int) {
	n := len(z)
	copy(z, bias)
	switch {
	case x.dense != nil && n == 1:
		z[0] += dense.Dot(w, x.denseRow(i))
	case x.dense != nil:
		dense.AddScores(z, w, x.denseRow(i))
	case n == 1:
		sum := 0.0
		place, value := x.sparseRow(i)
		for j, k := range place {
			sum += float64(w[k] * float64(value[j]))
		}
		z[0] += sum
	default:
		place, value := x.sparseRow(i)
		for j, k := range place {
			u, wk := float64(value[j]), w[int(k)*n:int(k)*n+n]
			for c := range z {
				z[c] += float64(wk[c] * u)
			}
		}
	}
	if x.factors == 0 {
		return
	}
	if w = w[x.kept*n:]; x.byFactors() {
		z[0] += dense.Quadratic(w, x.paddedFactors(i))
	} else {
		dense.AddScores(z, w, x.products(i))
	}
}

// addTo adds g_c·x̂ of row i to the gradients of the outputs by the weights of raw.
func (x *rowReader) addTo(grad, g []float64, i int) {
	n := len(g)
	switch {
	case x.dense != nil && n == 1:
		dense.AddScaled(grad, g[0], x.denseRow(i))
	case x.dense != nil:
		dense.AddOuter(grad, g, x.denseRow(i))
	default:
		place, value := x.sparseRow(i)
		for j, k := range place {
			u, to := float64(value[j]), grad[int(k)*n:int(k)*n+n]
			for c := range g {
				to[c] += float64(g[c] * u)
			}
		}
	}
	if x.factors == 0 {
		return
	}
	if grad = grad[x.kept*n:]; x.byFactors() {
		dense.AddQuadratic(grad, g[0], x.paddedFactors(i))
	} else {
		dense.AddOuter(grad, g, x.products(i))
	}
}

// numbers are the numbers of row i: all columns, or those kept without the zeros if there are no
// products. They are valid until the next call.
func (x *rowReader) numbers(i int) []float32 {
	if x.factors == 0 {
		if x.dense != nil {
			return x.denseRow(i)
		}
		_, value := x.sparseRow(i)
		return value
	}
	if x.full == nil {
		x.full = make([]float32, x.columns)
	}
	if x.dense != nil {
		copy(x.full, x.denseRow(i))
	} else {
		for k, s := range x.shift[:x.kept] {
			x.full[k] = float32(-s)
		}
		place, value := x.sparseRow(i)
		for j, k := range place {
			x.full[k] += value[j]
		}
	}
	copy(x.full[x.kept:], x.products(i))
	return x.full
}

// withZeros reports whether a [rowReader] has the zeros of rows among their numbers.
func (x *design) withZeros() bool { return x.dense != nil || x.factors > 0 }
