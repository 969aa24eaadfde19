package experiment_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/policy"
)

// An A/B test from its definition to its report, without a service.
func Example() {
	d, err := definition.Parse("checkout.yaml", []byte(`
name: checkout
arms:
  - {name: old, value: 2}
  - {name: new, value: 1}
metrics:
  - {name: bought, range: [0, 1]}
policy: {kind: fixed, split: {old: 0.5, new: 0.5}}
`))
	if err != nil {
		panic(err)
	}
	text, _ := json.Marshal(d)
	state := experiment.NewState()
	apply := func(kind string, payload any) experiment.Outcome {
		e, err := experiment.NewEvent(kind, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(), payload)
		if err != nil {
			panic(err)
		}
		_, o, err := state.Step(e)
		if err != nil {
			panic(err)
		}
		return o
	}
	apply(experiment.KindDefinition, experiment.DefinitionEvent{Experiment: "checkout", Definition: text})

	unit := state.Policy("checkout").Decide("ann")
	fmt.Printf("%s %s with probability %v\n", unit.Name, unit.Value, unit.Propensity)
	token := policy.Token{
		Experiment: "checkout", Version: unit.Version, Arm: unit.Arm, Propensity: unit.Propensity,
		Unit: unit.Unit, Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	apply(experiment.KindExposures, join.Units{
		Experiment: "checkout",
		Items:      []join.Unit{join.UnitOf(token, nil)},
	})
	feedback := join.Units{
		Experiment: "checkout",
		Items:      []join.Unit{join.UnitOf(token, map[string]float64{"bought": 1})},
	}
	fmt.Println(apply(experiment.KindFeedback, feedback).Items[0].Status)
	fmt.Println(apply(experiment.KindFeedback, feedback).Items[0].Status)
	r, _ := state.Report("checkout")
	fmt.Println(r.Arms[unit.Name].N, *r.Arms[unit.Name].Metrics["bought"].Mean)
	// Output:
	// old 2 with probability 0.5
	// accepted
	// duplicate
	// 1 1
}
