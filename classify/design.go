package classify

import (
	"context"
	"math"
	"slices"

	"github.com/noregret/noregret/internal/compensated"
	"github.com/noregret/noregret/internal/dense"
	"github.com/noregret/noregret/internal/portable"
)

// design is the rows of data in memory on a common scale, for batch problems that are solved often:
// the columns that occur, each as (x - centre)·inverse, in rows of float32 if at least a quarter of
// the values are not 0, else without the zeros and with the centres apart. The columns of products
// come last. They are not kept: a [rowReader] makes them from their factors when it visits a row,
// which takes less time than to read them from memory, or with one output computes with the factors
// alone. A design is not changed, so it is safe for concurrent use.
type design struct {
	rows, columns int
	outputs       int       // scores of a row: 1 for Binary data, else one for each label
	column        []uint32  // the feature of each column, in ascending order
	inverse       []float64 // of each column
	shift         []float64 // of each column, its centre times its inverse
	truth         []int32   // the label of each row
	weight        []float64 // of each row

	kept  int       // columns before the products
	dense []float32 // rows of the columns kept; nil if the zeros are left out
	start []int     // of the rows in place and value
	place []uint32
	value []float32

	factors        int       // of the products of a row
	factor         []float32 // those of all rows
	productInverse []float32 // inverse of the products
	productShift   []float32 // shift of the products
	pair           []int     // the place of each product among the numbers of raw
}

const (
	// mostDesignNumbers bounds the numbers of a design: 64 MiB.
	mostDesignNumbers = 16 << 20
	// mostFactor bounds factors, so that no product of rows unlike those to train on is infinite.
	mostFactor = 1e9
	// minProductSpread is the standard deviation relative to the mean under which a product counts
	// as constant: a smaller one is near the rounding of its factors.
	minProductSpread = 1e-4
)

// labelIndex is the label of a row of the given class: with Binary data 0 for a positive one.
func (d Data) labelIndex(class uint16) int {
	if d.Task != Binary {
		return d.targets[class][0]
	}
	if d.isPositive(int(class)) {
		return 0
	}
	return 1
}

// mappedMoments are the moments of the features that a transform makes, and their largest absolute
// values.
type mappedMoments struct {
	moments
	largest []float64
}

// reading makes a visitor that applies a transform; nil changes nothing.
func (t *Transform) reading(f visitor) visitor {
	if t == nil {
		return f
	}
	var toIndex []uint32
	var toValue []float32
	return func(index []uint32, value []float32, class uint16, weight float64) error {
		toIndex, toValue = t.Apply(index, value, toIndex[:0], toValue[:0])
		return f(toIndex, toValue, class, weight)
	}
}

// newMappedMoments computes them in one pass, without the products of the transform.
func newMappedMoments(ctx context.Context, d Data, t *Transform) (*mappedMoments, error) {
	m := new(mappedMoments)
	t = t.withoutProducts()
	err := d.read(ctx, t.reading(func(index []uint32, value []float32, _ uint16, weight float64) error {
		m.observe(index, value, weight)
		if missing := len(m.f) - len(m.largest); missing > 0 {
			m.largest = append(m.largest, make([]float64, missing)...)
		}
		for j, i := range index {
			m.largest[i] = max(m.largest[i], math.Abs(float64(value[j])))
		}
		return nil
	}))
	return m, err
}

// scaled returns the scaling of the given name.
func (m *mappedMoments) scaled(scale string, dim int) *Scaling {
	dim = max(1, dim)
	switch scale {
	case scaleStandard:
		return m.scaling(dim, true)
	case scaleMaxAbs:
		s := Identity(max(dim, len(m.f)))
		for i, v := range m.largest {
			if aboveZero(1 / v) {
				s.Inverse[i] = 1 / v
			}
		}
		return s
	}
	return Identity(dim)
}

