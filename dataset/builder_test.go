package dataset

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/noregret/noregret"
)

func TestBuilderRefuses(t *testing.T) {
	b, err := NewBuilder(3, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		index  []uint32
		value  []float32
		class  int
		weight float64
		want   string
	}{
		{[]uint32{3}, []float32{1}, 0, 1, "row 0: index 3: it must be below the dimension 3"},
		{[]uint32{1, 0, 1}, []float32{1, 2, 3}, 0, 1, "row 0: duplicate index 1"},
		{[]uint32{1}, []float32{nan}, 0, 1, "row 0: index 1: value NaN: it must be finite"},
		{[]uint32{1}, []float32{inf}, 0, 1, "row 0: index 1: value +Inf: it must be finite"},
		{[]uint32{1}, nil, 0, 1, "row 0: 1 indices but 0 values"},
		{nil, nil, 2, 1, "row 0: class 2: it must be below 2, the number of labels, or NoClass"},
		{nil, nil, -1, 1, "row 0: class -1: it must be below 2, the number of labels, or NoClass"},
		{nil, nil, 0, -1, "row 0: weight -1: it must be finite and 0 or more"},
		{nil, nil, 0, math.NaN(), "row 0: weight NaN: it must be finite and 0 or more"},
	} {
		if err := b.Add(c.index, c.value, c.class, c.weight); err == nil || err.Error() != c.want ||
			noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	if _, err := b.Set(); err == nil {
		t.Error("a set without rows was accepted")
	}
	if err := b.Add([]uint32{2, 0}, []float32{5, 0}, NoClass, 0.5); err != nil {
		t.Fatal(err)
	}
	s, err := b.Set()
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Read()
	if d := cmp.Diff([]string{"-*0.5 2:5"}, show(t, r, err)); d != "" {
		t.Error(d)
	}
	for _, labels := range [][]string{{""}, {"nan"}, {"1", "+1"}} {
		if _, err := NewBuilder(1, labels...); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("labels %q: %v", labels, err)
		}
	}
}
