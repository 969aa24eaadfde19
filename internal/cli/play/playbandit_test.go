package play

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

// TestPlayBanditRefuses checks that bad flags and misfits are found before the first round.
func TestPlayBanditRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"play --learner exp3 --game gaussian", "learner: exp3 cannot play gaussian: losses: "},
		clitest.Refusal{"play --learner adahedge --game switching", `learner: "adahedge" is no bandit algorithm`},
		clitest.Refusal{"play --learner ucb --game gaussian:sd=1 --sd 2", `--sd: the game "gaussian:sd=1" has options already`},
		clitest.Refusal{"play --learner ucb --game losses", "losses plays the data of one file, got 0"},
		clitest.Refusal{"play --learner ucb --game bernoulli --plot a.jpg", `--plot: "a.jpg" is neither`},
	)
}
