package provider_test

import (
	"context"
	"fmt"

	"github.com/open-feature/go-sdk/openfeature"

	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/client/provider"
	"github.com/noregret/noregret/server/servicetest"
)

// An experiment is a flag: evaluate it, then track what the user saw and did.
func Example() {
	url, end := servicetest.Run()
	defer end()
	ctx := context.Background()
	c, err := client.New(client.DefaultOptions(url))
	if err != nil {
		panic(err)
	}
	if _, err := c.Apply(ctx, "ranking", []byte(`
name: ranking
arms:
  - {name: today, value: 0.3}
  - {name: more, value: 0.6}
metrics:
  - {name: watch, range: [0, 600]}
objective: {goals: [{metric: watch}]}
`)); err != nil {
		panic(err)
	}
	p, err := provider.New(c, provider.DefaultOptions())
	if err != nil {
		panic(err)
	}
	if err := openfeature.SetNamedProviderAndWait("example", p); err != nil {
		panic(err)
	}
	flags := openfeature.NewClient("example")
	user := openfeature.NewEvaluationContext("ann", nil)
	weight, err := flags.FloatValue(ctx, "ranking", 0.3, user)
	if err != nil {
		panic(err)
	}
	flags.Track(ctx, provider.Exposure, user, openfeature.NewTrackingEventDetails(0))
	flags.Track(ctx, "watch", user, openfeature.NewTrackingEventDetails(12.5))
	p.Shutdown() // sends the queued items
	report, err := c.Report(ctx, "ranking")
	if err != nil {
		panic(err)
	}
	fmt.Println(weight == 0.3 || weight == 0.6, report.Arms["today"].N+report.Arms["more"].N, "unit")
	// Output: true 1 unit
}
