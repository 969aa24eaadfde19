package play_test

import (
	"context"
	"fmt"

	"github.com/noregret/noregret/play"
)

// Two learners guess numbers. The second knows that the losses are curved, and so has regret of
// order ln T.
func ExampleRun() {
	results, err := play.Run(context.Background(), play.Options{
		Learners: []string{"ogd-adaptive", "ogd-strong"}, Game: "guess", Rounds: 1000, Seed: 1, Runs: 1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range results {
		fmt.Printf("%s: regret %.2f, at most %.2f\n", r.Learner, r.Regret, r.Bound)
	}
	// Output:
	// ogd-adaptive: regret 6.18, at most 26.71
	// ogd-strong: regret 0.79, at most 0.79
}
