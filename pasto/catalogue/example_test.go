package catalogue_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/catalogue"
)

// Two settings of a ranking: the first gains 2 and lowers the guardrail's metric by 2; the second
// gains nothing and raises it by 2.
func Example() {
	goals, err := pasto.NewGoals([]pasto.Metric{
		{Name: "watch time"},
		{Name: "shares", Role: pasto.Guardrail, Threshold: 0},
	}, 0)
	if err != nil {
		panic(err)
	}
	learner, err := catalogue.New("default", goals, 2, 0, nil)
	if err != nil {
		panic(err)
	}
	truth, _ := pasto.TableOf([]float64{2, 0}, []float64{-2, 2})
	r := rand.New(rand.NewPCG(1, 2))
	arms := make([]int, 4)
	for range 2000 {
		learner.Draw(r, arms) // four groups of users
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
	fmt.Printf("deployed %.2f, worth %.2f\n", learner.Deployed(), goals.Value(theta))
	// Output: deployed [0.51 0.49], worth 1.01
}
