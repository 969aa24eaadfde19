package play

import (
	"strings"

	"github.com/noregret/noregret/experts"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// randomizedPrefix begins the names of randomized players: randomized-adahedge draws its expert
// from the weights of adahedge.
const randomizedPrefix = "randomized-"

// confidence is the probability that a randomized player's regret exceeds its bound.
const confidence = 1e-6

// randomized is a randomized player with a bound for the run, of probability 1 − confidence, in
// place of one for the expected regret.
type randomized struct{ *experts.Randomized }

func (p randomized) Bound(u []float64) (float64, error) {
	return p.HighProbabilityBound(u, confidence)
}

// newRandomized wraps a learner of expert advice. Losses lie in [−L∞, L∞].
func newRandomized(learner oco.Learner, f regret.Facts, seed uint64) (regret.Player, error) {
	o := experts.DefaultRandomizedOptions(seed)
	if f.LipschitzInf > 0 {
		o.Low, o.High = -f.LipschitzInf, f.LipschitzInf
	}
	r, err := experts.NewRandomized(learner, o)
	if err != nil {
		return nil, err
	}
	return randomized{r}, nil
}

// randomizedEntry is the entry of the randomized form of a learner of expert advice. It makes the
// learner itself, which newPlayer wraps.
func randomizedEntry(e oco.Entry) oco.Entry {
	e.Name = randomizedPrefix + e.Name
	e.Bound = e.Bound + " + 2L∞·√(2T·ln(10⁶)), but for 1 run in 10⁶"
	if !strings.Contains(e.Knows, "L∞") {
		e.Knows = strings.TrimPrefix(e.Knows+", L∞", "nothing, ")
	}
	e.Source = "Orabona 2019, Algorithm 6.3; " + e.Source
	return e
}
