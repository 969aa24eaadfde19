package memlog_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/memlog"
)

// A write fails, and whether its event is stored is unknown. The log is opened again, and the same
// append at the same position settles it.
func Example() {
	ctx := context.Background()
	storage := memlog.NewStorage()
	log, err := storage.Open(eventlog.DefaultOptions())
	if err != nil {
		panic(err)
	}
	paid := eventlog.Event{Kind: "paid", Payload: []byte("12.50")}
	storage.Break(1, false)
	err = log.AppendAt(ctx, 1, paid)
	fmt.Println(errors.Is(err, eventlog.ErrFailed))
	if err := log.Reopen(ctx); err != nil {
		panic(err)
	}
	fmt.Println(log.AppendAt(ctx, 1, paid), log.Stats().Last)
	// Output:
	// true
	// <nil> 1
}
