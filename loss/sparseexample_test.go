package loss

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// TestLiteralConstants guards the constants of an example that no constructor has made: they are
// not those of a loss without features.
func TestLiteralConstants(t *testing.T) {
	z, row := []float64{3, 0, -4}, Sparse{Index: []uint32{0, 2}, Value: []float64{3, -4}}
	for _, phi := range []Scalar{Squared{}, HingeLoss{}} {
		made := must(NewExample(z, 1, phi))
		for _, f := range []interface {
			Function
			Curvature
		}{
			&Example{Z: z, Y: 1, Loss: phi},
			&SparseExample{D: 3, Z: row, Y: 1, Loss: phi},
			must(NewSparseExample(3, row, 1, phi)),
			must(NewSparseExample(3, row, 1, phi)).Dense(),
			must(NewWeighted(made, 1)),
		} {
			if f.Lipschitz(2) != made.Lipschitz(2) || f.Smoothness() != made.Smoothness() ||
				f.StrongConvexity() != made.StrongConvexity() || made.Lipschitz(2) < 5 {
				t.Errorf("%T of %s: constants %v, %v, %v, want %v, %v, %v", f, phi.Name(), f.Lipschitz(2),
					f.Smoothness(),
					f.StrongConvexity(), made.Lipschitz(2), made.Smoothness(), made.StrongConvexity())
			}
		}
	}
	if f := (&Example{Z: []float64{2}, Y: 1, Loss: Squared{}}); f.StrongConvexity() != 4 {
		t.Errorf("in one dimension the strong convexity is %v, want 4", f.StrongConvexity())
	}
}

// TestSparseExample compares a sparse example with its dense form, bit for bit, also as a literal
// and with a weight.
func TestSparseExample(t *testing.T) {
	r := random.New(1, "sparse examples")
	for range 300 {
		d := 1 + r.IntN(20)
		x, row := make([]float64, d), Sparse{}
		for i := range x {
			x[i] = r.NormFloat64()
			if r.IntN(4) == 0 {
				row.Index, row.Value = append(row.Index, uint32(i)), append(row.Value, r.NormFloat64())
			}
		}
		f := must(NewSparseExample(d, row, 1, scalars[r.IntN(len(scalars)-1)]))
		dense := f.Dense()
		weight := float64(r.IntN(3))
		for _, pair := range [][2]Function{
			{f, dense},
			{&SparseExample{D: d, Z: row, Y: f.Y, Loss: f.Loss}, dense},
			{must(NewWeighted(f, weight)), must(NewWeighted(dense, weight))},
		} {
			got, want, sparse := make([]float64, d), make([]float64, d), make([]float64, d)
			got[r.IntN(d)] = math.NaN() // is overwritten
			pair[0].Subgradient(got, x)
			pair[1].Subgradient(want, x)
			g, ok := pair[0].(SparseFunction).SparseSubgradient(x)
			for k, i := range g.Index {
				sparse[i] = g.Value[k]
			}
			if !ok || pair[0].Value(x) != pair[1].Value(x) || !slices.Equal(got, want) || !slices.Equal(sparse, want) {
				t.Fatalf("%T: value %v, want %v; subgradients %v and %v, want %v", pair[0], pair[0].Value(x),
					pair[1].Value(x), got, sparse, want)
			}
		}
	}
}

func TestSparseSubgradientCost(t *testing.T) {
	const d = 1 << 20
	row := Sparse{Index: []uint32{3, d - 1}, Value: []float64{1, 2}}
	f := must(NewWeighted(must(NewSparseExample(d, row, 1, Squared{})), 3))
	x := make([]float64, d)
	f.SparseSubgradient(x)
	if n := testing.AllocsPerRun(10, func() {
		f.Value(x)
		f.SparseSubgradient(x)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	if _, ok := must(NewWeighted(must(NewSquaredDistance([]float64{1})), 1)).SparseSubgradient([]float64{0}); ok {
		t.Error("a dense loss with a weight knows its non-zeros")
	}
}

// TestZeroWeight: an example that does not count has no loss, whatever its prediction.
func TestZeroWeight(t *testing.T) {
	f := must(NewWeighted(must(NewExample([]float64{1}, 1, LogLoss{})), 0))
	g := []float64{1}
	f.Subgradient(g, []float64{0}) // -1/0
	if f.Value([]float64{0}) != 0 || g[0] != 0 || f.Lipschitz(1) != 0 || f.Smoothness() != 0 {
		t.Errorf("value %v, subgradient %v, constants %v and %v, want 0", f.Value([]float64{0}), g, f.Lipschitz(1),
			f.Smoothness())
	}
}
