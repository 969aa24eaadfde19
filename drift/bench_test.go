package drift

import (
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/oco"
)

// BenchmarkRound is a round of gradient descent in 16 dimensions, alone and in the wrappers and
// reductions of this package: adaptive has 17 descents after 2^16 rounds.
func BenchmarkRound(b *testing.B) {
	const d = 16
	set := must(convex.NewCube(d, -1, 1))
	hedge := HedgeOptions{Set: set, Lipschitz: 4, Rounds: 1 << 30}
	for _, c := range []struct {
		name string
		l    oco.Learner
	}{
		{"descent", must(oco.NewSubgradientDescent(set, nil, oco.Constant(.01)))},
		{"restarted", must(NewRestarted(RestartedOptions{
			Make: Descent(set, nil, oco.Constant(.01)), Trigger: must(forget.Every(1 << 20)),
		}))},
		{"ader", must(NewAder(hedge))},
		{"dyadic", must(NewDyadic(hedge))},
		{"adaptive", must(NewAdaptive(AdaptiveOptions{Set: set, Lipschitz: 4}))},
		{"adaptive-curved", must(NewAdaptive(AdaptiveOptions{Set: set, Lipschitz: 4, Curvature: 1}))},
	} {
		g := make([]float64, d)
		r := random.New(1, "bench")
		for i := range g {
			g[i] = r.Float64() - .5
		}
		if a, ok := c.l.(*Adaptive); ok {
			for range 1 << 16 {
				_ = a.Update(g)
			}
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.l.Predict()
				if err := c.l.Update(g); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for name, l := range costLearners(set) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			r := random.New(1, "bench")
			for b.Loop() {
				_, _ = l.Play(r)
				if err := l.Observe(.5); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
