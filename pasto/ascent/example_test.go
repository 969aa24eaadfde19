package ascent_test

import (
	"fmt"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/ascent"
)

// Algorithm 1 of the paper on its toy problem, with arm means in place of importance weights.
func Example() {
	goals, err := pasto.NewGoals([]pasto.Metric{
		{Name: "watch time"},
		{Name: "shares", Role: pasto.Guardrail, Threshold: 0},
	}, 0)
	if err != nil {
		panic(err)
	}
	options := ascent.PaperOptions(2)
	options.Estimator, options.Pseudocount = ascent.ArmMeans(), 0
	learner, err := ascent.New(goals, 2, options)
	if err != nil {
		panic(err)
	}
	truth, err := pasto.TableOf([]float64{2, 0}, []float64{-2, 2})
	if err != nil {
		panic(err)
	}
	r := random.New(1, "example")
	arms := make([]int, 4)
	for range 2000 {
		learner.Draw(r, arms)
		var obs []pasto.Observation
		for _, k := range arms {
			mean := truth.Arm(k)
			obs = append(obs, pasto.Observation{Arm: k, Metrics: []float64{
				mean[0] + r.NormFloat64(), mean[1] + r.NormFloat64(),
			}})
		}
		if err := learner.Observe(obs); err != nil {
			panic(err)
		}
	}
	fmt.Printf("deployed %.1f\n", learner.Deployed())
	// Output: deployed [0.5 0.5]
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
