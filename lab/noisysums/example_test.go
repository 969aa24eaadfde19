package noisysums_test

import (
	"context"
	"fmt"

	"github.com/noregret/noregret/lab/noisysums"
)

func ExampleRun() {
	world, err := noisysums.DefaultWorld(4)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := noisysums.Run(context.Background(), noisysums.Options{
		World: world, Units: 1_000_000, Contribution: 1, Rounds: 30, Epsilon: 1, Delta: 1e-10, Runs: 3, Seed: 1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Reached(), "of 3 runs have 90 % of the gain within", 30, "rounds")
	// Output:
	// 3 of 3 runs have 90 % of the gain within 30 rounds
}
