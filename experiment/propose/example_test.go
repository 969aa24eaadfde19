package propose_test

import (
	"fmt"

	"github.com/noregret/noregret/experiment/propose"
)

// A guardrail is soft or hard; a soft one needs a price.
func ExampleProblem_Validate() {
	problem := &propose.Problem{
		Arms:       []propose.Arm{{Most: 1}, {Most: 1}},
		Metrics:    []propose.Metric{{Name: "clicks"}},
		Goals:      []propose.Goal{{Metric: 0, Weight: 1}},
		Guardrails: []propose.Guardrail{{Metric: 0, Limit: -0.02, Relative: true}},
	}
	fmt.Println(problem.Validate())
	// Output: guardrails[0]: price 0 of a soft guardrail: want a finite number above 0
}
