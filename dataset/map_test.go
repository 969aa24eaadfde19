package dataset

import (
	"errors"
	"io"
	"math"
	"testing"

	"github.com/noregret/noregret"
)

// A mapped set has the labels, weights and order of its rows, in memory and when it is mapped at
// every reading.
func TestMap(t *testing.T) {
	b, err := NewBuilder(2, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5000 {
		if err := b.Add([]uint32{0, 1}, []float32{float32(i + 1), 2}, i%2, float64(1+i%3)); err != nil {
			t.Fatal(err)
		}
	}
	set, err := b.Set()
	if err != nil {
		t.Fatal(err)
	}
	double := func(index []uint32, value []float32, toIndex []uint32, toValue []float32) ([]uint32, []float32) {
		return append(toIndex, 2), append(toValue, value[0]*value[1])
	}
	kept, err := set.Map(3, double)
	if err != nil {
		t.Fatal(err)
	}
	lazy := *set
	lazy.st, lazy.info = mappedStore{set.st, double, 0.5}, kept.info
	for name, s := range map[string]*Set{"kept": kept, "lazy": &lazy} {
		for _, open := range []func() (Reader, error){s.Read, func() (Reader, error) { return s.Shuffle(1, 0) }} {
			r, err := open()
			if err != nil {
				t.Fatal(err)
			}
			rows, sum := 0, 0.0
			var block Block
			for {
				err := r.Next(&block)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				for i := range block.Len() {
					index, value := block.Row(i)
					n := int(value[0])/2 - 1
					if len(index) != 1 || index[0] != 2 || int(block.Class[i]) != n%2 ||
						block.RowWeight(i) != float64(1+n%3) {
						t.Fatalf("%s: row %d is %v %v of class %d, weight %v", name, n, index, value, block.Class[i],
							block.RowWeight(i))
					}
					rows, sum = rows+1, sum+float64(value[0])
				}
			}
			if rows != 5000 || sum != 5000*5001 {
				t.Errorf("%s: %d rows, sum %v", name, rows, sum)
			}
		}
	}
	if i := kept.Info(); i.Dim != 3 || i.NonZeros != 5000 || i.Labels[1].Rows != 2500 || i.Schema.Dim != 3 {
		t.Errorf("the summary is %+v", i)
	}
	for _, bad := range []float32{0, float32(math.Inf(1))} {
		_, err := set.Map(3, func(_ []uint32, _ []float32, i []uint32, v []float32) ([]uint32, []float32) {
			return append(i, 1), append(v, bad)
		})
		if noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("a value of %v: %v", bad, err)
		}
	}
}
