package main

import "testing"

// TestPlayRefuses checks that bad flags, and learners that do not fit the game, are found before
// the first round and before a picture is begun.
func TestPlayRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"play --game guess", "--learner: at least one is required"},
		refusal{"play --learner adahedge", "--game: a game is required"},
		refusal{"play --learner adagrad --game linear-ball --plot a.svg", "learner: adagrad cannot play linear-ball: "},
		refusal{"play --learner eg:eta=1..2 --game experts", `learner: "eg:eta=1..2": want a range`},
		refusal{"play --learner eg --game experts --rounds 0", "rounds: 0: want at least 1"},
		refusal{"play --learner eg --game experts --runs 0 --summary", "runs: 0: want at least 1"},
		refusal{"play --learner eg --game experts --lengths 5", "--lengths: [5] without --dynamic: want both"},
		refusal{
			"play --learner eg --game experts --dynamic --lengths 0",
			"eg in experts: lengths[0]: 0: want a length from 1 to",
		},
		refusal{"play --learner ucb --game bernoulli --dynamic", "--dynamic: bernoulli is a game of bandits"},
	)
}
