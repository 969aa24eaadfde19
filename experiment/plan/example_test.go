package plan_test

import (
	"context"
	"fmt"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/plan"
)

// How long does it take to decide a guardrail on clicks, and which effect can be detected in two
// weeks?
func Example() {
	d, err := definition.Parse("button.yaml", []byte(`
name: button
arms: [{name: old, value: 1}, {name: new, value: 2}]
control: {arm: old}
metrics: [{name: clicks, kind: count, range: [0, 1]}]
guardrails: [{metric: clicks, min_change: -0.05}]
policy: {kind: fixed, split: {old: 0.5, new: 0.5}}
plan: {units_per_day: 100000, expect: {clicks: {mean: 0.02}}, days: [14]}
`))
	if err != nil {
		panic(err)
	}
	r, err := plan.Compute(context.Background(), d, plan.Options{})
	if err != nil {
		panic(err)
	}
	g := r.Guardrails[0]
	fmt.Printf("shown to hold after %.1f days if nothing changes\n", *g.Held.ClosedForm)
	fmt.Printf("called breached after %.1f days at %.0f %%\n", *g.Breached.ClosedForm, 100*g.Broken)
	fmt.Printf("smallest effect in 14 days: %.1f %%\n", 100**r.Effects[0].Smallest[0])
	// Output:
	// shown to hold after 1.9 days if nothing changes
	// called breached after 1.9 days at -10 %
	// smallest effect in 14 days: 4.4 %
}
