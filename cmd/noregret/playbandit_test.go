package main

import "testing"

// TestPlayBanditRefuses checks that bad flags and misfits are found before the first round.
func TestPlayBanditRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"play --learner exp3 --game gaussian", "learner: exp3 cannot play gaussian: losses: "},
		refusal{"play --learner adahedge --game switching", `learner: "adahedge" is no bandit algorithm`},
		refusal{"play --learner ucb --game gaussian:sd=1 --sd 2", `--sd: the game "gaussian:sd=1" has options already`},
		refusal{"play --learner ucb --game losses", "losses plays the data of one file, got 0"},
		refusal{"play --learner ucb --game bernoulli --plot a.jpg", `--plot: "a.jpg" is neither`},
	)
}
