package policy_test

import (
	"math"
	"testing"

	"github.com/noregret/noregret/policy"
)

// TestKeepProbabilities checks the move from (.5, .3, .2) to (.3, .3, .4). By the coin a unit keeps
// its arm with probability 0.6, 1 and 1; otherwise it moves to the arm that grew. In all 0.2 of the
// units move, the total variation.
func TestKeepProbabilities(t *testing.T) {
	before, err := policy.NewSplit([]float64{.5, .3, .2})
	if err != nil {
		t.Fatal(err)
	}
	after, err := policy.NewSplit([]float64{.3, .3, .4})
	if err != nil {
		t.Fatal(err)
	}
	moved := 0.0
	for arm, want := range []float64{.6, 1, 1} {
		keep := uint64(math.MaxUint64) // the last coin with which the unit stays
		if before.Move(after, arm, keep, 0) != arm {
			low, high := uint64(0), keep // stays, moves
			for high-low > 1 {
				if mid := low + (high-low)/2; before.Move(after, arm, mid, 0) == arm {
					low = mid
				} else {
					high = mid
				}
			}
			keep = low
			for _, draw := range []uint64{0, 1 << 63, math.MaxUint64} {
				if to := before.Move(after, arm, high, draw); to != 2 {
					t.Errorf("a unit of arm %d moves to arm %d", arm, to)
				}
			}
		}
		got := math.Ldexp(float64(keep), -64)
		if math.Abs(got-want) > 1e-14 {
			t.Errorf("arm %d is kept with probability %v, want %v", arm, got, want)
		}
		moved += before.Propensity(arm) * (1 - got)
	}
	if math.Abs(moved-.2) > 1e-14 {
		t.Errorf("%v of the units move, want 0.2", moved)
	}
}
