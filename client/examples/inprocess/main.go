// Command inprocess is an example: a ranking service decides for each request without calling the
// decision service, and reports sums every few seconds.
//
//	noregret serve &
//	noregret experiment apply client/examples/inprocess/ranking.yaml
//	go run ./client/examples/inprocess http://127.0.0.1:8430
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/noregret/noregret/client"
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

func run(ctx context.Context, url string, w io.Writer) (err error) {
	options := client.DefaultOptions(url)
	options.Token = os.Getenv("NOREGRET_TOKEN")
	c, err := client.New(options)
	if err != nil {
		return err
	}
	reports := client.DefaultLocalOptions()
	reports.Source = "ranking"
	local, err := c.NewLocal(ctx, "ranking", reports)
	if err != nil {
		return err
	}
	for i := range 10_000 {
		d, err := local.Decide(fmt.Sprintf("request-%d", i))
		if err != nil {
			return err
		}
		var weight float64
		if err := json.Unmarshal(d.Value, &weight); err != nil {
			return err
		}
		// The more weight on freshness, the longer people watch, and the more often they complain.
		metrics := map[string]float64{"watch": 5 * (2 + weight + float64(i%7)/5)}
		if i%100 < int(4*weight) {
			metrics["complaints"] = 1
		}
		if err := local.Record(d, metrics); err != nil {
			return err
		}
	}
	if err := local.Close(ctx); err != nil { // sends the last sums
		return err
	}
	r, err := c.Report(ctx, "ranking")
	if err != nil {
		return err
	}
	n := int64(0)
	for _, a := range r.Arms {
		n += a.N
	}
	_, err = fmt.Fprintf(w, "%d requests in %d reports of sums\n", n, r.Feedback.Accepted)
	return err
}
