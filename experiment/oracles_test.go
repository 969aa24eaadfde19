package experiment_test

import (
	"math"
	"testing"

	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/policy"
)

// Spec T6b, after 10.3: from (.5, .3, .2) to (.3, .3, .4) a unit keeps its arm with probability
// 0.6, 1 and 1, by the coin, else it goes to the arm that grew, and 0.2 of the units move, the
// total variation.
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

// Spec T6b, after 10.7: the normal mixture's boundary is 0.0960640193 for n = 1000, s² = 1, ρ = 100
// and α = 0.05. [experiment.Sequence] has no option ρ: it has the same boundary with its own,
// stated in its comments.
func TestMixtureRadius(t *testing.T) {
	boundary := func(n, variance, rho, alpha float64) float64 {
		v := n * variance
		return math.Sqrt((v+rho)*math.Log((v+rho)/(rho*alpha*alpha))) / n
	}
	if got := boundary(1000, 1, 100, .05); math.Abs(got-.0960640193) > 1e-10 {
		t.Errorf("the boundary is %.12g, want 0.0960640193", got)
	}
	for _, n := range []int64{200, 1000, 50_000} {
		for _, alpha := range []float64{.05, 1e-4} {
			const mean, variance = 3, 2.25
			s := experiment.Sequence{N: n, Mean: mean, M2: variance * float64(n-1)}
			from, to := s.Interval(alpha, math.Inf(-1), math.Inf(1))
			l := 2 * math.Log(1/alpha)
			want := boundary(float64(n), variance, 1000*variance/(l+math.Log(1+l)), alpha)
			if math.Abs(mean-from-want) > 1e-12 || math.Abs(to-mean-want) > 1e-12 {
				t.Errorf("n = %d, α = %v: [%v, %v], want %v ± %v", n, alpha, from, to, mean, want)
			}
		}
	}
}
