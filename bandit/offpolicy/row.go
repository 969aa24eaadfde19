package offpolicy

import (
	"math"
	"time"

	"github.com/noregret/noregret"
)

// Row is one logged decision.
type Row struct {
	// ID identifies the decision. It is empty if the log has no identifiers.
	ID string
	// Time is when the decision was made. It is zero if unknown.
	Time time.Time
	// Arm is the index of the arm that was chosen, from 0.
	Arm int
	// Propensity is the probability with which the logging policy chose the arm, in (0, 1].
	Propensity float64
	// Reward is what the decision earned.
	Reward float64
	// Propensities are the logging policy's probabilities of all arms. They may be empty: the
	// estimators do not need them.
	Propensities []float64
	// Target are the target policy's probabilities of all arms. They may be empty in a log that is
	// to be evaluated against a policy of the caller.
	Target []float64
}

// sumTolerance is how far from 1 a sum of probabilities may be: logs hold decimals of float32.
const sumTolerance = 1e-5

// checkDistribution returns an error if p are not the probabilities of k arms.
func checkDistribution(place string, p []float64, k int) error {
	if len(p) != k {
		return noregret.BadInputf(place, "%d probabilities for %d arms: one per arm is required", len(p), k)
	}
	sum := 0.0
	for a, x := range p {
		if !(x >= 0 && x <= 1) {
			return noregret.BadInputf(place, "the probability %v of arm %d must be in [0, 1]", x, a)
		}
		sum += x
	}
	if math.Abs(sum-1) > sumTolerance {
		return noregret.BadInputf(place, "the probabilities sum to %v instead of 1", sum)
	}
	return nil
}
