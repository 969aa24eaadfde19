package guard

import (
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// TestLowerRateHolds checks that the bound ever exceeds the mean in at most a fraction alpha of the
// runs, also if values come late and count as 0 until then. It also checks that the bound detects
// rates far above 0.
func TestLowerRateHolds(t *testing.T) {
	t.Parallel()
	const alpha = 0.1
	runs := testsize.Of(1000, 100)
	for _, mean := range []float64{0.002, 0.02, 0.3, 0.9} {
		wrong := 0
		for seed := range uint64(runs) {
			rng, s := random.New(seed, fmt.Sprint(mean)), 0.0
			var late []float64
			for n := int64(1); n <= 1000; n++ {
				x := 0.0
				if rng.Float64() < mean {
					x = 1
				}
				if rng.Float64() < 0.5 {
					late, x = append(late, x), 0
				}
				s += x
				if len(late) > 50 {
					s, late = s+late[0], late[1:]
				}
				// The bound is at most the estimate.
				if s > float64(n)*mean && lowerRate(n, s, alpha) > mean {
					wrong++
					break
				}
			}
		}
		if most := float64(runs)*alpha + 3*math.Sqrt(float64(runs)*alpha*(1-alpha)); float64(wrong) > most {
			t.Errorf("mean %v: above it in %d of %d runs", mean, wrong, runs)
		}
	}
	for _, c := range []struct {
		n       int64
		s, want float64
	}{{100, 0, 0}, {0, 0, 0}, {20, 10, 0.13}, {1000, 100, 0.06}, {100_000, 2000, 0.018}} {
		if got := lowerRate(c.n, c.s, 0.01); got < c.want || got > c.s/math.Max(float64(c.n), 1) {
			t.Errorf("%d units, %v: %v, want at least %v", c.n, c.s, got, c.want)
		}
	}
}

// TestLowerRateGrows checks that a larger sum never lowers the bound. Pending values may therefore
// count as the lowest value.
func TestLowerRateGrows(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{1, 7, 100, 10_000} {
		last := 0.0
		for s := range 200 {
			got := lowerRate(n, float64(s)/200*float64(n), 0.05)
			if got < last {
				t.Fatalf("%d units: %v after %v", n, got, last)
			}
			last = got
		}
	}
}
