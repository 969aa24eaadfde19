package experiment

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// walked counts the numbers of masks one by one.
func walked(x *masks) int {
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
	var x *masks
	var old []*masks
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
			x = &masks{}
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

// TestTermsOfState does the same for a whole experiment with deferred events, which a snapshot
// interrupts again and again.
func TestTermsOfState(t *testing.T) {
	testsize.NoRace(t)
	w, rng, most := newRankWorld(t, rankDef), random.New(3, "terms"), 0
	for step := range 600 {
		w.now = w.now.Add(time.Duration(rng.IntN(3000)) * time.Millisecond)
		unit := fmt.Sprint(rng.IntN(200))
		switch rng.IntN(8) {
		case 0:
			w.apply(KindRound, NameEvent{Experiment: "shop"})
		case 1:
			w.apply(KindPause, NameEvent{Experiment: "shop"}) // forks the state
			w.apply(KindResume, NameEvent{Experiment: "shop"})
		case 2:
			b, err := w.state.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			w.state = NewState()
			if err := w.state.UnmarshalBinary(b); err != nil {
				t.Fatal(err)
			}
		case 3:
			w.activate(unit)
		default:
			_, e := w.rank(unit, rng.IntN(3) == 0, [][]int{nil, {0, 1}, {2}, {0, 2}}[rng.IntN(4)]...)
			w.apply(KindExposures, e)
		}
		j, want := &w.state.live["shop"].joiner, 0
		for _, c := range j.cohorts {
			want += len(c.Weight) + walked(c.Masks)
		}
		if got := j.terms(); got != want {
			t.Fatalf("step %d: %d numbers are counted, there are %d", step, got, want)
		}
		most = max(most, want)
	}
	if most < 20 {
		t.Errorf("at most %d numbers waited: the events are too tame", most)
	}
}
