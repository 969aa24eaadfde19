package pasto

import (
	"encoding"

	"github.com/noregret/noregret"
)

// Rand is the source of randomness for draws. The generators of math/rand/v2 implement it. The host
// supplies it, so that the host can save and replay it.
type Rand interface {
	// Float64 is uniform on [0, 1).
	Float64() float64
}

// Observation is the result of one group of units in the current round.
type Observation struct {
	// Arm is the arm that the group was served. Its propensity in the current round must be
	// positive unless the group is an Earlier one.
	Arm int
	// Earlier says that the group was drawn in an earlier round and its metrics arrive only now.
	// Its arm may have propensity 0 by now. The default learner takes such groups, as it does not
	// weight by propensities; the others require a positive propensity all the same.
	Earlier bool
	// Metrics are the group's raw means per unit, of length M, each of size at most 1e100 and in
	// the metric's range where it has one.
	Metrics []float64
	// Control are the raw means of the concurrent control group, of length M. They are required if
	// a guardrail is [Metric.Relative]; the learner forms the contrast ([Goals.Contrast]).
	Control []float64
	// Size is the number of units, fixed before the arms were drawn, from 1e-9 to 1e15. If it is
	// left out of all groups (0), these are of equal size.
	Size float64
	// Variances are the sample variances of one unit's value in the group, of length M: that of the
	// group's mean is Variances[m]/Size. NaN marks a variance that is unknown, nil that none is
	// known. They need a Size, must be at least 0 and at most 1e200, and tell a learner the noise
	// from the first round on; learners other than the default ignore them.
	Variances []float64
	// Round is the round of the draw, the current one if left out (0). Learners refuse others.
	Round int
}

// Learner finds a mixture by experiment. In each round it provides the serving distribution p_t,
// the host draws an arm from it for each group of units, with Draw or in its own way, and Observe
// ends the round. A learner is deterministic given the draws, has no clock and no goroutine, and
// after the first rounds allocates nothing. It is not safe for concurrent use.
type Learner interface {
	// Arms is K, retired arms included.
	Arms() int
	// Rounds is the number of finished rounds.
	Rounds() int
	// Serving is p_t, the distribution to draw from in the current round: the propensities to log.
	// Do not write to it.
	Serving() []float64
	// Draw draws an arm for each group of the round.
	Draw(r Rand, arms []int)
	// Observe ends the round. Invalid observations are an error of code bad_input, which changes
	// nothing.
	Observe(obs []Observation) error
	// Deployed is the mixture to deploy if the experiment ended now. Do not write to it; the next
	// Observe may change it.
	Deployed() []float64
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// Roster is a learner whose arms can be added and retired while it runs. All of
// [catalogue.Algorithms] can.
type Roster interface {
	Learner
	// AddArm adds an arm without observations and returns its index.
	AddArm() (k int, err error)
	// RetireArm removes arm k for good: its index stays, its share is 0, and its observations are
	// errors from now on. The last active arm cannot be retired.
	RetireArm(k int) error
}

// CheckProblem returns an error of code bad_input if no learner can be made for the objective and
// number of arms: the objective is nil or invalid, there is no arm, or the objective is a [Utility]
// with a finite box that [CheckConcave] refutes.
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
	// before and its variance the least possible, so the estimators stay unbiased.
	Systematic
)
