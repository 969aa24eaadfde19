package loss_test

import (
	"slices"
	"testing"

	"github.com/noregret/noregret/loss"
)

// TestSetSparse: the vector, the non-zeros and the subgradient are those of the last call, whatever
// was there before, and the caller's slices may be reused.
func TestSetSparse(t *testing.T) {
	f, err := loss.NewLinear([]float64{1, 2, 3, 4})
	if err != nil {
		t.Fatal(err)
	}
	x := []float64{1, 10, 100, 1000}
	if _, ok := f.SparseSubgradient(x); ok {
		t.Error("a dense loss reports non-zeros")
	}
	var g loss.Sparse
	for _, c := range []struct {
		index []uint32
		value []float64
		dense []float64
		loss  float64
	}{
		{[]uint32{0, 2}, []float64{5, -1}, []float64{5, 0, -1, 0}, -95},
		{[]uint32{1, 2}, []float64{2, 3}, []float64{0, 2, 3, 0}, 320},
		{nil, nil, []float64{0, 0, 0, 0}, 0},
		{[]uint32{3}, []float64{1}, []float64{0, 0, 0, 1}, 1000},
	} {
		g.Index, g.Value = append(g.Index[:0], c.index...), append(g.Value[:0], c.value...)
		f.SetSparse(g)
		s, ok := f.SparseSubgradient(x)
		dense := make([]float64, 4)
		f.Subgradient(dense, x)
		if !ok || !slices.Equal(s.Index, c.index) || !slices.Equal(s.Value, c.value) ||
			!slices.Equal(dense, c.dense) || f.Value(x) != c.loss {
			t.Errorf("%v, %v: non-zeros %v, subgradient %v, loss %v", c.index, c.value, s, dense, f.Value(x))
		}
	}
	if n := testing.AllocsPerRun(10, func() { f.SetSparse(g) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
