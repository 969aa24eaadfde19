package drifting_test

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/confident"
	"github.com/noregret/noregret/pasto/drifting"
)

// The better of two arms changes after 100 rounds. A learner with an adaptive memory forgets what
// is no longer true.
func Example() {
	goals, err := pasto.NewGoals([]pasto.Metric{{Name: "clicks", Upper: 1}}, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := drifting.New(goals, 2, confident.DefaultOptions(), forget.Rule{Kind: forget.Adaptive})
	if err != nil {
		fmt.Println(err)
		return
	}
	for round := 1; round <= 200; round++ {
		rates := []float64{0.05, 0.04}
		if round > 100 {
			rates = []float64{0.03, 0.04}
		}
		var obs []pasto.Observation
		for k, p := range l.Serving() {
			if n := math.Round(50_000 * p); n > 0 {
				obs = append(obs, pasto.Observation{
					Arm: k, Metrics: rates[k : k+1], Size: n, Variances: []float64{rates[k] * (1 - rates[k])},
				})
			}
		}
		if err := l.Observe(obs); err != nil {
			fmt.Println(err)
			return
		}
		if round%100 == 0 {
			fmt.Printf("round %d: deploys %.0f\n", round, l.Deployed())
		}
	}
	// Output:
	// round 100: deploys [1 0]
	// round 200: deploys [0 1]
}
