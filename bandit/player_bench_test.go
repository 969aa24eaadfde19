package bandit

import (
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// benchmarked are the players of the benchmark on d arms: one of each kind.
func benchmarked(d int) []Player {
	return []Player{
		made(NewExp3(d, Exp3Rate(d, 1e6, 1), 1)), made(NewAnytimeExp3(d, 1)), made(NewExp3IX(d, Exp3IXRate(d, 1e6), 1)),
		made(NewExploringWeights(d, ExploringTuning(d, 1e6, 1, false))),
		made(NewINF(d, INFRate(d, 1e6, .5, 1), .5, 1)), made(NewTsallisINF(d, ImportanceWeighted, 1)),
		made(NewExploreThenCommit(d, 100)), made(NewAlphaUCB(d, 3, .5)), made(NewKLUCB(d, 0, 1)),
		made(NewBernoulliThompson(d)), made(NewGaussianThompson(d, .5, GaussianPrior{Deviation: math.Inf(1)})),
	}
}

// BenchmarkPlayers is the time of a round, Draw and Update and the draw of the loss: Bernoulli
// losses with the mean 0.3 of one arm in the middle and 0.5 of the others. It begins with the first
// round, or, where the first d rounds pull each arm once, after them.
func BenchmarkPlayers(b *testing.B) {
	for _, d := range []int{10, 1000, 100000} {
		for _, p := range benchmarked(d) {
			b.Run(fmt.Sprint(p), func(b *testing.B) {
				r, rounds := random.New(1, "bench"), 0
				if a, ok := p.(interface{ Pulls(k int) int }); ok && a.Pulls(d-1) == 0 {
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
func playBernoulli(b *testing.B, p Player, r *random.Source, rounds int) {
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
