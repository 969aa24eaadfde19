package classify

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/compensated"
	"github.com/noregret/noregret/internal/random"
)

// sparseRows are rows of classes with a dense column, rare ones, and one that never occurs.
func sparseRows(t *testing.T, n, dim int, task Task, classes ...string) Data {
	t.Helper()
	b, err := dataset.NewBuilder(dim, classes...)
	if err != nil {
		t.Fatal(err)
	}
	rng := random.New(5, "sparse")
	for i := range n {
		class := i % len(classes)
		index, value := []uint32{0}, []float32{float32(5 + float64(class) + rng.NormFloat64())}
		for j := 1; j < dim-1; j++ {
			if rng.Float64() < 0.1 {
				index, value = append(index, uint32(j)), append(value, float32(rng.NormFloat64()))
			}
		}
		if err := b.Add(index, value, class, float64(1+i%3)); err != nil {
			t.Fatal(err)
		}
	}
	return builtData(t, b, task)
}

// A design's problem has the value and the gradient of the problem that reads the rows from the
// set, for rows of all columns, for rows without their zeros, and with products.
func TestDesignProblem(t *testing.T) {
	for name, d := range map[string]Data{
		"dense two":             rings(t, 300, 2),
		"dense three":           rings(t, 300, 3),
		"sparse two":            sparseRows(t, 300, 20, Binary, "0", "1"),
		"sparse three":          sparseRows(t, 300, 20, Multiclass, "0", "1", "2"),
		"two classes":           sparseRows(t, 300, 20, Multiclass, "0", "1"),
		"products, dense two":   rings(t, 300, 2),
		"products, dense three": rings(t, 300, 3),
		"products, sparse two":  sparseRows(t, 300, 20, Binary, "0", "1"),
		"log, products":         sparseRows(t, 300, 20, Multiclass, "0", "1", "2"),
	} {
		ctx, columns := context.Background(), ""
		if strings.HasPrefix(name, "log") {
			columns = "log"
		}
		transform, err := newTransform(ctx, d, features{
			products: strings.Contains(name, "products"), columns: columns,
		}, 24)
		if err != nil {
			t.Fatal(err)
		}
		sparse := d.Set.Info().Dim == 20
		own := d
		m, err := newMappedMoments(ctx, own, transform)
		if err != nil {
			t.Fatal(err)
		}
		if d, err = d.transformed(transform); err != nil {
			t.Fatal(err)
		}
		mapped, err := newMappedMoments(ctx, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		dim := d.Set.Info().Dim
		s := mapped.scaled(scaleStandard, dim)
		x, err := newDesign(ctx, own, transform, m, m.scaled(scaleStandard, dim))
		if err != nil {
			t.Fatal(err)
		}
		if dense := x.dense != nil; dense == sparse {
			t.Errorf("%s: dense is %v", name, dense)
		}
		const lambda = 0.01
		lin := newDescent(&Config{Dim: dim, BiasFeature: 1, Radius: math.Inf(1)})
		lin.Standardize(s.Center, s.Inverse)
		weights := []float64{2, 1, 3}[:max(2, x.outputs)]
		set := (&logisticProblem{ctx: ctx, data: d, lin: lin, kPos: 2, kNeg: 1, lambda: lambda}).batch()
		if d.Task == Multiclass {
			set = (&softmaxProblem{ctx: ctx, data: d, lin: lin, weight: weights, lambda: lambda}).batch()
		}
		mine := x.problem(weights, lambda, 1)
		rng := random.New(2, "point")
		small := make([]float64, (x.columns+1)*x.outputs)
		for i := range small {
			small[i] = rng.NormFloat64()
		}
		full := make([]float64, (dim+1)*x.outputs)
		for k, i := range x.column {
			copy(full[int(i)*x.outputs:], small[k*x.outputs:(k+1)*x.outputs])
		}
		copy(full[dim*x.outputs:], small[x.columns*x.outputs:])
		mine.evaluate(make([]float64, len(small))) // nothing is left of an earlier pass
		mine.evaluate(small)
		set.evaluate(full)
		if math.Abs(mine.value-set.value) > 1e-6 {
			t.Errorf("%s: value %v, from the set %v", name, mine.value, set.value)
		}
		for k, i := range append(slices.Clone(x.column), uint32(dim)) {
			for c := range x.outputs {
				if got, want := mine.grad[k*x.outputs+c], set.grad[int(i)*x.outputs+c]; math.Abs(got-want) > 1e-6 {
					t.Errorf("%s: gradient of feature %d, output %d: %v, from the set %v", name, i, c, got, want)
				}
			}
		}
		models, z, rows := x.models(small, dim), make([]float64, x.outputs), x.reader()
		weights, bias := x.raw(small)
		row := 0
		err = d.read(ctx, func(index []uint32, value []float32, _ uint16, _ float64) error {
			rows.scores(z, weights, bias, row)
			row++
			for c := range z {
				if got := models[c].Score(index, value); math.Abs(got-z[c]) > 1e-4 {
					t.Fatalf("%s: row %d has the score %v, the model says %v", name, row, z[c], got)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A sum of logarithms is that of the single ones: of equal and of changing weights, of so many
// factors that their product would overflow, and of factors next to 1.
func TestLogSum(t *testing.T) {
	rng := random.New(3, "factors")
	for name, draw := range map[string]func(i int) (k, factor float64){
		"equal":    func(int) (float64, float64) { return 0.3, 1 + rng.Float64() },
		"changing": func(i int) (float64, float64) { return float64(1 + i%7), 1 + rng.Float64() },
		"large":    func(int) (float64, float64) { return 2, 1 + float64(1e4*rng.Float64()) },
		"near 1":   func(int) (float64, float64) { return 1, 1 + float64(1e-9*rng.Float64()) },
	} {
		var got compensated.Sum
		s, want := logSum{sum: &got, product: 1}, 0.0
		for i := range 5000 {
			k, factor := draw(i)
			s.add(k, factor)
			want += float64(k * math.Log(factor))
		}
		s.flush()
		if v := got.Value(); math.Abs(v-want) > 1e-11*max(1, want) {
			t.Errorf("%s: %v, want %v", name, v, want)
		}
	}
}

// The loss of a row is that of the textbook, also where it is tiny or the score infinite.
func TestTwoLoss(t *testing.T) {
	for _, z := range []float64{0, 0.3, -2, 20, -20, 33.5, 38, -40, 800, -800, math.Inf(1)} {
		for y := range 2 {
			m := z
			if y == 1 {
				m = -z
			}
			at := []float64{z}
			linear, factor := twoLoss(at, y)
			want := max(-m, 0) + math.Log1p(math.Exp(-math.Abs(m)))
			if got := linear + math.Log(factor); got != want && !(math.Abs(got-want) <= 3e-16*max(1, want)) {
				t.Errorf("the loss of label %d at %v is %v, want %v", y, z, got, want)
			}
			slope := -1 / (1 + math.Exp(m))
			if y == 1 {
				slope = -slope
			}
			if math.Abs(at[0]-slope) > 1e-15 {
				t.Errorf("the derivative of label %d at %v is %v, want %v", y, z, at[0], slope)
			}
		}
	}
}

// Features that the rows to train on lack are left out of others.
func TestDesignLike(t *testing.T) {
	ctx := context.Background()
	d, other := sparseRows(t, 60, 20, Binary, "0", "1"), sparseRows(t, 300, 30, Binary, "0", "1")
	m, err := newMappedMoments(ctx, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	x, err := newDesign(ctx, d, nil, m, m.scaled(scaleMaxAbs, 20))
	if err != nil {
		t.Fatal(err)
	}
	y, err := x.like(ctx, other, nil)
	if err != nil {
		t.Fatal(err)
	}
	if y.rows != 300 || y.columns != x.columns || slices.Max(y.place) >= uint32(x.columns) {
		t.Errorf("%d rows of %d columns, the largest %d, want 300 of %d", y.rows, y.columns, slices.Max(y.place),
			x.columns)
	}
	for _, v := range x.value {
		if v > 1 || v < -1 {
			t.Errorf("%v, want at most 1 after the largest", v)
		}
	}
}

// Products that are constant for the rows to train on have no weight, and no row has an infinite
// one.
func TestDesignProducts(t *testing.T) {
	ctx := context.Background()
	of := func(extra ...float32) Data {
		rng := random.New(3, "signs")
		var xs []Example
		for i := range 400 {
			xs = append(xs, Example{
				Index: []uint32{0, 1}, Value: []float32{float32(1 - 2*(i%2)), float32(rng.NormFloat64())},
				Positive: rng.IntN(2) == 1, Weight: 1,
			})
		}
		if extra != nil {
			xs = append(xs, Example{Index: []uint32{0, 1}, Value: extra, Weight: 1})
		}
		return asData(t, xs)
	}
	d := of()
	transform, err := newTransform(ctx, d, features{products: true}, 24)
	if err != nil {
		t.Fatal(err)
	}
	x := transformedDesign(t, d, transform)
	if x.columns != 5 || x.kept != 2 || x.inverse[2] != 0 || !(x.inverse[3] > 0 && x.inverse[4] > 0) {
		t.Fatalf("columns %v with scales %v, want 5 of which the third, a sign squared, has none", x.column, x.inverse)
	}
	w := x.models([]float64{1, 1, 1, 1, 1, 0}, transform.Features())[0].Weights
	if w[x.column[2]] != 0 || w[x.column[3]] == 0 {
		t.Errorf("weights %v, want none of the sign squared", w)
	}
	far, err := x.like(ctx, of(math.MaxFloat32, -math.MaxFloat32), transform)
	if err != nil {
		t.Fatal(err)
	}
	z := []float64{0}
	weights, bias := x.raw([]float64{1e-30, 1e-30, 1, 1, 1, 0})
	far.reader().scores(z, weights, bias, far.rows-1)
	if z[0]-z[0] != 0 || z[0] == 0 {
		t.Errorf("a row of the largest values has the score %v, want a finite one", z[0])
	}
}

// One pass of a batch problem over rows of all columns: the value and the gradient at a point. With
// GOEXPERIMENT=simd it runs the other form of internal/dense.
func BenchmarkDesignPass(b *testing.B) {
	for _, shape := range []struct{ columns, factors, outputs int }{
		{9, 0, 1},
		{41, 0, 1},
		{150, 0, 1},
		{54, 0, 7},
		{16, 0, 26},
		{22, 22, 1},
		{22, 22, 3},
	} {
		name := fmt.Sprintf("columns=%d/factors=%d/outputs=%d", shape.columns, shape.factors, shape.outputs)
		b.Run(name, func(b *testing.B) {
			const rows = 14_000
			x := &design{
				rows: rows, columns: shape.columns, kept: shape.columns, outputs: shape.outputs,
				dense: make([]float32, rows*shape.columns), factors: shape.factors,
			}
			rng := random.New(4, "pass")
			for i := range x.dense {
				x.dense[i] = float32(rng.NormFloat64())
			}
			x.column, x.inverse, x.shift = make([]uint32, x.kept), make([]float64, x.kept), make([]float64, x.kept)
			x.factor = x.dense[:rows*x.factors]
			labels := max(2, x.outputs)
			for i := range x.rows {
				x.truth, x.weight = append(x.truth, int32(i%labels)), append(x.weight, 1)
			}
			x.scaleProducts(new(Transform))
			x.columns = len(x.column)
			p := x.problem(slices.Repeat([]float64{1}, labels), 0.01, 1)
			at := make([]float64, (x.columns+1)*x.outputs)
			for i := range at {
				at[i] = 0.1 * rng.NormFloat64()
			}
			for b.Loop() {
				at[0] += 1e-9 // a point is evaluated once
				p.evaluate(at)
			}
			b.ReportMetric(float64(x.rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
