package world_test

import (
	"fmt"

	"github.com/noregret/noregret/lab/world"
	"github.com/noregret/noregret/pasto"
)

// Example has a world with a control and one arm, which half of the units may get.
func Example() {
	goals, err := pasto.NewGoals([]pasto.Metric{
		{Name: "clicks"}, {Name: "errors", Role: pasto.Guardrail, Direction: pasto.Down, Threshold: 0.011, Hard: true},
	}, 0)
	if err != nil {
		panic(err)
	}
	means, err := pasto.TableOf([]float64{0.05, 0.06}, []float64{0.01, 0.012})
	if err != nil {
		panic(err)
	}
	w := &world.World{
		Goals: goals, Outcomes: make([]world.Outcome, 2), Margins: []float64{0, 0.001},
		Phases: []world.Phase{{Means: means}}, Units: []int{10_000},
	}
	if err := w.Solve(); err != nil {
		panic(err)
	}
	half := w.Rate(0, []float64{0.5, 0.5}, make([]float64, 2))
	all := w.Rate(0, []float64{0, 1}, make([]float64, 2))
	fmt.Printf("half of the units: value %.2f\n", half.Value)
	fmt.Printf("all of them: value %.2f without the violation of %.2f margins\n", all.Raw, all.Violation)

	// The same seed, round, arm and number of units have the same outcome.
	draw := func() float64 {
		g := world.NewGroup(1, 10_000, 2)
		world.NewSampler(w, 1).Draw(0, &g)
		return g.Means[0]
	}
	fmt.Println(draw() == draw())
	// Output:
	// half of the units: value 1.00
	// all of them: value 2.00 without the violation of 1.00 margins
	// true
}
