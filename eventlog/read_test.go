package eventlog

import (
	"context"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Several readers with Tail wait for more events and end with their context or with the log.
func TestTail(t *testing.T) {
	noLeaks(t)
	s := open(t, vfs.NewMem())
	appendN(t, s, 3)
	ctx, cancel := context.WithCancel(t.Context())
	const readers = 4
	got := make(chan uint64, 100*readers)
	ends := make(chan error, readers+1)
	tail := func(ctx context.Context, from uint64) {
		for r, err := range s.Tail(ctx, from) {
			if err != nil {
				ends <- err
				return
			}
			if !sameEvent(r) {
				t.Errorf("%+v", r)
			}
			got <- r.Position
		}
		ends <- nil
	}
	for i := range readers {
		go tail(ctx, uint64(i+1))
	}
	for range 3 + 2 + 1 { // the existing events from 1, 2, 3 and 4
		<-got
	}
	for n := uint64(4); n < 50; n++ {
		appendN(t, s, 1)
		for range readers {
			if p := <-got; p != n {
				t.Fatalf("position %d, want %d", p, n)
			}
		}
	}
	cancel()
	for range readers {
		if err := <-ends; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	}
	go tail(context.Background(), 50)
	closeLog(t, s)
	if err := <-ends; !errors.Is(err, ErrClosed) {
		t.Errorf("it ended with %v", err)
	}
}
