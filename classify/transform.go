package classify

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/portable"
)

// Transform makes the features that a linear model is trained on from those of the data: some
// columns get other values, and then the products of some columns are appended. It is fixed before
// training, and prediction applies it. It is not changed, so it is safe for concurrent use.
type Transform struct {
	// Dim is the number of features of the data.
	Dim int `json:"dim"`
	// Columns are the features whose values change, in ascending order of Index.
	Columns []ColumnMap `json:"columns"`
	// Products are the features of which all products of two, the squares included, are appended,
	// in ascending order: those of the first with itself and all later ones, then those of the
	// second, and so on.
	Products []ProductColumn `json:"products"`
}

// ColumnMap replaces the values x of a feature. Without Knots the new value is sign(x)·log(1 +
// |x|/Scale). With Knots, at least two that ascend, it is twice the rank of x among them less 1, by
// linear interpolation and within [-1, 1].
type ColumnMap struct {
	Index uint32    `json:"index"`
	Scale float64   `json:"scale"`
	Knots []float64 `json:"knots"`
}

// ProductColumn is a factor of products: (x - Center)·Inverse of the feature's new value x.
type ProductColumn struct {
	Index   uint32  `json:"index"`
	Center  float64 `json:"center"`
	Inverse float64 `json:"inverse"`
}

// Features is the number of features after the transform.
func (t *Transform) Features() int {
	n := len(t.Products)
	return t.Dim + n*(n+1)/2
}

// apply is the new value.
func (c *ColumnMap) apply(x float64) float64 {
	if len(c.Knots) == 0 {
		v := portable.Log1p(math.Abs(x) / c.Scale)
		if x < 0 {
			return -v
		}
		return v
	}
	last := len(c.Knots) - 1
	switch {
	case x <= c.Knots[0]:
		return -1
	case x >= c.Knots[last]:
		return 1
	}
	i := sort.SearchFloat64s(c.Knots, x) // Knots[i-1] < x ≤ Knots[i]
	within := (x - c.Knots[i-1]) / (c.Knots[i] - c.Knots[i-1])
	return float64(2*(float64(i-1)+within)/float64(last)) - 1
}

// Apply appends the features of a row after the transform to toIndex and toValue. Features at or
// above Dim are dropped. O(nnz + columns + products).
func (t *Transform) Apply(index []uint32, value []float32, toIndex []uint32, toValue []float32) ([]uint32, []float32) {
	from, k := len(toIndex), len(t.Products)
	most := len(index) + len(t.Columns) + k*(k+1)/2
	toIndex, toValue = slices.Grow(toIndex, most), slices.Grow(toValue, most)
	j := 0
	for c := range t.Columns {
		column := &t.Columns[c]
		for ; j < len(index) && index[j] < column.Index; j++ {
			toIndex, toValue = append(toIndex, index[j]), append(toValue, value[j])
		}
		x := 0.0
		if j < len(index) && index[j] == column.Index {
			x = float64(value[j])
			j++
		}
		if v := float32(column.apply(x)); v != 0 { // 0 is not stored
			toIndex, toValue = append(toIndex, column.Index), append(toValue, v)
		}
	}
	for ; j < len(index) && int64(index[j]) < int64(t.Dim); j++ {
		toIndex, toValue = append(toIndex, index[j]), append(toValue, value[j])
	}
	if k == 0 {
		return toIndex, toValue
	}
	return t.appendProducts(from, toIndex, toValue)
}

// factors writes the factors of the products of a row, given its features after the change of
// columns.
func (t *Transform) factors(to []float64, index []uint32, value []float32) {
	at := 0
	for k := range t.Products {
		p := &t.Products[k]
		for at < len(index) && index[at] < p.Index {
			at++
		}
		x := 0.0
		if at < len(index) && index[at] == p.Index {
			x = float64(value[at])
		}
		to[k] = float64((x - p.Center) * p.Inverse)
	}
}

// withoutProducts is the change of columns alone, nil if there is none.
func (t *Transform) withoutProducts() *Transform {
	if t == nil || len(t.Products) == 0 {
		return t
	}
	if len(t.Columns) == 0 {
		return nil
	}
	return &Transform{Dim: t.Dim, Columns: t.Columns, Products: []ProductColumn{}}
}

// appendProducts appends the products of the factors among the features after place from.
func (t *Transform) appendProducts(from int, toIndex []uint32, toValue []float32) ([]uint32, []float32) {
	var few [mostProducts]float64
	factors := few[:len(t.Products)]
	t.factors(factors, toIndex[from:], toValue[from:])
	next := uint32(t.Dim)
	for k, a := range factors {
		for _, b := range factors[k:] {
			v := float32(a * b)
			if v-v != 0 { // a value is finite as float32
				v = float32(min(max(float64(a*b), -math.MaxFloat32), math.MaxFloat32))
			}
			if v != 0 {
				toIndex, toValue = append(toIndex, next), append(toValue, v)
			}
			next++
		}
	}
	return toIndex, toValue
}

