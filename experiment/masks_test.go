package experiment

import (
	"fmt"
	"testing"
	"time"

	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// walked counts the numbers of masks one by one.
func walked(x *join.Masks) int {
	if x == nil {
		return 0
	}
	n := len(x.Of)
	for _, s := range x.Sets {
		n += len(s)
	}
	return n
}

// TestTermsOfState compares the running count of the numbers of contexts and masks with one that
// walks over all sets, for a whole experiment with deferred events, which a snapshot
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
		j, want := w.state.live["shop"].joiner, 0
		for _, c := range j.Versions {
			want += len(c.Weight) + walked(c.Masks)
		}
		if got := j.Terms(); got != want {
			t.Fatalf("step %d: %d numbers are counted, there are %d", step, got, want)
		}
		most = max(most, want)
	}
	if most < 20 {
		t.Errorf("at most %d numbers waited: the events are too tame", most)
	}
}
