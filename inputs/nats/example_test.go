package nats_test

import (
	"context"
	"fmt"
	"os"

	"github.com/noregret/noregret/inputs/nats"
)

// A program that keeps the position goes on where it was.
func ExampleCopy() {
	position := uint64(1)
	_, err := nats.Copy(context.Background(), os.Stdout, "nats://127.0.0.1:4222", nats.Options{
		From: position,
		Save: func(next uint64) error { position = next; return nil },
	})
	fmt.Println(err)
	// Output: "" is not the name of a stream: the address is nats://HOST:PORT/STREAM
}
