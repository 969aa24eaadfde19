package report_test

import (
	"fmt"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/report"
	"github.com/noregret/noregret/policy"
)

// An experiment of ten days whose gain is not shown yet.
func ExampleHeadline() {
	d, err := definition.Parse("example", []byte(`
name: shop
unit: user
arms: [{name: a, value: 1}, {name: b, value: 2}]
control: {arm: a, share: 0.1}
metrics: [{name: sales, kind: mean, range: [0, 1]}]
objective: {goals: [{metric: sales}]}
`))
	if err != nil {
		panic(err)
	}
	estimate, low, high := 0.04, -0.02, 0.10
	seen := api.Interval{Estimate: &estimate, Low: &low, High: &high}
	c := api.Comparison{Interval: seen, Relative: seen, Verdict: api.NoDifference}
	begun := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	r := &api.Report{
		State: policy.Running, Created: begun, Time: begun.AddDate(0, 0, 10),
		Lift: api.Lift{Control: "a", Quantities: []api.LiftQuantity{
			{Kind: api.LiftGoal, Metric: "sales", Direction: "up", Served: c, Deployed: &c},
		}},
	}
	h := report.Headline(d, r)
	fmt.Println(h.Text)
	fmt.Println(h.Next, *h.Days)
	// Output:
	// what is served shows no difference from a in sales yet (−2.0 % to +10.0 %); wait some 13 days for sales.
	// wait 13
}

// The means of an arm's units, with intervals that hold at all times.
func ExampleMeans() {
	d, err := definition.Parse("example", []byte(`
name: shop
arms: [{name: a, value: 1}, {name: b, value: 2}]
metrics: [{name: sales, range: [0, 1]}]
objective: {goals: [{metric: sales}]}
`))
	if err != nil {
		panic(err)
	}
	units := compare.NewStats(d)
	for i := range 1000 {
		units.Units++
		if err := units.Metrics[0].Add(float64(i % 2)); err != nil {
			panic(err)
		}
	}
	m := report.Means(d, &units, nil).Metrics["sales"]
	fmt.Printf("%.2f, from %.2f to %.2f\n", *m.Mean, *m.Low, *m.High)
	// Output: 0.50, from 0.44 to 0.56
}
