package ascent_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/ascent"
)

// An experiment with the settings for production. The first arm earns 2 a visit and delays it by 2
// units; the second does neither. The delay should be at most 1 on average. With a price of 5 on
// the squared violation, a share of about 55 % for the first arm is best, until an arm joins that
// earns as much with a delay of 1.
func Example() {
	goals, err := pasto.NewGoals([]pasto.Metric{
		{Name: "revenue"},
		{Name: "delay", Role: pasto.Guardrail, Direction: pasto.Down, Threshold: 1},
	}, 0)
	if err != nil {
		panic(err)
	}
	learner, err := ascent.New(goals, 2, ascent.PracticalOptions(2))
	if err != nil {
		panic(err)
	}
	means := [][]float64{{2, 2}, {0, 0}}
	draws, groups := rand.New(rand.NewPCG(1, 2)), make([]int, 10)
	play := func(rounds int) {
		for range rounds {
			learner.Draw(draws, groups)
			obs := make([]pasto.Observation, len(groups))
			for i, arm := range groups {
				obs[i] = pasto.Observation{Arm: arm, Metrics: means[arm]}
			}
			if err := learner.Observe(obs); err != nil {
				panic(err)
			}
		}
	}
	play(5000)
	fmt.Printf("two arms: %.2f\n", learner.Deployed())
	if _, err := learner.AddArm(); err != nil {
		panic(err)
	}
	means = append(means, []float64{2, 1})
	play(5000)
	fmt.Printf("three arms: %.2f\n", learner.Deployed())
	// Output:
	// two arms: [0.56 0.44]
	// three arms: [0.00 0.00 0.99]
}

// The bound on the gap to the best mixture falls with the rounds.
func ExampleSupportedBound() {
	for _, rounds := range []int{1e4, 1e6} {
		bound, err := ascent.SupportedBound(ascent.Supported{
			Arms: 2, Groups: 100, Rounds: rounds, Gamma: 0.05, Explore: ascent.PaperExploration(),
			Constants: ascent.Constants{Gradient: 1, Smooth: 1, Means: 1}, Noise: 1, Spread: 1,
		})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%d rounds: %.3f\n", rounds, bound)
	}
	// Output:
	// 10000 rounds: 0.149
	// 1000000 rounds: 0.050
}
