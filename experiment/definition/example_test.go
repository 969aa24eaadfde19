package definition_test

import (
	"fmt"

	"github.com/noregret/noregret/experiment/definition"
)

// A definition has defaults for most fields; errors name the line and the path.
func ExampleParse() {
	text := `name: checkout
arms:
  - {name: old, value: 2}
  - {name: new, value: 1}
metrics:
  - {name: bought, range: [0, 1]}
objective: {goals: [{metric: bought}]}
`
	d, err := definition.Parse("checkout.yaml", []byte(text))
	if err != nil {
		panic(err)
	}
	fmt.Println(d.Unit, d.Policy.Kind, d.Stickiness, d.Exposure)

	_, err = definition.Parse("checkout.yaml", []byte(text+"guardrails: [{metric: complaints, max: 0.01}]\n"))
	fmt.Println(err)
	// Output:
	// user pasto round reported
	// checkout.yaml:8: guardrails[0].metric: "complaints" is not a metric: want one of bought
}
