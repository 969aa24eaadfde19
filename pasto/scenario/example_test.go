package scenario_test

import (
	"context"
	"fmt"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/scenario"
)

// The arm that converts best has too many complaints, so the best mixture has a part of it.
func ExampleNewTruth() {
	goals, err := pasto.NewGoals([]pasto.Metric{
		{Name: "conversions"},
		{Name: "complaints", Role: pasto.Guardrail, Direction: pasto.Down, Threshold: 2.6, Hard: true},
	}, 0)
	if err != nil {
		panic(err)
	}
	means, err := pasto.TableOf([]float64{5, 4.5, 6.5}, []float64{2, 1.8, 3.2})
	if err != nil {
		panic(err)
	}
	t, err := scenario.NewTruth(context.Background(), goals, means)
	if err != nil {
		panic(err)
	}
	fmt.Printf("the best single arm is %d, worth %.2f\n", t.Arm, t.Single)
	fmt.Printf("the best mixture is %.2f, worth %.2f\n", t.Best.Mixture, t.Optimum())
	s := t.Score([]float64{0, 0, 1})
	fmt.Printf("arm 2 alone is worth %.2f, with %.1f complaints too many\n", s.Value, s.Violation)
	// Output:
	// the best single arm is 0, worth 5.00
	// the best mixture is [0.50 0.00 0.50], worth 5.75
	// arm 2 alone is worth 6.50, with 0.6 complaints too many
}
