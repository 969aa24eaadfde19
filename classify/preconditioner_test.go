package classify

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/random"
)

// dependentRows is data whose columns depend on one another and have scales from 1 to 1e-3. The
// given share of values is not 0.
func dependentRows(t *testing.T, rows, columns, labels int, share float64) Data {
	t.Helper()
	names := []string{"a", "b", "c"}[:labels]
	b, err := dataset.NewBuilder(columns, names...)
	if err != nil {
		t.Fatal(err)
	}
	rng := random.New(5, "rows")
	for range rows {
		common, score := rng.NormFloat64(), 0.0
		var index []uint32
		var value []float32
		for j := range columns {
			v := common + 0.1*rng.NormFloat64()
			if rng.Float64() >= share {
				continue
			}
			score += v * math.Cos(float64(j))
			index = append(index, uint32(j))
			value = append(value, float32(v*math.Pow(10, -3*float64(j)/float64(columns))))
		}
		class := 0
		switch score += rng.NormFloat64(); {
		case score > 1 && labels > 2:
			class = 2
		case score > 0:
			class = 1
		}
		if err := b.Add(index, value, class, 1+rng.Float64()); err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.Set()
	if err != nil {
		t.Fatal(err)
	}
	if labels == 2 {
		return Data{Set: s, Positive: 1}
	}
	d, err := NewData(s, Multiclass)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// designOf is the design of data as they are.
func designOf(t *testing.T, d Data, scale string) *design {
	t.Helper()
	return scaledDesign(t, d, nil, scale)
}

// transformedDesign is the design of data after a transform, on the standard scale.
func transformedDesign(t *testing.T, d Data, transform *Transform) *design {
	t.Helper()
	return scaledDesign(t, d, transform, scaleStandard)
}

func scaledDesign(t *testing.T, d Data, transform *Transform, scale string) *design {
	t.Helper()
	m, err := newMappedMoments(context.Background(), d, transform)
	if err != nil {
		t.Fatal(err)
	}
	x, err := newDesign(context.Background(), d, transform, m, m.scaled(scale, d.Set.Info().Dim))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// applied draws a vector of n numbers and returns it with what the preconditioner of p, of one
// output, makes of its product with the Hessian at a point that is drawn, too.
func applied(p *batch, n int) (v, product []float64) {
	rng := random.New(1, "vectors")
	w := make([]float64, n)
	v = make([]float64, len(w))
	for i := range w {
		w[i], v[i] = 0.1*rng.NormFloat64(), rng.NormFloat64()
	}
	product = hessianTimes(p, w, v)
	p.pass(w, make([]float64, len(w)))
	p.preconditioner.apply(product)
	return v, product
}

// hessianTimes is the product of the Hessian of p at w with v, by differences of gradients.
func hessianTimes(p *batch, w, v []float64) []float64 {
	const step = 1e-4
	at, up, down := make([]float64, len(w)), make([]float64, len(w)), make([]float64, len(w))
	for i := range w {
		at[i] = w[i] + step*v[i]
	}
	p.pass(at, up)
	for i := range w {
		at[i] = w[i] - step*v[i]
	}
	p.pass(at, down)
	for i := range up {
		up[i] = (up[i] - down[i]) / (2 * step)
	}
	return up
}

// With all rows and one output the inverse is that of the Hessian; with a sample it is near.
func TestPreconditionerInvertsTheHessian(t *testing.T) {
	for name, c := range map[string]struct {
		rows, columns, passes int
		share                 float64
		sampled               bool
		within                float64
	}{
		"dense":         {400, 12, 100, 1, false, 1e-5},
		"sparse":        {400, 12, 100, 0.1, false, 1e-5},
		"dense sample":  {6000, 100, 13, 1, true, 0.3},
		"sparse sample": {20_000, 500, 13, 0.2, true, 0.3},
	} {
		x := designOf(t, dependentRows(t, c.rows, c.columns, 2, c.share), scaleStandard)
		if sparse := x.dense == nil; sparse != (c.share < 0.25) {
			t.Errorf("%s: sparse is %v", name, sparse)
		}
		p := x.problem([]float64{3, 1}, 0.01, c.passes)
		h := p.preconditioner
		if h == nil || (h.norms != nil) != c.sampled {
			t.Fatalf("%s: no preconditioner, or not of a sample as wanted (%v)", name, c.sampled)
		}
		v, product := applied(p, x.columns+1)
		if c.sampled {
			checkSample(t, name, h)
		}
		off, size := 0.0, 0.0
		for i := range v {
			off += (product[i] - v[i]) * (product[i] - v[i])
			size += v[i] * v[i]
		}
		if got := math.Sqrt(off / size); !(got <= c.within) {
			t.Errorf("%s: off by %v, want %v", name, got, c.within)
		}
	}
}

// checkSample checks that the weights of a sample stand for all rows: they add up to about the sum
// of the curvatures, and those of single rows are theirs where they are large.
func checkSample(t *testing.T, name string, h *preconditioner) {
	t.Helper()
	total := 0.0
	for _, w := range h.curvature {
		total += w
	}
	sum, rows := 0.0, 0
	h.eachRow(total, func(_ int, weight float64) {
		sum += weight
		rows++
	})
	if rows > h.rows || rows < h.rows*3/4 || math.Abs(sum/total-1) > 0.05 {
		t.Errorf("%s: %d rows of %d with weights of %v, want about %d and %v", name, rows, h.x.rows, sum, h.rows, total)
	}
	// A row with most of the importance is in the sample with its own weight.
	at := h.x.rows / 2
	old := h.curvature[at]
	h.curvature[at] = total
	found := 0.0
	h.eachRow(2*total-old, func(i int, weight float64) {
		if i == at {
			found = weight
		}
	})
	if h.curvature[at] = old; found != total {
		t.Errorf("%s: a row of weight %v is in the sample with %v", name, total, found)
	}
}

// An optimum is the same with a preconditioner and takes half of the passes or fewer, and less
// work, where columns depend on one another.
func TestPreconditionerFindsTheOptimum(t *testing.T) {
	for name, c := range map[string]struct {
		labels int
		share  float64
		scale  string
	}{
		"two labels":            {2, 1, scaleStandard},
		"two labels, unscaled":  {2, 1, scaleNone},
		"two labels, sparse":    {2, 0.2, scaleNone},
		"three labels":          {3, 1, scaleStandard},
		"three labels, sparse":  {3, 0.2, scaleNone},
		"three labels, max-abs": {3, 1, scaleMaxAbs},
	} {
		x := designOf(t, dependentRows(t, 2000, 20, c.labels, c.share), c.scale)
		weights := []float64{2, 1, 1}[:max(2, x.outputs)]
		const lambda, most = 1e-3, 2000
		with := x.problem(weights, lambda, most)
		without := x.problem(weights, lambda, 0)
		if with.preconditioner == nil || without.preconditioner != nil {
			t.Fatalf("%s: the first problem has no preconditioner or the second has one", name)
		}
		start := make([]float64, (x.columns+1)*x.outputs)
		a, err := with.solve(start, most, 1e-7)
		if err != nil {
			t.Fatal(err)
		}
		b, err := without.solve(start, most, 1e-7)
		if err != nil {
			t.Fatal(err)
		}
		if !a.converged || !(with.value <= without.value+1e-9) {
			t.Errorf("%s: value %v (converged: %v), without a preconditioner %v",
				name, with.value, a.converged, without.value)
		}
		if float64(a.passes) > 0.5*float64(b.passes) || a.work >= b.work {
			t.Errorf("%s: %d passes and the work of %v, without a preconditioner %v passes",
				name, a.passes, a.work, b.passes)
		}
	}
}

// The work of a preconditioner counts: together with the passes it stays within what is allowed.
func TestPreconditionerKeepsToItsPasses(t *testing.T) {
	x := designOf(t, dependentRows(t, 2000, 20, 2, 1), scaleStandard)
	for _, most := range []int{1, 5, 12, 20, 40} {
		p := x.problem([]float64{1, 1}, 1e-6, most)
		r, err := p.solve(make([]float64, x.columns+1), most, 0)
		if err != nil {
			t.Fatal(err)
		}
		cost := 0.0
		if p.preconditioner != nil {
			cost = p.preconditioner.cost
		}
		// The last pass, a Hessian begun before the limit, and one pass at the point returned.
		if r.work > float64(most)+cost+2 {
			t.Errorf("%d passes allowed, the work is %v", most, r.work)
		}
	}
}

// Rows that are all certain leave no curvature: the inverse changes nothing then.
func TestPreconditionerWithoutCurvature(t *testing.T) {
	x := designOf(t, dependentRows(t, 200, 3, 2, 1), scaleStandard)
	p := x.problem([]float64{1, 1}, 0, 100)
	p.evaluate([]float64{0, 0, 0, 1e6}) // every score is 1e6
	v := []float64{1, -2, 3, 4}
	p.preconditioner.apply(v)
	if v[0] != 1 || v[1] != -2 || v[2] != 3 || v[3] != 4 {
		t.Errorf("the vector has become %v", v)
	}
}

// Near the optimum the Hessian of other rows serves: with it there is less work. One of other
// columns is not taken.
func TestPreconditionerStartsFromAnother(t *testing.T) {
	d := dependentRows(t, 4000, 20, 2, 1)
	halves, err := d.Set.Folds(1, "halves", 2)
	if err != nil {
		t.Fatal(err)
	}
	const most = 200
	solve := func(half int, start []float64, hessian *hessianFactor) lbfgsResult {
		x := designOf(t, d.withSet(halves[half].Rest), scaleStandard)
		p := x.problem([]float64{2, 1}, 1e-3, most)
		p.preconditioner.startFrom(hessian)
		r, err := p.solve(start, most, 1e-5)
		if err != nil || !r.converged || r.hessian == nil {
			t.Fatalf("%+v, %v", r, err)
		}
		return r
	}
	first := solve(0, make([]float64, 21), nil)
	own, taken := solve(1, first.w, nil), solve(1, first.w, first.hessian)
	if !(taken.work < own.work) {
		t.Errorf("the work is %v with the Hessian of the other half, %v without", taken.work, own.work)
	}
	for i, v := range taken.w {
		if math.Abs(v-own.w[i]) > 1e-3 {
			t.Errorf("coordinate %d is %v, without the other's Hessian %v", i, v, own.w[i])
		}
	}
	other := *first.hessian
	other.column = slices.Clone(other.column)
	other.column[3]++
	if r := solve(1, first.w, &other); r.work != own.work {
		t.Errorf("a Hessian of other columns changes the work from %v to %v", own.work, r.work)
	}
}

// The Hessian has the products, also of rows that are kept without their zeros.
func TestPreconditionerWithProducts(t *testing.T) {
	for name, share := range map[string]float64{"dense": 1, "sparse": 0.1} {
		d := dependentRows(t, 900, 8, 2, share)
		transform, err := newTransform(context.Background(), d, features{products: true}, 5)
		if err != nil {
			t.Fatal(err)
		}
		x := transformedDesign(t, d, transform)
		if len(transform.Products) != 5 || (x.dense == nil) != (share < leastDense) {
			t.Fatalf("%s: %d factors of rows with zeros: %v", name, len(transform.Products), x.dense == nil)
		}
		p := x.problem([]float64{3, 1}, 0.01, 1000)
		v, product := applied(p, x.columns+1)
		for i := range v {
			if math.Abs(product[i]-v[i]) > 1e-3 {
				t.Errorf("%s: coordinate %d of the vector is %v, want %v", name, i, product[i], v[i])
			}
		}
	}
}