// name returns the name of feature i after the transform, given the names of those before it.
func (t *Transform) name(i uint32, of func(uint32) string) string {
	if int64(i) < int64(t.Dim) {
		c, found := slices.BinarySearchFunc(t.Columns, i, func(c ColumnMap, i uint32) int {
			return cmp.Compare(c.Index, i)
		})
		switch {
		case !found:
			return of(i)
		case len(t.Columns[c].Knots) > 0:
			return "rank(" + of(i) + ")"
		}
		return "log(" + of(i) + ")"
	}
	at, n := int(i)-t.Dim, len(t.Products)
	for k := range n {
		if at < n-k {
			inner := Transform{Dim: t.Dim, Columns: t.Columns}
			return inner.name(t.Products[k].Index, of) + "·" + inner.name(t.Products[k+at].Index, of)
		}
		at -= n - k
	}
	return of(i)
}

// check returns an error of code bad_input for a transform of other features, or with parts out of
// range.
func (t *Transform) check(dim int) error {
	if t == nil {
		return nil
	}
	if t.Dim != dim {
		return noregret.BadInputf("transform.dim", "%d, but schema.dim is %d", t.Dim, dim)
	}
	if n := len(t.Products); n > mostProducts {
		return noregret.BadInputf("transform.products", "there are %d, want at most %d", n, mostProducts)
	}
	next := int64(0)
	for i, c := range t.Columns {
		ok := int64(c.Index) >= next && int64(c.Index) < int64(dim) && aboveZero(c.Scale) && len(c.Knots) != 1
		for k, v := range c.Knots {
			ok = ok && v-v == 0 && (k == 0 || c.Knots[k-1] < v)
		}
		if !ok {
			return noregret.BadInputf(fmt.Sprintf("transform.columns[%d]", i),
				"feature %d with scale %v and %d "+
					"knots, want ascending features, a scale above 0 and no knots or at least two that ascend",
				c.Index, c.Scale, len(c.Knots))
		}
		next = int64(c.Index) + 1
	}
	next = 0
	for i, p := range t.Products {
		if int64(p.Index) < next || int64(p.Index) >= int64(dim) || p.Center-p.Center != 0 || !aboveZero(p.Inverse) {
			return noregret.BadInputf(fmt.Sprintf("transform.products[%d]", i),
				"feature %d with centre %v and "+
					"inverse %v, want ascending features, a finite centre and an inverse above 0",
				p.Index, p.Center, p.Inverse)
		}
		next = int64(p.Index) + 1
	}
	return nil
}

// mostProducts is the largest number of features whose products are appended, and mostKnots that of
// the knots of a column.
const (
	mostProducts = 60
	mostKnots    = 33
)

// features says what a [Transform] is made of. The zero value changes nothing.
type features struct {
	columns  string // "", "log" or "rank"
	products bool
}

// String describes the features.
func (f features) String() string {
	switch {
	case f.columns == "" && !f.products:
		return "as they are"
	case !f.products:
		return f.columns
	case f.columns == "":
		return "products"
	}
	return f.columns + ", products"
}

// newTransform makes the transform of data, nil if it changes nothing. Columns are changed where at
// least half of the values are not 0 and there are more than two of them; rows are at most
// mostKnotRows of the data. The products are of the most that the columns number, those that differ
// most between the labels. Up to two passes.
func newTransform(ctx context.Context, d Data, f features, most int) (*Transform, error) {
	if f == (features{}) {
		return nil, nil
	}
	t := &Transform{Dim: d.Set.Info().Dim, Columns: []ColumnMap{}, Products: []ProductColumn{}}
	if f.columns != "" {
		if err := t.mapColumns(ctx, d, f.columns == "rank"); err != nil {
			return nil, err
		}
	}
	if f.products {
		mapped, err := d.transformed(t)
		if err != nil {
			return nil, err
		}
		if err := t.chooseProducts(ctx, mapped, most); err != nil {
			return nil, err
		}
	}
	if len(t.Columns)+len(t.Products) == 0 {
		return nil, nil
	}
	return t, nil
}

// mostKnotRows bounds the rows whose values the knots of columns are made from, and
// mostMappedColumns the number of columns.
const (
	mostKnotRows      = 20_000
	mostMappedColumns = 2_000
)

