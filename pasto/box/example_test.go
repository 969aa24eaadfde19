package box_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/box"
)

// One weight between 0 and 1. Its best value, 0.7, is between the first points that the learner
// tries, so it adds points of its own choice.
func Example() {
	goals, err := pasto.NewGoals([]pasto.Metric{{Name: "watch time"}}, 0)
	if err != nil {
		panic(err)
	}
	options := box.DefaultOptions(1)
	options.Nodes, options.Every = 4, 50
	learner, err := box.New(goals, []float64{0}, []float64{1}, options)
	if err != nil {
		panic(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	arms := make([]int, 8)
	for range 1500 {
		learner.Draw(r, arms)
		var obs []pasto.Observation
		for _, k := range arms {
			x := learner.Point(k)[0]
			obs = append(obs, pasto.Observation{Arm: k, Metrics: []float64{
				math.Exp(-20*(x-0.7)*(x-0.7)) + 0.1*r.NormFloat64(),
			}})
		}
		if err := learner.Observe(obs); err != nil {
			panic(err)
		}
	}
	mean := 0.0
	for k, p := range learner.Deployed() {
		if p > 0 {
			mean += p * learner.Point(k)[0]
		}
	}
	fmt.Printf("the deployed weight is %.1f on average\n", mean)
	// Output: the deployed weight is 0.7 on average
}
