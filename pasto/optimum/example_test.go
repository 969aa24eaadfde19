package optimum_test

import (
	"errors"
	"fmt"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/optimum"
)

// The exact solutions for known means, with a certificate, and the report for guardrails that no
// mixture satisfies.
func ExampleMaximize() {
	means, _ := pasto.TableOf([]float64{2, 0}, []float64{-2, 2})
	soft, _ := pasto.NewGoals([]pasto.Metric{{Name: "x"}, {Name: "y", Role: pasto.Guardrail}}, 0)
	arm, value, _ := optimum.BestSingle(soft, means)
	fmt.Printf("best single: arm %d, %.4f\n", arm, value)
	o, _ := optimum.Maximize(soft, means, optimum.DefaultOptions())
	fmt.Printf("mixture: %.4f, %.4f, gap below 1e-9: %v\n", o.Mixture, o.Value, o.Gap < 1e-9)

	hard, _ := pasto.NewGoals([]pasto.Metric{{Name: "x"}, {Name: "y", Role: pasto.Guardrail, Hard: true}}, 0)
	o, _ = optimum.Maximize(hard, means, optimum.DefaultOptions())
	fmt.Printf("hard: %.4f, %.4f, price of the guardrail %.2f\n", o.Mixture, o.Value, o.Prices[1])

	tooHigh,
		_ := pasto.NewGoals([]pasto.Metric{{Name: "x"}, {Name: "y", Role: pasto.Guardrail, Threshold: 3, Hard: true}},
		0)
	_, err := optimum.Maximize(tooHigh, means, optimum.DefaultOptions())
	if least, ok := errors.AsType[*optimum.Infeasible](err); ok {
		fmt.Println(least)
	}
	// Output:
	// best single: arm 1, 0.0000
	// mixture: [0.5125 0.4875], 1.0125, gap below 1e-9: true
	// hard: [0.5000 0.5000], 1.0000, price of the guardrail 0.50
	// infeasible: no mixture holds the guardrails; the least total violation is 1 ("y" by 1)
}
