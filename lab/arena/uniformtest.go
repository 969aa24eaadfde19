package arena

import (
	"math"

	"github.com/noregret/noregret/pasto"
)

// testShare is the share of the rounds that a uniform test takes, at least one.
const testShare = 0.2

// testCaution is the number of standard errors of a test's decision on hard guardrails.
const testCaution = 2

// uniformTest serves all arms equally for testShare of the rounds, like an experiment of fixed
// length, and then the best mixture by the estimates.
type uniformTest struct {
	goals   *pasto.Goals
	single  bool // deploy one arm
	program program
	rounds  int
	decided bool
	choice  []float64
}

func newTestSingle(task *Task) (estimator, policy)  { return newUniformTest(task, true) }
func newTestMixture(task *Task) (estimator, policy) { return newUniformTest(task, false) }

func newUniformTest(task *Task, single bool) (estimator, policy) {
	return newTally(task), &uniformTest{
		goals: task.Goals, single: single, rounds: max(int(testShare*float64(task.Rounds)), 1),
		choice: make([]float64, task.Arms),
	}
}

// plan implements policy.
func (u *uniformTest) plan(t int, e *estimates, serving, deployed []float64) error {
	if !u.decided {
		if err := u.choose(e, u.choice); err != nil {
			return err
		}
		// A test without enough data to compare all arms continues; feedback may be late.
		u.decided = t >= u.rounds && e.all()
	}
	copy(deployed, u.choice)
	if u.decided {
		copy(serving, u.choice)
	} else {
		uniform(serving)
	}
	return nil
}

func (u *uniformTest) choose(e *estimates, p []float64) error {
	if !u.single {
		return u.program.maximize(u.goals, e, 0, standardErrors(u.goals, testCaution), p)
	}
	best, value := 0, math.Inf(-1)
	hold := standardErrors(u.goals, testCaution)
	for k, seen := range e.seen {
		if !seen {
			continue
		}
		holds := true
		for m := range u.goals.Metrics() {
			holds = holds && (!u.goals.Metrics()[m].Hard || hold(e, k, m) >= 0)
		}
		if v := u.goals.Reward(e.mean.Arm(k)); holds && v > value {
			best, value = k, v
		}
	}
	only(p, best)
	return nil
}
