package bandit

import (
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// The regret of Bernoulli Thompson sampling, averaged over means drawn from its prior, is within
// [BernoulliThompsonBound]. That of
// KL-UCB is as well here.
func TestBayesianRegret(t *testing.T) {
	rounds, runs := testsize.Of(1000, 500), testsize.Of(2000, 100)
	for _, d := range []int{2, 10} {
		for name, player := range map[string]func() *Player{
			"thompson": func() *Player { return made(NewPlayer(d, BernoulliThompson{})) },
			"kl-ucb":   func() *Player { return made(NewPlayer(d, KLUCB{Limit: 1})) },
		} {
			sum := 0.0
			for run := range runs {
				r, means := random.New(uint64(run), "prior"), make([]float64, d)
				best := 1.0
				for k := range means {
					means[k] = r.Float64()
					best = min(best, means[k])
				}
				regret := 0.0
				for _, k := range bernoulli(t, player(), means, rounds, r) {
					regret += means[k] - best
				}
				sum += regret
			}
			mean := sum / float64(runs)
			if bound := BernoulliThompsonBound(d, rounds); mean > bound || mean < bound/20 {
				t.Errorf("%s, %d arms: mean regret %v, bound %v", name, d, mean, bound)
			}
		}
	}
}
