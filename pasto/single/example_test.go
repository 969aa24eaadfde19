package single_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/single"
)

// Three settings with click rates of 1, 2 and 3 %, measured on 2,000 visits a group: elimination
// drops the two worse ones.
func Example() {
	goals, err := pasto.NewGoals([]pasto.Metric{{Name: "clicks"}}, 0)
	if err != nil {
		panic(err)
	}
	learner, err := single.New(goals, 3, single.Elimination)
	if err != nil {
		panic(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	arms := make([]int, 6)
	for range 200 {
		learner.Draw(r, arms)
		var obs []pasto.Observation
		for _, k := range arms {
			clicks := 0
			for range 2000 {
				if r.Float64() < 0.01*float64(k+1) {
					clicks++
				}
			}
			obs = append(obs, pasto.Observation{Arm: k, Size: 2000, Metrics: []float64{float64(clicks) / 2000}})
		}
		if err := learner.Observe(obs); err != nil {
			panic(err)
		}
	}
	fmt.Println("served", learner.Serving(), "deployed", learner.Deployed())
	// Output: served [0 0 1] deployed [0 0 1]
}