// share is the share of values that are not 0 among those of the features that occur.
func (m *mappedMoments) share() float64 {
	sum, columns := 0.0, 0.0
	for i := range m.f {
		if m.f[i].weight > 0 {
			sum += m.f[i].weight / m.total
			columns++
		}
	}
	return sum / max(1, columns)
}

// newDesign reads data after a transform, each feature on its scale and the products on the
// standard one. One pass.
func newDesign(ctx context.Context, d Data, t *Transform, m *mappedMoments, s *Scaling) (*design, error) {
	x := &design{outputs: d.Task.outputs(len(d.Labels))}
	for i := range m.f {
		if m.f[i].weight > 0 {
			x.column = append(x.column, uint32(i))
			x.inverse = append(x.inverse, s.Inverse[i])
			x.shift = append(x.shift, float64(s.Center[i]*s.Inverse[i]))
		}
	}
	x.kept = len(x.column)
	if t != nil {
		x.factors = len(t.Products)
	}
	if err := x.fill(ctx, d, t, m.share() >= leastDense); err != nil {
		return nil, err
	}
	x.scaleProducts(t)
	x.columns = len(x.column)
	return x, nil
}

// leastDense is the share of values that are not 0 from which rows have all columns.
const leastDense = 0.25

// like returns the rows of other data in the columns of x, without features that x lacks.
func (x *design) like(ctx context.Context, d Data, t *Transform) (*design, error) {
	out := &design{
		outputs: x.outputs, columns: x.columns, column: x.column, inverse: x.inverse, shift: x.shift,
		kept: x.kept, factors: x.factors, productInverse: x.productInverse, productShift: x.productShift,
	}
	return out, out.fill(ctx, d, t, x.dense != nil)
}

// fill reads the rows, with all columns or without the zeros.
func (x *design) fill(ctx context.Context, d Data, t *Transform, dense bool) error {
	info := d.Set.Info()
	x.truth, x.weight = make([]int32, 0, info.Rows), make([]float64, 0, info.Rows)
	if dense {
		x.dense = make([]float32, 0, info.Rows*int64(x.kept))
	} else {
		x.start = append(make([]int, 0, info.Rows+1), 0)
	}
	x.factor = make([]float32, 0, info.Rows*int64(x.factors))
	zero := make([]float32, x.kept)
	for k, s := range x.shift[:x.kept] {
		zero[k] = float32(-s)
	}
	placeOf := make([]uint32, info.Dim)
	for i := range placeOf {
		placeOf[i] = math.MaxUint32
	}
	for k, i := range x.column[:x.kept] {
		placeOf[i] = uint32(k)
	}
	factors := make([]float64, x.factors)
	visit := func(index []uint32, value []float32, class uint16, weight float64) error {
		x.rows++
		x.truth, x.weight = append(x.truth, int32(d.labelIndex(class))), append(x.weight, weight)
		if x.factors > 0 {
			t.factors(factors, index, value)
			for _, f := range factors {
				x.factor = append(x.factor, float32(max(-mostFactor, min(f, mostFactor))))
			}
		}
		if dense {
			from := len(x.dense)
			x.dense = append(x.dense, zero...)
			row := x.dense[from:]
			for j, i := range index {
				if k := placeOf[i]; int(k) < x.kept {
					row[k] = float32(float64(float64(value[j])*x.inverse[k]) - x.shift[k])
				}
			}
			return nil
		}
		for j, i := range index {
			if k := placeOf[i]; int(k) < x.kept {
				x.place = append(x.place, k)
				x.value = append(x.value, float32(float64(value[j])*x.inverse[k]))
			}
		}
		x.start = append(x.start, len(x.place))
		return nil
	}
	return d.read(ctx, t.withoutProducts().reading(visit))
}

