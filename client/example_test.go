package client_test

import (
	"context"
	"fmt"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/server/servicetest"
)

const exampleDefinition = `
name: ranking
arms:
  - {name: today, value: 0.3}
  - {name: more, value: 0.6}
control: {arm: today, share: 0.2}
metrics:
  - {name: watch, range: [0, 600]}
objective: {goals: [{metric: watch}]}
`

// Decide, show, report: three calls.
func ExampleClient() {
	url, end := servicetest.Run()
	defer end()
	ctx := context.Background()
	c, err := client.New(client.DefaultOptions(url))
	if err != nil {
		panic(err)
	}
	if _, err := c.Apply(ctx, "ranking", []byte(exampleDefinition)); err != nil {
		panic(err)
	}
	ds, err := c.Decide(ctx, "ranking", "ann")
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s gets %s = %s\n", ds[0].Unit, ds[0].Arm, ds[0].Value)
	shown := api.FeedbackItem{Token: ds[0].Token}
	if _, err := c.Exposures(ctx, shown); err != nil {
		panic(err)
	}
	shown.Metrics = map[string]float64{"watch": 42}
	result, err := c.Feedback(ctx, shown)
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Items[0].Status)
	// Output:
	// ann gets more = 0.6
	// accepted
}

// Decide in the process, and send sums.
func ExampleLocal() {
	url, end := servicetest.Run()
	defer end()
	ctx := context.Background()
	c, err := client.New(client.DefaultOptions(url))
	if err != nil {
		panic(err)
	}
	if _, err := c.Apply(ctx, "ranking", []byte(exampleDefinition)); err != nil {
		panic(err)
	}
	local, err := c.NewLocal(ctx, "ranking", client.DefaultLocalOptions())
	if err != nil {
		panic(err)
	}
	for _, user := range []string{"ann", "bob", "cyd"} {
		d, err := local.Decide(user) // no call
		if err != nil {
			panic(err)
		}
		if err := local.Record(d, map[string]float64{"watch": 42}); err != nil {
			panic(err)
		}
	}
	if err := local.Close(ctx); err != nil { // sends what was recorded
		panic(err)
	}
	r, err := c.Report(ctx, "ranking")
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Arms["today"].N+r.Arms["more"].N, "units")
	// Output: 3 units
}
