package catalogue

import (
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/box"
	"github.com/noregret/noregret/pasto/confident"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// A snapshot belongs to its objective: restoring under another threshold, price or utility is
// refused.
func TestSnapshotObjective(t *testing.T) {
	a, b := pastotest.Goals(t, 5, false, 0), pastotest.Goals(t, 5, false, .1)
	c := pastotest.Goals(t, 6, false, 0)
	for _, e := range Algorithms() {
		l, _ := e.New(a, 2, 100, nil)
		pastotest.Play(t, l, pastotest.Toy(t), 1, 10, 1, random.New(1, "test"))
		data, _ := l.MarshalBinary()
		for _, f := range []pasto.Objective{b, c} {
			other, _ := e.New(f, 2, 100, nil)
			if err := other.UnmarshalBinary(data); err == nil || !strings.Contains(err.Error(), "it was taken from") {
				t.Errorf("%s: restored under another objective: %v", e.Name, err)
			}
		}
		again, _ := e.New(pastotest.Goals(t, 5, false, 0), 2, 100, nil)
		if err := again.UnmarshalBinary(data); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
	u, v := pastotest.Cliff(), pastotest.Cliff()
	v.Name = "another"
	l, _ := confident.New(u, 2, confident.DefaultOptions())
	data, _ := l.MarshalBinary()
	other, _ := confident.New(v, 2, confident.DefaultOptions())
	if err := other.UnmarshalBinary(data); err == nil {
		t.Error("restored under another utility")
	}
	x, _ := box.New(a, []float64{0}, []float64{1}, box.DefaultOptions(1))
	y, _ := box.New(b, []float64{0}, []float64{1}, box.DefaultOptions(1))
	data, _ = x.MarshalBinary()
	if err := y.UnmarshalBinary(data); err == nil {
		t.Error("a box learner was restored under another objective")
	}
}
