package arena

import (
	"github.com/noregret/noregret/experiment/propose"
	"github.com/noregret/noregret/experiment/propose/mixture"
)

// DriftLearners lists the policy of package mixture, whose memory is as long as the rounds agree,
// beside the same with memories of fixed lengths, the control and the oracle.
func DriftLearners() []Entry {
	memory := func(rounds int) func(*Task) (Learner, error) { return Mixture(mixture.DefaultOptions(), rounds) }
	return []Entry{
		{"mixture", "package propose/mixture with its default options", memory(0)},
		{"all-rounds", "the same, which forgets nothing", memory(propose.AllRounds)},
		{"memory-50", "the same with a memory of 50 rounds", memory(50)},
		{"memory-16", "the same with a memory of 16 rounds", memory(16)},
		{"control", "the control alone", newControl},
		{"oracle", "the optimum of the true means", newOracle},
	}
}
