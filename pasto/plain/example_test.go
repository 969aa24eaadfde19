package plain_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/plain"
)

// A hard guardrail between two settings: the first gains 2 and misses the limit by 2, the second
// gains nothing and has 2 to spare. Half of each is the best mixture that holds; the learner stays
// on the safe side of it by its caution.
func Example() {
	goals, err := pasto.NewGoals([]pasto.Metric{
		{Name: "watch time"},
		{Name: "shares", Role: pasto.Guardrail, Threshold: 0, Hard: true},
	}, 0)
	if err != nil {
		panic(err)
	}
	learner, err := plain.New(goals, 2, plain.DefaultOptions())
	if err != nil {
		panic(err)
	}
	truth, err := pasto.TableOf([]float64{2, 0}, []float64{-2, 2})
	if err != nil {
		panic(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	arms := make([]int, 10)
	for range 1000 {
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
	theta := make([]float64, 2)
	truth.Mean(theta, learner.Deployed())
	fmt.Printf("deployed %.2f: watch time %.2f, guardrail held: %v\n", learner.Deployed(), theta[0], theta[1] >= 0)
	// Output: deployed [0.49 0.51]: watch time 0.99, guardrail held: true
}
