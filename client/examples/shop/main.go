// Command shop is an example: a shop chooses a checkout page through OpenFeature and tracks
// purchases.
//
//	noregret serve &
//	noregret experiment apply client/examples/shop/checkout.yaml
//	go run ./client/examples/shop http://127.0.0.1:8430
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/open-feature/go-sdk/openfeature"

	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/client/provider"
)

func main() {
	url := "http://127.0.0.1:8430"
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	if err := run(context.Background(), url, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string, w io.Writer) error {
	options := client.DefaultOptions(url)
	options.Token = os.Getenv("NOREGRET_TOKEN")
	c, err := client.New(options)
	if err != nil {
		return err
	}
	shows := provider.DefaultOptions()
	shows.ExposeOnEvaluation = true
	p, err := provider.New(c, shows)
	if err != nil {
		return err
	}
	if err := openfeature.SetNamedProviderAndWait("shop", p); err != nil {
		return err
	}
	flags := openfeature.NewClient("shop")
	for i := range 200 {
		customer := openfeature.NewEvaluationContext(fmt.Sprintf("customer-%d", i), nil)
		buttons, err := flags.IntValue(ctx, "checkout", 2, customer)
		if err != nil {
			return err
		}
		// One button sells to every third customer, two to every fifth.
		bought := 0.0
		if (buttons == 1 && i%3 == 0) || (buttons == 2 && i%5 == 0) {
			bought = 1
		}
		flags.Track(ctx, "bought", customer, openfeature.NewTrackingEventDetails(bought))
	}
	p.Shutdown() // sends queued items
	r, err := c.Report(ctx, "checkout")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "old: %d customers, new: %d customers, feedback: %d\n", r.Arms["old"].N, r.Arms["new"].N,
		r.Feedback.Accepted)
	return err
}
