package embedded_test

import (
	"context"
	"fmt"
	"os"

	"github.com/noregret/noregret/eventlog/jetstream/embedded"
)

func Example() {
	dir, err := os.MkdirTemp("", "embedded")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	s, err := embedded.Start(context.Background(), embedded.Options{
		Cluster: "shop", Node: "localhost:6222", Peers: []string{"localhost:6222"},
		Password: "known to the nodes", Dir: dir,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	fmt.Println("one server, to which this process connects")
	// Output: one server, to which this process connects
}
