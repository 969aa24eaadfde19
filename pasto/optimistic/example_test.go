package optimistic_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/optimistic"
)

// Three ways to rank articles, with clicks to gain and at most 30 % complaints: the second has the
// most clicks and too many complaints. The best is to mix it half and half with the first.
func Example() {
	goals, err := pasto.NewGoals([]pasto.Metric{
		{Name: "clicks", Upper: 1},
		{
			Name: "complaints", Role: pasto.Guardrail, Direction: pasto.Down, Hard: true, Threshold: 0.3,
			Slack: 1e-6, Upper: 1,
		},
	}, 0)
	if err != nil {
		panic(err)
	}
	l, err := optimistic.New(goals, 3, optimistic.DefaultOptions())
	if err != nil {
		panic(err)
	}
	truth := [][2]float64{{0.2, 0.1}, {0.6, 0.5}, {0.3, 0.5}}
	r, arms := rand.New(rand.NewPCG(1, 2)), make([]int, 1)
	for range 20000 {
		l.Draw(r, arms)
		seen := make([]float64, 2)
		for m, mean := range truth[arms[0]] {
			if r.Float64() < mean {
				seen[m] = 1
			}
		}
		if err := l.Observe([]pasto.Observation{{Arm: arms[0], Metrics: seen}}); err != nil {
			panic(err)
		}
	}
	fmt.Printf("%.1f\n", l.Deployed())
	fmt.Println("certified:", l.Regret() < optimistic.Bound(3, 2, 20000, 0.05))
	// Output:
	// [0.5 0.5 0.0]
	// certified: true
}
