package drift

import (
	"math"
	"math/bits"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"pgregory.net/rapid"
)

// TestIntervalRegret: on every interval of a random game the regret to the best point of the
// interval is within the bound.
func TestIntervalRegret(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const lipschitz = 1.0
		r := random.New(rapid.Uint64().Draw(t, "seed"), "interval")
		rounds := rapid.IntRange(1, 120).Draw(t, "rounds")
		jumps := rapid.IntRange(1, 60).Draw(t, "jumps")
		for _, curvature := range []float64{0, .25} {
			set := must(convex.NewCube(1, -1, 1))
			l := must(NewAdaptive(AdaptiveOptions{Set: set, Lipschitz: lipschitz, Curvature: curvature}))
			points, targets := make([]float64, rounds), make([]float64, rounds)
			// Losses are s·x, or (h/2)(x − c)² with h = curvature.
			value := func(x, c float64) float64 {
				if curvature > 0 {
					return curvature / 2 * (x - c) * (x - c)
				}
				return c * x
			}
			c := 0.0
			for i := range rounds {
				if i%jumps == 0 {
					c = 2*r.Float64() - 1
				}
				points[i], targets[i] = l.Predict()[0], c
				g := c
				if curvature > 0 {
					g = curvature * (points[i] - c)
				}
				if err := l.Update([]float64{g}); err != nil {
					t.Fatal(err)
				}
			}
			for from := range rounds {
				paid, sum := 0.0, 0.0
				for to := from; to < rounds; to++ {
					paid += value(points[to], targets[to])
					sum += targets[to]
					n := to - from + 1
					u := -math.Copysign(1, sum)
					if curvature > 0 {
						u = sum / float64(n)
					}
					best := 0.0
					for k := from; k <= to; k++ {
						best += value(u, targets[k])
					}
					if b := must(l.IntervalBound(n, to+1)); paid-best > b {
						t.Fatalf("curvature %v, rounds %d to %d: regret %v above %v", curvature, from+1, to+1,
							paid-best, b)
					}
				}
			}
		}
	})
}

// TestAdaptiveSlots: in round t there are ⌊log₂t⌋ + 1 descents, that of length 2^j began with the
// last multiple of 2^j, and the weights are a distribution.
func TestAdaptiveSlots(t *testing.T) {
	for _, curvature := range []float64{0, 1} {
		l := must(NewAdaptive(AdaptiveOptions{
			Set: must(convex.NewCube(2, -1, 1)), Lipschitz: 2, Curvature: curvature,
		}))
		r := random.New(12, "slots")
		for round := range 300 {
			now := round + 1
			if l.Learners() != bits.Len(uint(now)) {
				t.Fatalf("%d descents in round %d", l.Learners(), now)
			}
			l.Predict()
			if s := vec.Sum(l.weights); math.Abs(s-1) > 1e-12 {
				t.Fatalf("the weights sum to %v in round %d", s, now)
			}
			for j, s := range l.s.Slots {
				if s.Start != now/(1<<j)*(1<<j) || l.weights[j] < 0 || s.Coin.Wealth < 0 {
					t.Fatalf("round %d: slot %d is %+v", now, j, s)
				}
			}
			if err := l.Update([]float64{r.Float64() - .5, r.Float64() - .3}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
