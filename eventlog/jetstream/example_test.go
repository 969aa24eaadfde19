package jetstream_test

import (
	"context"
	"fmt"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/jetstream"
)

// A log needs a stream's name and a directory of the node.
func ExampleOpen() {
	o := jetstream.DefaultOptions()
	o.Servers = []string{"nats://n0:4222", "nats://n1:4222", "nats://n2:4222"}
	o.Stream = "no regret"
	_, err := jetstream.Open(context.Background(), o, eventlog.DefaultOptions())
	fmt.Println(err)
	// Output: jetstream.Options: Stream is "no regret": it must be 1 to 64 letters, digits, - and _
}
