package play

import (
	"slices"
	"strings"

	"github.com/noregret/noregret/experts"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// randomizedPrefix makes a randomized player of a learner of expert advice: randomized-adahedge
// draws its expert from the weights of adahedge.
const randomizedPrefix = "randomized-"

// confidence is the probability with which a randomized player may have more regret than its bound
// here.
const confidence = 1e-6

// randomized is a randomized player whose bound holds for the run, with probability 1 − confidence,
// and not only in expectation.
type randomized struct{ *experts.Randomized }

func (p randomized) Bound(u []float64) (float64, error) {
	return p.HighProbabilityBound(u, confidence)
}

// newRandomized wraps a learner of expert advice. Losses are known to be in [−L∞, L∞].
func newRandomized(learner oco.Learner, f regret.Facts, seed uint64) (regret.Player, error) {
	r, err := experts.NewRandomized(learner, experts.Options{Seed: seed, Low: -f.LipschitzInf, High: f.LipschitzInf})
	if err != nil {
		return nil, err
	}
	return randomized{r}, nil
}

// catalogue is oco's list of learners, and the randomized forms of those of expert advice.
func catalogue() []oco.Entry {
	all := oco.Learners()
	for _, e := range slices.Clone(all) {
		if e.Kind != "experts" {
			continue
		}
		e.Name = randomizedPrefix + e.Name
		e.Bound = e.Bound + " + 2L∞·√(2T·ln(10⁶)), but for 1 run in 10⁶"
		if !strings.Contains(e.Knows, "L∞") {
			e.Knows = strings.TrimPrefix(e.Knows+", L∞", "nothing, ")
		}
		e.Source = "Orabona 2019, Algorithm 6.3; " + e.Source
		all = append(all, e)
	}
	return all
}
