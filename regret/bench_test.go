package regret_test

import (
	"context"
	"testing"

	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// BenchmarkPlay reports the time of one round, including the learner.
func BenchmarkPlay(b *testing.B) {
	for _, c := range []struct {
		game, learner string
		dim           int
	}{
		{"linear-ball", "ogd-adaptive", 10},
		{"linear-ball", "ogd-adaptive", 1000},
		{"linear-box", "adagrad", 10},
		{"experts", "adahedge", 10},
		{"regression", "vaw", 10},
		{"classification", "ogd-adaptive", 10},
		{"minimax-ball", "ogd-adaptive", 10},
	} {
		b.Run(c.game+"/"+c.learner, func(b *testing.B) {
			const rounds = 1000
			g, f, err := must(regret.FindGame(c.game)).New(regret.GameParams{Dim: c.dim, Rounds: rounds, Seed: 1})
			if err != nil {
				b.Fatal(err)
			}
			o := regret.Options{}
			if g.Summary() == nil {
				o.Comparator = make([]float64, c.dim) // avoids the search for the best point
			}
			b.ReportAllocs()
			for b.Loop() {
				l := must(must(oco.Find(c.learner)).New(problem(g.Set(), rounds, f), nil))
				if _, err := regret.Play(context.Background(), l, g, rounds, o); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rounds, "ns/round")
		})
	}
}
