package arena

import (
	"github.com/noregret/noregret/experiment/propose/mixture"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/lab/world"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/confident"
)

// Learner plays a world round by round. Arm 0 is the control. A learner need not be safe for
// concurrent use: each run has its own.
type Learner interface {
	// Serving returns the mixture of round t, counted from 0. Rounds come in order, each once.
	Serving(t int) ([]float64, error)
	// Observe receives the groups of one round, in the order of rounds, once all of the round's
	// feedback has arrived. The groups are valid during the call.
	Observe(groups []world.Group) error
	// Deployed returns the mixture to ship if the experiment ended now.
	Deployed() []float64
}

// Task is what a learner may know before it starts.
type Task struct {
	// Goals is the objective.
	Goals *pasto.Goals
	// Arms is the number of arms, the control (arm 0) included.
	Arms int
	// Rounds is the number of rounds to come, and Units the number of units in the first.
	Rounds, Units int
	// Seed is that of the learner's own randomness.
	Seed uint64

	world *world.World // for the oracle only
	guard *guard       // of learners that bound what they serve
}

// Caution is how a learner treats hard guardrails. Learners are compared with those of the same
// caution, because a learner without any explores faster.
type Caution struct {
	// Deployed is the number of standard errors by which the estimates of the deployed mixture
	// hold the guardrails, 0 for none.
	Deployed float64
	// Served marks learners that bound what is served in all rounds together, with probability
	// 1 − [Alpha].
	Served bool
}

// Alpha is the probability with which learners that bound what is served may break a hard guardrail
// in some round of a run.
const Alpha = 0.05

// Entry is a learner by name.
type Entry struct {
	Name    string
	About   string
	Caution Caution
	New     func(*Task) (Learner, error)
}

// Learners lists the default learner first, then its peers, then the oracle.
func Learners() []Entry {
	two, safe := Caution{Deployed: 2}, Caution{Deployed: 2, Served: true}
	list := []Entry{
		{
			"default", "package confident with its default options and the control", safe,
			Default(confident.DefaultOptions()),
		},
		{"mixture", "package propose/mixture with its default options", two, Mixture(mixture.DefaultOptions())},
		{"test-single", "a uniform test, then the best single arm", two, plain(newTestSingle)},
		{"test-mixture", "a uniform test, then the best mixture", two, plain(newTestMixture)},
		{"thompson", "Thompson sampling of priced single arms", Caution{}, plain(newThompson)},
		{"greedy-1", "ε-greedy linear program, one standard error", Caution{Deployed: 1}, plain(newGreedy(1))},
		{"greedy-2", "ε-greedy linear program, two standard errors", two, plain(newGreedy(2))},
		{"optimistic", "optimistic linear program, pessimistic guardrails", two, plain(newOptimistic)},
		{"contrasts", "ε-greedy linear program on effects of arms beside those of rounds", two, plain(newContrasts)},
		{"small", "a plain design: least squares, one linear program, one step to the control", two, plain(newSmall)},
		{"algorithm1", "the paper's Algorithm 1 in its practical form, priced", Caution{}, newAlgorithm1},
		{"test-single-safe", "test-single, made safe", safe, safely(newTestSingle)},
		{"test-mixture-safe", "test-mixture, made safe", safe, safely(newTestMixture)},
		{"thompson-safe", "thompson, made safe", Caution{Served: true}, safely(newThompson)},
		{"greedy-2-safe", "greedy-2, made safe", safe, safely(newGreedy(2))},
		{"optimistic-safe", "optimistic, made safe", safe, safely(newOptimistic)},
		{"contrasts-safe", "contrasts, made safe", safe, safely(newContrasts)},
		{"control", "the control alone", safe, newControl},
		{"oracle", "the optimum of the true means", Caution{}, newOracle},
	}
	return list
}

// FindLearner returns the learner of that name; the error lists the names.
func FindLearner(name string) (*Entry, error) {
	return named.Find("learner", name, Learners(), func(e *Entry) string { return e.Name })
}
