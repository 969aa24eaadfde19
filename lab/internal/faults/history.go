package faults

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/jetstream"
)

// writer is a client of the second log, which appends to it and reads it beside others.
type writer struct {
	id    int
	log   *jetstream.Log
	count int
}

// histories are the writers of the second log, and what they have seen in a round.
type histories struct {
	writers []*writer
	begun   time.Time
	end     *entry // of the log at the end of the round before
	stop    context.CancelFunc
	ended   sync.WaitGroup

	mu    sync.Mutex
	calls []porcupine.Operation
}

// call is a call of a writer: that of AppendAt, or the reading of one event.
type call struct {
	read bool
	at   uint64
	id   string // of the event that is appended
}

// outcome is what a call returns: the event that was read, or what has become of the appended one.
type outcome struct {
	id     string
	stored bool
	known  bool
}

// entry is the last event of a log and those before it: the state of the model.
type entry struct {
	id     string
	at     uint64
	sum    uint64 // of all ids
	before *entry
}

func (e *entry) push(id string) *entry {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%x %s", e.sum, id) // a hash returns no error
	return &entry{id, e.at + 1, h.Sum64(), e}
}

// holds reports whether the log has an event at a position.
func (e *entry) holds(at uint64, id string) bool {
	for e.at > at {
		e = e.before
	}
	return at > 0 && e.at == at && e.id == id
}

// model is a log of events with AppendAt and reading. A read may be behind, but what it yields must
// be in the log: events do not change, so it is the same to say that they are there when it ends.
func model(begin *entry) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return begin },
		Step: func(state, input, output any) (bool, any) {
			e, in, out := state.(*entry), input.(call), output.(outcome)
			switch {
			case in.read:
				return e.holds(in.at, out.id), e
			case out.stored && e.at+1 == in.at:
				return true, e.push(in.id)
			case out.stored:
				return e.holds(in.at, in.id), e
			default:
				return e.at+1 != in.at && !e.holds(in.at, in.id), e
			}
		},
		Equal: func(a, b any) bool { return a.(*entry).at == b.(*entry).at && a.(*entry).sum == b.(*entry).sum },
	}
}

// openHistories opens the second log for one writer of each machine.
func (c *cluster) openHistories(ctx context.Context) (*histories, error) {
	h := &histories{begun: time.Now(), end: &entry{}}
	for i := range c.machines {
		o := jetstream.DefaultOptions()
		o.Stream, o.Servers, o.Dir = "history", c.servers(i), filepath.Join(c.dir, fmt.Sprint("writer", i))
		l, err := jetstream.Open(ctx, o, eventlog.DefaultOptions())
		if err != nil {
			h.close()
			return nil, err
		}
		h.writers = append(h.writers, &writer{id: i, log: l})
	}
	return h, nil
}

// close closes the logs.
func (h *histories) close() {
	for _, w := range h.writers {
		_ = w.log.Close() // it may have failed
	}
}

// start lets the writers append and read.
func (h *histories) start(ctx context.Context) {
	writing, stop := context.WithCancel(ctx)
	h.stop = stop
	for _, w := range h.writers {
		h.ended.Go(func() { h.write(ctx, writing, w) })
	}
}

// note notes a call.
func (h *histories) note(w *writer, began time.Time, in call, out outcome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, porcupine.Operation{
		ClientId: w.id, Input: in, Output: out, Call: int64(began.Sub(h.begun)), Return: int64(time.Since(h.begun)),
	})
}

// write appends and reads until writing ends, and then waits until nothing is open.
func (h *histories) write(ctx, writing context.Context, w *writer) {
	for pause(writing, 10*time.Millisecond) {
		w.count++
		in := call{at: w.log.Stats().Last + 1, id: fmt.Sprint(w.id, ".", w.count)}
		began := time.Now()
		err := w.log.AppendAt(ctx, in.at, eventlog.Event{Kind: "faults", Payload: []byte(in.id)})
		h.note(w, began, in, outcome{stored: err == nil, known: err == nil || errors.Is(err, eventlog.ErrFenced)})
		for w.log.Health() != nil && pause(ctx, 20*time.Millisecond) {
			if err := w.log.Reopen(ctx); errors.Is(err, eventlog.ErrDamaged) {
				return // it stays so, and check says it
			}
		}
		began = time.Now()
		if last := w.log.Stats().Last; last > 0 {
			at := last - uint64(w.count%5)%last
			for r, err := range w.log.Read(ctx, at) {
				if err == nil {
					h.note(w, began, call{read: true, at: at}, outcome{id: string(r.Payload), known: true})
				}
				break
			}
		}
	}
}

// check ends the round, and returns how many appends were acknowledged, how many of them are lost,
// how many events are there twice, and what else is wrong with what the writers have seen.
func (h *histories) check(ctx context.Context) (stored, lost, twice int, err error) {
	h.stop()
	h.ended.Wait()
	final := h.end
	seen := map[string]bool{}
	last := uint64(0)
	// One after the other, so that what the others have appended is before the last one's.
	for i, w := range h.writers {
		last, _, err = w.log.Append(ctx, eventlog.Event{Kind: "faults", Payload: fmt.Appendf(nil, "end %d", w.count)})
		if err != nil {
			return 0, 0, 0, fmt.Errorf("writer %d: %w", i, err)
		}
	}
	for r, err := range h.writers[0].log.Tail(ctx, h.end.at+1) {
		if err != nil {
			return 0, 0, 0, err
		}
		if id := string(r.Payload); r.Position <= last-uint64(len(h.writers)) && seen[id] {
			twice++
		} else {
			seen[id] = true
		}
		if final = final.push(string(r.Payload)); r.Position >= last {
			break
		}
	}
	calls := h.calls[:0]
	for _, o := range h.calls {
		in, out := o.Input.(call), o.Output.(outcome)
		held := !in.read && final.holds(in.at, in.id)
		switch {
		case in.read || out.known && !out.stored:
		case !out.known && !held:
			continue // it can have been in the log at no time
		case !out.known: // it was stored at some time after its call
			o.Output, o.Return = outcome{stored: true, known: true}, int64(time.Since(h.begun))
		default:
			stored++
			if !held {
				lost++
			}
		}
		calls = append(calls, o)
	}
	if r := porcupine.CheckOperationsTimeout(model(h.end), calls, patience); r != porcupine.Ok {
		err = fmt.Errorf("the history of the %d calls of this round: porcupine says %v", len(calls), r)
	}
	h.end, h.calls = final, nil
	return stored, lost, twice, err
}
