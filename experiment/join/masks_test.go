package join

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// walked counts the numbers of masks one by one.
func walked(x *Masks) int {
	if x == nil {
		return 0
	}
	n := len(x.Of)
	for _, s := range x.Sets {
		n += len(s)
	}
	return n
}

// TestMaskNumbers compares the running count of a version's masks with one that walks over all
// sets, after random sets, copies of which either goes on, and masks that were stored and read.
func TestMaskNumbers(t *testing.T) {
	rng := random.New(1, "masks")
	var x *Masks
	var old []*Masks
	rows, most := 0, 0
	for step := range 3000 {
		switch rng.IntN(30) {
		case 0:
			y := x.copy()
			old = append(old, x)
			x = y
		case 1:
			if len(old) > 0 { // the copy is dropped, and the original goes on
				x = old[rng.IntN(len(old))]
			}
		case 2:
			if x == nil {
				continue
			}
			b, err := json.Marshal(x)
			if err != nil {
				t.Fatal(err)
			}
			x = &Masks{}
			if err := json.Unmarshal(b, x); err != nil || !x.restore(rows) {
				t.Fatalf("step %d: %s does not fit %d rows: %v", step, b, rows, err)
			}
		default:
			rows += rng.IntN(3)
			var among []uint32
			for k := range uint32(8) {
				if rng.IntN(2) == 0 {
					among = append(among, k)
				}
			}
			x = x.set(rows, among)
			rows++
		}
		if x != nil {
			most = max(most, len(x.Sets))
		}
		for _, y := range append(slices.Clone(old), x) {
			if got, want := y.numbers(), walked(y); got != want {
				t.Fatalf("step %d: %d numbers are counted, the sets have %d", step, got, want)
			}
		}
	}
	if most < 40 || len(old) < 40 {
		t.Errorf("the steps are too tame: %d copies, %d sets", len(old), most)
	}
}
