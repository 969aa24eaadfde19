package bandit

import (
	"fmt"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// benchmarked are the players of the benchmark on d arms: one of each kind.
func benchmarked(d int) []*Player {
	return of(
		d, Exp3{Rate: Exp3Rate(d, 1e6, 1), Limit: 1}, AnytimeExp3{Limit: 1}, Exp3IX{Rate: Exp3IXRate(d, 1e6), Limit: 1},
		ExploringTuning(d, 1e6, 1, false), INF{Rate: INFRate(d, 1e6, .5, 1), Q: .5, Limit: 1}, TsallisINF{Limit: 1},
		ExploreThenCommit{Turns: 100}, AlphaUCB{Alpha: 3, Sigma: .5}, KLUCB{Limit: 1}, BernoulliThompson{}, flat(.5),
		Elimination{},
	)
}

// BenchmarkPlayers is the time of a round, Draw and Update and the draw of the loss: Bernoulli
// losses with the mean 0.3 of one arm in the middle and 0.5 of the others. It begins with the first
// round, or, where the first d rounds pull each arm once, after them.
func BenchmarkPlayers(b *testing.B) {
	for _, d := range []int{10, 1000, 100000} {
		for _, p := range benchmarked(d) {
			b.Run(fmt.Sprint(p), func(b *testing.B) {
				r, rounds := random.New(1, "bench"), 0
				if p.Estimates() == nil {
					rounds = d
				}
				playBernoulli(b, p, r, rounds)
				b.ReportAllocs()
				b.ResetTimer()
				playBernoulli(b, p, r, b.N)
			})
		}
	}
}

// playBernoulli plays some rounds of the benchmark.
func playBernoulli(b *testing.B, p *Player, r *random.Source, rounds int) {
	best := p.Arms() / 2
	for range rounds {
		k := p.Draw(r)
		mean, loss := .5, 0.0
		if k == best {
			mean = .3
		}
		if r.Float64() < mean {
			loss = 1
		}
		if err := p.Update(k, loss); err != nil {
			b.Fatal(err)
		}
	}
}