// mapColumns maps the columns of which at least half of the values are not 0.
func (t *Transform) mapColumns(ctx context.Context, d Data, rank bool) error {
	every := max(1, (d.Set.Info().Rows+mostKnotRows-1)/mostKnotRows)
	values := make([][]float64, 1) // of the columns as they occur, after an empty one
	place := make([]uint16, t.Dim) // of a column in values, 0 for those that do not occur
	var at, kept int64
	err := d.read(ctx, func(index []uint32, value []float32, _ uint16, _ float64) error {
		if at++; (at-1)%every != 0 {
			return nil
		}
		kept++
		for j, i := range index {
			if place[i] == 0 && len(values) <= mostMappedColumns {
				place[i] = uint16(len(values))
				values = append(values, nil)
			}
			if k := place[i]; k > 0 {
				values[k] = append(values[k], float64(value[j]))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, k := range place {
		v := values[k]
		if float64(len(v)) < denseShare*float64(kept) {
			continue
		}
		zeros := int(kept) - len(v)
		for range zeros {
			v = append(v, 0)
		}
		slices.Sort(v)
		if knots := knotsOf(v); len(knots) > 2 {
			c := ColumnMap{Index: uint32(i), Scale: scaleOf(v), Knots: []float64{}}
			if rank {
				c.Knots = knots
			}
			t.Columns = append(t.Columns, c)
		}
	}
	return nil
}

// knotsOf returns at most mostKnots different quantiles of sorted values.
func knotsOf(v []float64) []float64 {
	var out []float64
	for k := range mostKnots {
		x := v[k*(len(v)-1)/(mostKnots-1)]
		if len(out) == 0 || x > out[len(out)-1] {
			out = append(out, x)
		}
	}
	return out
}

// scaleOf is the scale of a logarithm of sorted values: of the absolute values that are not 0 the
// quantile of 5 % if all have one sign, so that nearly all are mapped to their logarithms and a
// constant. Else it is the median, as a smaller scale would nearly map them to their signs.
func scaleOf(v []float64) float64 {
	var size []float64
	for _, x := range v {
		if x != 0 {
			size = append(size, math.Abs(x))
		}
	}
	if len(size) == 0 {
		return 1
	}
	slices.Sort(size)
	if v[0] >= 0 || v[len(v)-1] <= 0 {
		return size[len(size)/20]
	}
	return size[len(size)/2]
}

// chooseProducts chooses the features of d whose products are appended: those that vary, at most
// the given number, by the share of their variance that is between the labels.
func (t *Transform) chooseProducts(ctx context.Context, d Data, most int) error {
	m, err := d.moments(ctx)
	if err != nil {
		return err
	}
	s := m.scaling(t.Dim, true)
	labels := len(d.Set.Info().Labels)
	sums, weights := make([][]float64, labels), make([]float64, labels)
	for k := range sums {
		sums[k] = make([]float64, t.Dim)
	}
	err = d.read(ctx, func(index []uint32, value []float32, class uint16, weight float64) error {
		if class == dataset.NoClass {
			return nil
		}
		weights[class] += weight
		for j, i := range index {
			sums[class][i] += float64(weight * float64(value[j]))
		}
		return nil
	})
	if err != nil {
		return err
	}
	type column struct {
		ProductColumn
		between float64
	}
	var all []column
	for i := range min(t.Dim, len(m.f)) {
		f := &m.f[i]
		if f.weight == 0 || !(m.total > 0) {
			continue
		}
		mean := float64(f.mean * f.weight / m.total)
		zero := m.total - f.weight
		variance := (f.m2 + float64(f.mean*f.mean*f.weight*zero)/m.total) / m.total
		sd := math.Sqrt(variance)
		if !(sd > minRelativeSpread*math.Abs(mean)) || !aboveZero(1/sd) || !(s.Inverse[i] > 0) {
			continue
		}
		c := column{ProductColumn: ProductColumn{Index: uint32(i), Center: mean, Inverse: 1 / sd}}
		for k, w := range weights {
			if w > 0 {
				e := sums[k][i]/w - mean
				c.between += float64(e * e / variance)
			}
		}
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b column) int { return cmp.Compare(b.between, a.between) })
	all = all[:min(len(all), most, mostProducts)]
	slices.SortFunc(all, func(a, b column) int { return cmp.Compare(a.Index, b.Index) })
	for _, c := range all {
		t.Products = append(t.Products, c.ProductColumn)
	}
	return nil
}

// transformed returns the data after the transform; nil changes nothing.
func (d Data) transformed(t *Transform) (Data, error) {
	if t == nil {
		return d, nil
	}
	set, err := d.Set.Map(t.Features(), t.Apply)
	if err != nil {
		return d, err
	}
	return d.withSet(set), nil
}
