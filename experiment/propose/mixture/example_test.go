package mixture_test

import (
	"fmt"
	"log"

	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/propose"
	"github.com/noregret/noregret/experiment/propose/mixture"
)

// Arm 1 brings more clicks and fewer purchases than the 5 % guardrail allows, arm 2 the reverse.
// The mixture of both is better than each.
func Example() {
	problem := &propose.Problem{
		Arms:       []propose.Arm{{Most: 1}, {Most: 1}, {Most: 1}},
		Metrics:    []propose.Metric{{Name: "clicks", Upper: 1}, {Name: "purchases", Upper: 1}},
		Goals:      []propose.Goal{{Metric: 0, Weight: 1}},
		Guardrails: []propose.Guardrail{{Metric: 1, Limit: -0.05, Relative: true, Hard: true}},
	}
	store, err := problem.Store()
	if err != nil {
		log.Fatal(err)
	}
	rates := [2][3]float64{{0.05, 0.07, 0.052}, {0.02, 0.016, 0.022}}
	for range 50 {
		for metric := range rates {
			var round []compare.Sums
			for arm, rate := range rates[metric] {
				const units = 20_000
				round = append(round, compare.Sums{Arm: arm, N: units, X: rate, XX: units * rate * (1 - rate)})
			}
			if err := store.Add(metric, round); err != nil {
				log.Fatal(err)
			}
		}
	}
	policy, err := mixture.New(problem, mixture.DefaultOptions())
	if err != nil {
		log.Fatal(err)
	}
	p, err := policy.Propose(store)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("deployed: %.2f\n", p.Deployed)
	// Output: deployed: [0.00 0.44 0.56]
}
