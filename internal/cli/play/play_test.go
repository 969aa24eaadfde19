package play

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

// TestPlayRefuses checks that bad flags, and learners that do not fit the game, are found before
// the first round and before a picture is begun.
func TestPlayRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"play --game guess", "--learner: at least one is required"},
		clitest.Refusal{"play --learner adahedge", "--game: a game is required"},
		clitest.Refusal{
			"play --learner adagrad --game linear-ball --plot a.svg",
			"learner: adagrad cannot play linear-ball: ",
		},
		clitest.Refusal{"play --learner eg:eta=1..2 --game experts", `learner: "eg:eta=1..2": want a range`},
		clitest.Refusal{"play --learner eg --game experts --rounds 0", "rounds: 0: want at least 1"},
		clitest.Refusal{"play --learner eg --game experts --runs 0 --summary", "runs: 0: want at least 1"},
		clitest.Refusal{"play --learner eg --game experts --lengths 5", "--lengths: [5] without --dynamic: want both"},
		clitest.Refusal{
			"play --learner eg --game experts --dynamic --lengths 0",
			"eg in experts: lengths[0]: 0: want a length from 1 to",
		},
		clitest.Refusal{"play --learner ucb --game bernoulli --dynamic", "--dynamic: bernoulli is a game of bandits"},
	)
}
