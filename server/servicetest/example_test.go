package servicetest_test

import (
	"context"
	"fmt"

	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/server/servicetest"
)

// Run starts a service for the duration of a function. Tests use Start.
func ExampleRun() {
	url, end := servicetest.Run()
	defer end()
	c, err := client.New(client.DefaultOptions(url))
	if err != nil {
		panic(err)
	}
	_, err = c.Report(context.Background(), "unknown")
	fmt.Println(err != nil)
	// Output: true
}
