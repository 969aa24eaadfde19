package guard_test

import (
	"fmt"
	"log"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/experiment/join"
)

// Two arms of an experiment fall below the limit of a guardrail, which asks for a rollback.
func Example() {
	d, err := definition.Parse("example", []byte(`
name: shop
arms: [{name: old, value: 1}, {name: new, value: 2}]
control: {arm: old, share: 0.5}
metrics: [{name: sales, range: [0, 1]}, {name: happy, range: [0, 1]}]
objective: {goals: [{metric: sales}]}
guardrails: [{metric: happy, min: 0.9, hard: false, action: rollback}]
`))
	if err != nil {
		log.Fatal(err)
	}
	units := join.New(nil, d)
	units.AddArm(d)
	units.AddArm(d)
	mixture := []float64{0.5, 0.5}
	units.Begin(d, join.Start{Version: 1, Round: 1, Stream: 1, Mixture: mixture}, 0)
	happy := d.MetricIndex("happy")
	for k := range units.Arms { // all units of both arms have the value 0.7
		units.Arms[k].Units = 5000
		units.Arms[k].Metrics[happy] = confseq.Sequence{N: 5000, Mean: 0.7, Low: 0.7, High: 0.7}
	}

	states := guard.New(d, 1, 0)
	e := &guard.Evidence{Definition: d, Control: 0, Initial: 2, Joined: units}
	arms := []guard.Arm{
		{Name: "old", Active: true, Stopped: &guard.Stopped{}},
		{Name: "new", Active: true, Stopped: &guard.Stopped{Stop: guard.Vetoed}},
	}
	v := states.Judge(e, arms, &guard.Judgement{Mixture: mixture, Version: 1})
	fmt.Println(v.Notes[0])
	fmt.Println(v.Demand.Cause, "for", v.Demand.Metric)
	// Output:
	// guardrail happy: shown broken
	// rolled back by a guardrail for happy
}
