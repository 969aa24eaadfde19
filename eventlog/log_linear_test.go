package eventlog

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// logInput is an append of a value, or, without one, a read of the whole log.
type logInput struct{ value string }

// logOutput is the position of an append, or the values that a read returned.
type logOutput struct {
	position uint64
	seen     string
}

// The sequential log: a string of values.
var logModel = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		log, in, out := state.(string), input.(logInput), output.(logOutput)
		if in.value == "" {
			return out.seen == log, log
		}
		return out.position == uint64(len(log)/3+1), log + in.value
	},
}

// Appends and reads from many goroutines are linearizable: some sequential order of the calls
// explains their results and keeps the order of calls that do not overlap.
func TestLinearizable(t *testing.T) {
	noLeaks(t)
	rounds := 10
	if full() {
		rounds = 300
	}
	for round := range rounds {
		s := open(t, vfs.NewMem())
		var clock atomic.Int64 // orders the ends of calls; not a time
		var mu sync.Mutex
		var history []porcupine.Operation
		call := func(client int, in logInput) {
			begin := clock.Add(1)
			var out logOutput
			if in.value != "" {
				var err error
				if out.position, _, err = s.Append(context.Background(),
					Event{Kind: "v", Payload: []byte(in.value)}); err != nil {
					t.Error(err)
				}
			} else {
				for r, err := range s.Read(context.Background(), 1) {
					if err != nil {
						t.Error(err)
					}
					out.seen += string(r.Payload)
				}
			}
			end := clock.Add(1)
			mu.Lock()
			defer mu.Unlock()
			history = append(history, porcupine.Operation{
				ClientId: client, Input: in, Call: begin, Output: out,
				Return: end,
			})
		}
		var wg sync.WaitGroup
		for client := range 6 {
			wg.Go(func() {
				for i := range 12 {
					if (i+client)%3 == 2 {
						call(client, logInput{})
					} else {
						call(client, logInput{fmt.Sprintf("%d%02d", client, i)})
					}
				}
			})
		}
		wg.Wait()
		if !porcupine.CheckOperations(logModel, history) {
			t.Fatalf("round %d: no sequential log explains %+v", round, history)
		}
		closeLog(t, s)
	}
}
