package kafka_test

import (
	"context"
	"fmt"
	"os"

	"github.com/noregret/noregret/inputs/kafka"
)

// A program that keeps the position goes on where it was.
func ExampleCopy() {
	var position []int64
	_, err := kafka.Copy(context.Background(), os.Stdout, "kafka://127.0.0.1:9092", kafka.Options{
		From: position,
		Save: func(next []int64) error { position = append(position[:0], next...); return nil },
	})
	fmt.Println(err)
	// Output: "" is not the name of a topic: the address is kafka://HOST:PORT,.../TOPIC
}