// scaleProducts appends the columns of products, each standardised. Two passes over the factors.
func (x *design) scaleProducts(t *Transform) {
	if x.factors == 0 {
		return
	}
	padded := dense.Padded(x.factors)
	for i := range x.factors {
		for j := i; j < x.factors; j++ {
			x.pair = append(x.pair, x.kept+dense.PairPlace(padded, i, j))
		}
	}
	n := len(x.pair)
	x.productInverse, x.productShift = slices.Repeat([]float32{1}, n), make([]float32, n)
	mean, variance := make([]float64, n), make([]float64, n)
	row := make([]float32, n)
	total := 0.0
	for i, w := range x.weight {
		total += w
		dense.Products(row, x.rowFactors(i), x.productInverse, x.productShift)
		dense.AddScaled(mean, w, row)
	}
	for k := range mean {
		mean[k] /= total
		x.productShift[k] = float32(mean[k])
	}
	for i, w := range x.weight {
		dense.Products(row, x.rowFactors(i), x.productInverse, x.productShift)
		dense.AddSquares(variance, w, row)
	}
	for k, v := range variance {
		sd := math.Sqrt(v / total)
		inverse := float32(0)
		if sd > minProductSpread*math.Abs(mean[k]) {
			inverse = float32(1 / sd)
		}
		x.productInverse[k], x.productShift[k] = inverse, float32(float64(inverse)*mean[k])
		x.column = append(x.column, uint32(t.Dim+k))
		x.inverse = append(x.inverse, float64(inverse))
		x.shift = append(x.shift, float64(x.productShift[k]))
	}
}

// byFactors reports whether the scores and the gradient are computed with the factors of the
// products in place of these.
func (x *design) byFactors() bool { return x.factors > 0 && x.outputs == 1 }

// apart reports whether the centre of column k is not in the numbers that a [rowReader] takes.
func (x *design) apart(k int) bool {
	return x.dense == nil && k < x.kept || x.byFactors() && k >= x.kept
}

// raw returns a solution w, with intercepts at its end, for the numbers that a [rowReader] takes:
// the weights, those of products by their factors in the places of [dense.Quadratic], and the
// constants of the outputs, from which the centres that are kept apart are taken off. The weights
// are w itself where they are the same.
func (x *design) raw(w []float64) (weights, bias []float64) {
	outputs := x.outputs
	bias = slices.Clone(w[x.columns*outputs:])
	for k, s := range x.shift {
		if s != 0 && x.apart(k) {
			for c := range bias {
				bias[c] -= float64(w[k*outputs+c] * s)
			}
		}
	}
	if !x.byFactors() {
		return w, bias
	}
	weights = x.newRaw()
	copy(weights, w[:x.kept])
	for k, to := range x.pair {
		weights[to] = float64(w[x.kept+k] * x.inverse[x.kept+k])
	}
	return weights, bias
}

// newRaw makes room for the weights of raw by factors.
func (x *design) newRaw() []float64 {
	padded := dense.Padded(x.factors)
	return make([]float64, x.kept+dense.PairPlace(padded, padded, padded))
}

// fromRaw turns a gradient by the weights of raw, and its sums over the rows, into that by a
// solution. Without factors raw is grad.
func (x *design) fromRaw(grad, raw, sums []float64) {
	if x.byFactors() {
		copy(grad, raw[:x.kept])
		for k, from := range x.pair {
			grad[x.kept+k] = float64(raw[from] * x.inverse[x.kept+k])
		}
	}
	for k, s := range x.shift {
		if s != 0 && x.apart(k) {
			for c, sum := range sums {
				grad[k*x.outputs+c] -= float64(sum * s)
			}
		}
	}
}

