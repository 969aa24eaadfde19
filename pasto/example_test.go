package pasto_test

import (
	"fmt"

	"github.com/noregret/noregret/pasto"
)

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
