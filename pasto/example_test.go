package pasto_test

import (
	"errors"
	"fmt"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
)

// Two settings of a ranking: the first gains 2 and costs the guardrail 2, the second the other way
// round.
func Example() {
	goals, err := pasto.NewGoals([]pasto.Metric{
		{Name: "watch time"},
		{Name: "shares", Role: pasto.Guardrail, Threshold: 0},
	}, 0)
	if err != nil {
		panic(err)
	}
	learner, err := pasto.NewByName("default", goals, 2, 0, nil)
	if err != nil {
		panic(err)
	}
	truth, _ := pasto.TableOf([]float64{2, 0}, []float64{-2, 2})
	r := random.New(1, "example")
	arms := make([]int, 4)
	for range 2000 {
		learner.Draw(r, arms) // four groups of users
		var obs []pasto.Observation
		for _, k := range arms {
			mean := truth.Arm(k)
			obs = append(obs, pasto.Observation{Arm: k, Metrics: []float64{
				mean[0] + pasto.Normal(r), mean[1] + pasto.Normal(r),
			}})
		}
		if err := learner.Observe(obs); err != nil {
			panic(err)
		}
	}
	theta := make([]float64, 2)
	truth.Mean(theta, learner.Deployed())
	fmt.Printf("deployed %.2f, worth %.2f\n", learner.Deployed(), goals.Value(theta))
	// Output: deployed [0.51 0.49], worth 1.01
}

// The exact solutions for known means, with certificate; and what is said of guardrails that cannot
// be held.
func ExampleMaximize() {
	means, _ := pasto.TableOf([]float64{2, 0}, []float64{-2, 2})
	soft, _ := pasto.NewGoals([]pasto.Metric{{Name: "x"}, {Name: "y", Role: pasto.Guardrail}}, 0)
	arm, value, _ := pasto.BestSingle(soft, means)
	fmt.Printf("best single: arm %d, %.4f\n", arm, value)
	o, _ := pasto.Maximize(soft, means, pasto.SolverOptions{})
	fmt.Printf("mixture: %.4f, %.4f, gap below 1e-9: %v\n", o.Mixture, o.Value, o.Gap < 1e-9)

	hard, _ := pasto.NewGoals([]pasto.Metric{{Name: "x"}, {Name: "y", Role: pasto.Guardrail, Hard: true}}, 0)
	o, _ = pasto.Maximize(hard, means, pasto.SolverOptions{})
	fmt.Printf("hard: %.4f, %.4f, price of the guardrail %.2f\n", o.Mixture, o.Value, o.Prices[1])

	tooHigh,
		_ := pasto.NewGoals([]pasto.Metric{{Name: "x"}, {Name: "y", Role: pasto.Guardrail, Threshold: 3, Hard: true}},
		0)
	_, err := pasto.Maximize(tooHigh, means, pasto.SolverOptions{})
	if least, ok := errors.AsType[*pasto.Infeasible](err); ok {
		fmt.Println(least)
	}
	// Output:
	// best single: arm 1, 0.0000
	// mixture: [0.5125 0.4875], 1.0125, gap below 1e-9: true
	// hard: [0.5000 0.5000], 1.0000, price of the guardrail 0.50
	// infeasible: no mixture holds the guardrails; the least total violation is 1 ("y" by 1)
}

// A guardrail of "at most 2 % below the control group", measured in the same round.
func ExampleGoals_Contrast() {
	goals, _ := pasto.NewGoals([]pasto.Metric{
		{Name: "revenue"},
		{Name: "clicks", Role: pasto.Guardrail, Relative: true, Threshold: -0.02},
	}, 0)
	seen := make([]float64, 2)
	if err := goals.Contrast(seen, []float64{1.5, 97}, []float64{1.2, 100}); err != nil {
		panic(err)
	}
	fmt.Println(seen, goals.Value(seen))
	// Output: [1.5 -1] -3.5
}
