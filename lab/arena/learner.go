package arena

import (
	"github.com/noregret/noregret/experiment/propose/mixture"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/lab/world"
	"github.com/noregret/noregret/pasto"
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

// Alpha is the probability with which learners that bound what is served may break a hard guardrail
// in some round of a run.
const Alpha = 0.05

// Entry is a learner by name.
type Entry struct {
	Name  string
	About string
	New   func(*Task) (Learner, error)
}

// Learners lists the policy of the service first, then its peers, then the oracle.
func Learners() []Entry {
	return []Entry{
		{"mixture", "package propose/mixture with its default options", Mixture(mixture.DefaultOptions(), 0)},
		{"test-single", "a uniform test, then the best single arm", plain(newTestSingle)},
		{"test-mixture", "a uniform test, then the best mixture", plain(newTestMixture)},
		{"thompson", "Thompson sampling of priced single arms", plain(newThompson)},
		{"greedy-1", "ε-greedy linear program, one standard error", plain(newGreedy(1))},
		{"greedy-2", "ε-greedy linear program, two standard errors", plain(newGreedy(2))},
		{"optimistic", "optimistic linear program, pessimistic guardrails", plain(newOptimistic)},
		{"contrasts", "ε-greedy linear program on effects of arms beside those of rounds", plain(newContrasts)},
		{"small", "a plain design: least squares, one linear program, one step to the control", plain(newSmall)},
		{"algorithm1", "the paper's Algorithm 1 in its practical form, priced", newAlgorithm1},
		{"test-single-safe", "test-single, made safe", safely(newTestSingle)},
		{"test-mixture-safe", "test-mixture, made safe", safely(newTestMixture)},
		{"thompson-safe", "thompson, made safe", safely(newThompson)},
		{"greedy-2-safe", "greedy-2, made safe", safely(newGreedy(2))},
		{"optimistic-safe", "optimistic, made safe", safely(newOptimistic)},
		{"contrasts-safe", "contrasts, made safe", safely(newContrasts)},
		{"control", "the control alone", newControl},
		{"oracle", "the optimum of the true means", newOracle},
	}
}

// FindLearner returns the learner of that name; the error lists the names.
func FindLearner(name string) (*Entry, error) {
	return named.Find("learner", name, Learners(), func(e *Entry) string { return e.Name })
}
