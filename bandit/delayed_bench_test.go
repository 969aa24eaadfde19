package bandit

import (
	"fmt"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// BenchmarkDelayed is the time of a choice and its loss: Bernoulli losses with the mean 0.3 of one
// arm and 0.5 of the others. For Thompson sampling it includes the quadrature.
func BenchmarkDelayed(b *testing.B) {
	const d = 10
	for _, p := range of(
		d, Exp3{Rate: Exp3Rate(d, 1e6, 1), Limit: 1}, TsallisINF{Limit: 1}, AlphaUCB{Alpha: 3, Sigma: .5},
		BernoulliThompson{}, flat(.5),
	) {
		b.Run(fmt.Sprint(p), func(b *testing.B) {
			q, r := delayed(b, p, 1<<16), random.New(1, "bench")
			b.ReportAllocs()
			for range b.N {
				c := choose(b, q, r, nil)
				mean, loss := .5, 0.0
				if c.Arm == d/2 {
					mean = .3
				}
				if r.Float64() < mean {
					loss = 1
				}
				learn(b, q, c.ID, loss)
			}
		})
	}
}
