package server

import (
	"context"
	"iter"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
)

// positioned is an event of the log.
type positioned struct {
	experiment.Event
	position uint64
}

// Limits of the events that readAhead has read and the caller has not got.
const (
	aheadEvents = 64 // of a part
	aheadBytes  = 1 << 18
	aheadParts  = 2
)

// readAhead reads the events from one position to another. While the caller uses an event, it reads
// and decodes the next ones.
func readAhead(ctx context.Context, log eventlog.Reader, from, to uint64) iter.Seq2[positioned, error] {
	type part struct {
		events []positioned
		err    error
	}
	return func(yield func(positioned, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		parts := make(chan part, aheadParts)
		done := make(chan struct{})
		defer func() {
			cancel()
			<-done
		}()
		send := func(p part) bool {
			select {
			case parts <- p:
				return true
			case <-ctx.Done():
				return false
			}
		}
		go func() {
			defer close(done)
			defer close(parts)
			var p part
			size := 0
			for r, err := range log.Read(ctx, from) {
				if err != nil {
					p.err = err
					break
				}
				e := experiment.Event{Kind: r.Kind, Time: r.Time, Payload: r.Payload}
				p.events = append(p.events, positioned{e.Decoded(), r.Position})
				if size += len(r.Payload); len(p.events) == aheadEvents || size >= aheadBytes {
					if !send(p) {
						return
					}
					p, size = part{}, 0
				}
				if r.Position >= to {
					break
				}
			}
			send(p)
		}()
		for p := range parts {
			for _, e := range p.events {
				if !yield(e, nil) {
					return
				}
			}
			if p.err != nil {
				yield(positioned{}, p.err)
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(positioned{}, err)
		}
	}
}
