package arena_test

import (
	"context"
	"fmt"

	"github.com/noregret/noregret/lab/arena"
)

// Two peers play the same worlds. One may break guardrails while it learns; the other serves within
// confidence bounds.
func ExampleRun() {
	r, err := arena.Run(context.Background(), arena.Options{
		Families: []string{"infeasible"}, Learners: []string{"greedy-2", "greedy-2-safe", "oracle"}, Runs: 4, Seed: 1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range r.Families[0].Rows {
		fmt.Printf("%-14s deployed %.2f, served %.2f, broken in %.0f %% of the rounds\n", row.Learner,
			row.Deployed.Mean, row.Served.Mean, 100*row.BrokenRounds.Mean)
	}
	// Output:
	// greedy-2       deployed 0.75, served 0.56, broken in 93 % of the rounds
	// greedy-2-safe  deployed 0.73, served 0.30, broken in 0 % of the rounds
	// oracle         deployed 1.00, served 1.00, broken in 0 % of the rounds
}