// problem is logistic regression of two labels, or multinomial of more, with a weight for each
// label:
//
//	minimise (1/W)·Σ ω·k_y·loss + (λ/2)·Σ_c ‖w_c‖²,  W = Σ ω·k_y, with free intercepts.
//
// The coordinates are the weights of the outputs for the first column, those for the second and so
// on, and at the end the intercepts. Two labels have one output, the score of label 0. There is a
// preconditioner if it is worth its work within so many passes.
func (x *design) problem(weights []float64, lambda float64, passes int) *batch {
	outputs := x.outputs
	z, sums := make([]float64, outputs), make([]float64, outputs)
	h, rows, logs := newPreconditioner(x, lambda, passes), x.reader(), make([]logSum, len(weights))
	var raw []float64
	if x.byFactors() {
		raw = x.newRaw()
	}
	return &batch{preconditioner: h, pass: func(w, grad []float64) (float64, error) {
		v, bias := x.raw(w)
		clear(sums)
		to := grad
		if raw != nil {
			clear(raw)
			to = raw
		}
		h.begin()
		var loss compensated.Sum
		total := 0.0
		for y := range logs {
			logs[y] = logSum{sum: &loss, product: 1}
		}
		for i := range x.rows {
			y := int(x.truth[i])
			k := float64(weights[y] * x.weight[i])
			if k == 0 {
				continue
			}
			total += k
			rows.scores(z, v, bias, i)
			var linear, factor float64
			if outputs == 1 {
				linear, factor = twoLoss(z, y)
			} else {
				linear, factor = softmaxLoss(z, y)
			}
			loss.Add(float64(k * linear))
			logs[y].add(k, factor)
			for c, g := range z {
				z[c] = float64(k * g)
				sums[c] += z[c]
			}
			h.observe(i, z, k)
			rows.addTo(to, z, i)
		}
		for y := range logs {
			logs[y].flush()
		}
		value := loss.Value() / total
		x.fromRaw(grad, raw, sums)
		last := x.columns * outputs
		for j := range last {
			grad[j] = grad[j]/total + float64(lambda*w[j])
			value += float64(lambda / 2 * w[j] * w[j])
		}
		for c, s := range sums {
			grad[last+c] = s / total
		}
		return value, nil
	}}
}

// twoLoss returns the logistic loss of label y as linear + ln(factor) and replaces the score by its
// derivative. A loss below 1e-16 is rounded to 0, which changes no mean of losses that matters.
func twoLoss(z []float64, y int) (linear, factor float64) {
	m := z[0]
	if y != 0 {
		m = -m
	}
	e := portable.Exp(-math.Abs(m))
	g := -1 / (1 + e)
	if m > 0 {
		g *= e
	}
	if y != 0 {
		g = -g
	}
	z[0] = g
	return max(-m, 0), 1 + e
}

// softmaxLoss is twoLoss for the scores of several labels.
func softmaxLoss(z []float64, y int) (linear, factor float64) {
	top, own := z[argmax(z)], z[y]
	mass := 0.0
	for c := range z {
		z[c] = portable.Exp(z[c] - top)
		mass += z[c]
	}
	for c := range z {
		z[c] /= mass
	}
	z[y]--
	return top - own, mass
}

// logSum adds Σ k·ln(f) of factors 1 ≤ f ≤ 65,536 to a sum. It takes one logarithm of the product
// of factors that follow one another with the same k: a logarithm costs as much as 40 columns of a
// row.
type logSum struct {
	sum     *compensated.Sum
	k       float64 // of the factors that are not in the sum
	product float64 // of these, 1 at first
}

func (s *logSum) add(k, factor float64) {
	if k != s.k || s.product > 1e280 {
		s.flush()
		s.k = k
	}
	s.product *= factor
}

func (s *logSum) flush() {
	s.sum.Add(float64(s.k * portable.Log(s.product)))
	s.product = 1
}

// models returns a solution as linear models of the features that x was made of.
func (x *design) models(w []float64, dim int) []Linear {
	out := make([]Linear, x.outputs)
	for c := range out {
		m := Linear{Weights: make([]float64, dim), Intercept: w[x.columns*x.outputs+c]}
		for k, i := range x.column {
			v := w[k*x.outputs+c]
			m.Weights[i] = float64(v * x.inverse[k])
			m.Intercept -= float64(v * x.shift[k])
		}
		out[c] = m
	}
	return out
}
