package pasto

import (
	"encoding"

	"github.com/noregret/noregret"
)

// Rand is the randomness of draws; the generators of math/rand/v2 have its methods. It is handed
// in, so that a host can save and replay it.
type Rand interface {
	// Float64 is uniform on [0, 1).
	Float64() float64
}

// Observation is the result of one group of units in the running round.
type Observation struct {
	// Arm is the arm that the group was served, as drawn: of positive propensity in the running
	// round.
	Arm int
	// Metrics are the group's raw means per unit, of length M, each of size at most 1e100 and in
	// the metric's range where it has one.
	Metrics []float64
	// Control are the raw means of the concurrent control group, of length M, needed where the
	// objective has a guardrail that is [Metric.Relative]; the learner forms the contrast itself
	// ([Goals.Contrast]).
	Control []float64
	// Size is the number of units, fixed before the arms were drawn, from 1e-9 to 1e15; 0 means
	// that all groups are equal.
	Size float64
	// Variances are the sample variances of one unit's value in the group, of length M: that of the
	// group's mean is Variances[m]/Size. NaN marks a variance that is unknown, nil that none is
	// known. They need a Size, must be at least 0 and at most 1e200, and tell a learner the noise
	// from the first round on; learners other than the default ignore them.
	Variances []float64
	// Round is that of the draw; 0 means the running round. Any other than the running one is
	// refused.
	Round int
}

// Learner finds a mixture by experiment. Round by round it names the serving distribution p_t, the
// host draws an arm from it for each group of units (Draw, or its own way), and Observe ends the
// round. A learner is deterministic given the draws, has no clock and no goroutine, and allocates
// nothing per round after the first ones. It is not safe for concurrent use.
type Learner interface {
	// Arms is K, retired arms included.
	Arms() int
	// Rounds is the number of finished rounds.
	Rounds() int
	// Serving is p_t, the distribution to draw from in the running round: the propensities to log.
	// Read it, do not write to it.
	Serving() []float64
	// Draw draws an arm for each group of the round.
	Draw(r Rand, arms []int)
	// Observe ends the round. What breaks a rule is refused with an error of code bad_input and
	// changes nothing.
	Observe(obs []Observation) error
	// Deployed is the mixture to ship if the experiment ended now. Read it, do not write to it; the
	// next Observe may change it.
	Deployed() []float64
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// Roster is a learner whose arms come and go mid-run: all of [catalogue.Algorithms]
// are.
type Roster interface {
	Learner
	// AddArm adds an arm of which nothing is known, and returns its index, the number of arms
	// before.
	AddArm() (k int, err error)
	// RetireArm takes arm k out for good: its index stays, its share is 0, and its observations are
	// refused from now on. The last active arm cannot be retired.
	RetireArm(k int) error
}

// CheckProblem returns an error of code bad_input if no learner can be made for the objective
// and number of arms: the objective is nil or invalid, there is no arm, or the objective is a
// [Utility] with a finite box that [CheckConcave] refutes.
func CheckProblem(f Objective, arms int) error {
	if err := validate(f); err != nil {
		return err
	}
	if arms < 1 {
		return noregret.BadInputf("arms", "%d: want at least 1", arms)
	}
	if u, ok := f.(*Utility); ok && u.boxed() {
		return checkConcave(u, u.Lower, u.Upper, 100, 0, 1e-6)
	}
	return nil
}

// Scheme is a way to draw Q arms of a round.
type Scheme int

const (
	// IID draws each group's arm from p_t independently, with replacement: the unbiased form of the
	// paper's parallel queries.
	IID Scheme = iota
	// Systematic draws all arms with one random number and equal steps through the cumulative
	// shares, then shuffles them over the groups. An arm's expected number of groups is Q·p_k as
	// before and its variance least, so that the formula of the estimators stays unbiased, without
	// a cap on large shares.
	Systematic
)
