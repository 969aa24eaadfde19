package logtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
)

// Fencing checks AppendAt: it appends at the next position only, and a repetition changes nothing.
func Fencing(t *testing.T, bed func(testing.TB) Bed) {
	b := bed(t)
	log := open(t, b)
	ctx := t.Context()
	must(t, log.AppendAt(ctx, 1, events(1, 3)...))
	must(t, log.AppendAt(ctx, 4, events(4, 5)...))
	changed := func(kind string, time int64) []eventlog.Event { // the event of position 8
		return []eventlog.Event{{Kind: kind, Time: time, Payload: event(8).Payload}}
	}
	for name, c := range map[string]struct {
		first  uint64
		events []eventlog.Event
		err    error
	}{
		"the same":              {4, events(4, 5), nil},
		"an earlier one":        {1, events(1, 3), nil},
		"a part":                {2, events(2, 1), nil},
		"over two groups":       {2, events(2, 4), nil},
		"other events":          {4, events(5, 5), eventlog.ErrFenced},
		"another kind":          {8, changed("b", 80), eventlog.ErrFenced},
		"another time":          {8, changed("test", 81), eventlog.ErrFenced},
		"another payload":       {8, []eventlog.Event{{Kind: "test", Time: 80}}, eventlog.ErrFenced},
		"more than is there":    {7, events(7, 3), eventlog.ErrFenced},
		"behind the next":       {10, events(10, 1), eventlog.ErrFenced},
		"far behind it":         {1 << 63, events(1, 2), eventlog.ErrFenced},
		"at the largest of all": {1<<64 - 1, events(1, 2), eventlog.ErrFenced},
		"another last event":    {4, append(events(4, 4), event(9)), eventlog.ErrFenced},
	} {
		if err := log.AppendAt(ctx, c.first, c.events...); !errors.Is(err, c.err) || c.err == nil && err != nil {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		} else if c.err != nil && noregret.CodeOf(err) != noregret.Internal {
			t.Errorf("%s: the code is %v, want %v: the caller can do nothing else", name, noregret.CodeOf(err),
				noregret.Internal)
		}
	}
	if err := log.AppendAt(ctx, 0, event(1)); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("position 0: %v", err)
	}
	holds(t, log, 1, 8)
	must(t, log.SaveSnapshot(ctx, 5, nil))
	must(t, log.Compact(ctx, 5))
	if err := log.AppendAt(ctx, 4, events(4, 2)...); !errors.Is(err, eventlog.ErrFenced) {
		t.Errorf("events that were dropped: %v", err)
	}
	must(t, log.AppendAt(ctx, 9, event(9)))
	holds(t, log, 6, 9)
	end(t, b, log)
}

// Rivals checks that of several writers that append at the same position at the same time, exactly
// one gets it, and that all of them know it.
func Rivals(t *testing.T, bed func(testing.TB) Bed) {
	const writers, rounds = 4, 50
	b := bed(t)
	log := open(t, b)
	for round := range rounds {
		first := uint64(2*round + 1)
		var wg sync.WaitGroup
		var got [writers]error
		for w := range writers {
			wg.Go(func() {
				id := fmt.Append(nil, w)
				got[w] = log.AppendAt(t.Context(), first, eventlog.Event{Kind: "a", Payload: id},
					eventlog.Event{Kind: "b", Payload: id})
			})
		}
		wg.Wait()
		owner := ""
		for w, err := range got {
			switch {
			case err == nil && owner != "":
				t.Fatalf("position %d belongs to %s and to %d", first, owner, w)
			case err == nil:
				owner = fmt.Sprint(w)
			case !errors.Is(err, eventlog.ErrFenced):
				t.Fatal(err)
			}
		}
		records, err := read(log, first)
		must(t, err)
		if len(records) != 2 || string(records[0].Payload) != owner || string(records[1].Payload) != owner ||
			records[0].Kind != "a" || records[1].Kind != "b" {
			t.Fatalf("position %d is that of writer %q: %+v", first, owner, records)
		}
	}
	end(t, b, log)
}

// UnknownOutcome lets the n-th change fail for each n in turn while groups are appended, with and
// without a crash, and repeats the append that has failed: its events are in the log once.
func UnknownOutcome(t *testing.T, bed func(testing.TB) Bed) {
	var stored, missing int
	for n := 1; n <= 12; n++ {
		b := bed(t)
		log := open(t, b)
		extend(t, log, 2)
		b.Break(n, n%3 > 0)
		next := uint64(3)
		var err error
		for ; err == nil && next < 200; next += 3 {
			err = log.AppendAt(t.Context(), next, events(next, 3)...)
		}
		if next -= 3; err == nil {
			t.Fatalf("%d: no append has failed", n)
		}
		if !errors.Is(err, eventlog.ErrFailed) || log.Stats().Failed == "" {
			t.Errorf("%d: %v, %+v", n, err, log.Stats())
		}
		if err := log.AppendAt(t.Context(), next, events(next, 3)...); !errors.Is(err, eventlog.ErrFailed) {
			t.Errorf("%d: an append after one that has failed: %v", n, err)
		}
		b.Break(0, false)
		if n%2 == 0 {
			b.Crash(uint64(n))
		} else if err := log.Close(); !errors.Is(err, eventlog.ErrFailed) {
			t.Errorf("%d: closing a log that has failed: %v", n, err)
		}
		log = open(t, b)
		switch last := log.Stats().Last; last {
		case next - 1:
			missing++
		case next + 2:
			stored++
		default:
			t.Fatalf("%d: it ends at %d, want %d or %d", n, last, next-1, next+2)
		}
		must(t, log.AppendAt(t.Context(), next, events(next, 3)...))
		must(t, log.AppendAt(t.Context(), next+3, events(next+3, 1)...))
		holds(t, log, 1, next+3)
		end(t, b, log)
	}
	t.Logf("of the appends that failed %d were stored, %d were not", stored, missing)
}

// Outages checks that a log whose storage fails for a while says so, is not ready before that ends,
// and goes on afterwards without being closed. Readers that wait end with the failure.
func Outages(t *testing.T, bed func(testing.TB) Bed) {
	b := bed(t)
	log := open(t, b)
	ctx := t.Context()
	next := uint64(1)
	for outage := range 3 {
		if err := log.Health(); err != nil {
			t.Fatal(err)
		}
		must(t, log.Reopen(ctx)) // which does nothing
		must(t, log.AppendAt(ctx, next, events(next, 2)...))
		next += 2
		tail := make(chan error, 1)
		go func() {
			for _, err := range log.Tail(ctx, 1) {
				if err != nil {
					tail <- err
				}
			}
		}()
		b.Break(1, true)
		if err := log.AppendAt(ctx, next, events(next, 3)...); !errors.Is(err, eventlog.ErrFailed) {
			t.Fatalf("outage %d: %v", outage, err)
		}
		if err := <-tail; !errors.Is(err, eventlog.ErrFailed) {
			t.Errorf("outage %d: a reader ended with %v", outage, err)
		}
		for range 2 {
			if err := log.Health(); !errors.Is(err, eventlog.ErrFailed) || log.Stats().Failed == "" {
				t.Errorf("outage %d: health %v, %+v", outage, err, log.Stats())
			}
			if err := log.Reopen(ctx); !errors.Is(err, eventlog.ErrNotReady) {
				t.Errorf("outage %d: opening it again while it lasts: %v", outage, err)
			}
		}
		b.Break(0, false)
		must(t, log.Reopen(ctx))
		must(t, log.AppendAt(ctx, next, events(next, 3)...))
		next += 3
		holds(t, log, 1, next-1)
		if u, err := log.Usage(); err != nil || u.Bytes < int64(next)*30 {
			t.Errorf("it takes %+v: %v", u, err)
		}
	}
	must(t, log.Close())
	if err := log.Health(); !errors.Is(err, eventlog.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if err := log.Reopen(ctx); !errors.Is(err, eventlog.ErrClosed) {
		t.Errorf("opening a closed log again: %v", err)
	}
	must(t, b.Verify(ctx, false))
}

// LostEnd checks that a log whose newest events are gone, which were acknowledged, is not opened as
// a shorter one.
func LostEnd(t *testing.T, bed func(testing.TB) Bed) {
	for _, lost := range []int{1, 2, 300} {
		b := bed(t)
		log := open(t, b)
		extend(t, log, 5)
		must(t, log.Close())
		back := b.Keep()
		log = open(t, b)
		for range lost {
			extend(t, log, 1)
		}
		must(t, log.Close())
		back()
		log, err := b.Open(options())
		if err == nil {
			t.Fatalf("%d lost events: it was opened with %d", lost, log.Stats().Last)
		}
		if !errors.Is(err, eventlog.ErrDamaged) || noregret.CodeOf(err) != noregret.BadInput ||
			!strings.Contains(err.Error(), fmt.Sprint(5+lost)) {
			t.Errorf("%d lost events: %v", lost, err)
		}
	}
}

// Refusals checks that calls which the contract forbids have errors of their kinds and change
// nothing.
func Refusals(t *testing.T, bed func(testing.TB) Bed) {
	b := bed(t)
	log := open(t, b)
	extend(t, log, 10)
	ctx := t.Context()
	for _, p := range []uint64{4, 6} {
		must(t, log.SaveSnapshot(ctx, p, []byte("state")))
	}
	must(t, log.Compact(ctx, 4))
	add := func(events ...eventlog.Event) error { _, _, err := log.Append(ctx, events...); return err }
	first := func(records func(func(eventlog.Record, error) bool)) (err error) {
		for _, err := range records {
			return err
		}
		return nil
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	e := eventlog.Event{Kind: "k"}
	large := eventlog.Event{Kind: "k", Payload: make([]byte, 40_000)}
	usage, notFound := noregret.Usage, noregret.NotFound
	_, read := log.LatestSnapshot(ended)
	_, _, appended := log.Append(ended, e)
	for name, c := range map[string]struct {
		err  error
		code noregret.Code
		is   error
	}{
		"no events":            {add(), usage, nil},
		"too many events":      {add(make([]eventlog.Event, 4097)...), usage, nil},
		"no kind":              {add(e, eventlog.Event{}), usage, nil},
		"a long kind":          {add(eventlog.Event{Kind: strings.Repeat("k", 65)}), usage, nil},
		"a kind with a space":  {add(eventlog.Event{Kind: "a b"}), usage, nil},
		"a large payload":      {add(eventlog.Event{Kind: "k", Payload: make([]byte, 50_001)}), usage, nil},
		"a large group":        {add(large, large), usage, nil},
		"at, no events":        {log.AppendAt(ctx, 11), usage, nil},
		"at, no kind":          {log.AppendAt(ctx, 11, eventlog.Event{}), usage, nil},
		"reading from 0":       {first(log.Read(ctx, 0)), usage, nil},
		"reading from 12":      {first(log.Read(ctx, 12)), usage, nil},
		"reading from 4":       {first(log.Read(ctx, 4)), notFound, eventlog.ErrCompacted},
		"following from 12":    {first(log.Tail(ctx, 12)), usage, nil},
		"following from 1":     {first(log.Tail(ctx, 1)), notFound, eventlog.ErrCompacted},
		"a snapshot of 11":     {log.SaveSnapshot(ctx, 11, nil), usage, nil},
		"a snapshot of 5":      {log.SaveSnapshot(ctx, 5, nil), usage, nil},
		"dropping 7":           {log.Compact(ctx, 7), usage, nil},
		"reading, ended":       {first(log.Read(ended, 5)), "", context.Canceled},
		"appending, ended":     {appended, "", context.Canceled},
		"at, ended":            {log.AppendAt(ended, 11, e), "", context.Canceled},
		"a snapshot, ended":    {log.SaveSnapshot(ended, 10, nil), "", context.Canceled},
		"dropping, ended":      {log.Compact(ended, 6), "", context.Canceled},
		"the snapshot, ended":  {read, "", context.Canceled},
		"reading from the end": {first(log.Read(ctx, 11)), "", nil},
	} {
		switch {
		case c.code == "" && c.is == nil:
			if c.err != nil {
				t.Errorf("%s: %v", name, c.err)
			}
		case c.code != "" && noregret.CodeOf(c.err) != c.code || c.is != nil && !errors.Is(c.err, c.is):
			t.Errorf("%s: %v (code %s), want code %s, %v", name, c.err, noregret.CodeOf(c.err), c.code, c.is)
		}
	}
	if st := log.Stats(); st.Snapshot != 6 || st.Failed != "" {
		t.Errorf("a refusal changed something: %+v", st)
	}
	holds(t, log, 5, 10)
	end(t, b, log)
}

// Closed checks that the calls of a closed log say that it is closed, and that Close is harmless
// then.
func Closed(t *testing.T, bed func(testing.TB) Bed) {
	b := bed(t)
	log := open(t, b)
	extend(t, log, 4)
	ctx := t.Context()
	must(t, log.SaveSnapshot(ctx, 3, []byte("state")))
	must(t, log.Close())
	_, _, appended := log.Append(ctx, event(5))
	_, records := read(log, 1)
	_, latest := log.LatestSnapshot(ctx)
	_, oldest := log.OldestSnapshot(ctx)
	_, snapshots := log.OpenSnapshots(ctx)
	for name, err := range map[string]error{
		"append": appended, "append at": log.AppendAt(ctx, 5, event(5)), "read": records, "latest": latest,
		"oldest": oldest, "snapshots": snapshots, "save": log.SaveSnapshot(ctx, 4, nil), "compact": log.Compact(ctx, 3),
	} {
		if !errors.Is(err, eventlog.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, log.Close())
	log = open(t, b)
	holds(t, log, 1, 4)
	if s := log.Stats(); s.Snapshot != 3 {
		t.Errorf("%+v", s)
	}
	end(t, b, log)
}

// call is an append of a value, or, without one, a read of the whole log.
type call struct{ value string }

// result is the position of an append, or the values that a read returned.
type result struct {
	position uint64
	seen     string
}

// sequential is the sequential log: a string of values.
var sequential = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		log, in, out := state.(string), input.(call), output.(result)
		if in.value == "" {
			return out.seen == log, log
		}
		return out.position == uint64(len(log)/3+1), log + in.value
	},
}

// Linearizable checks that appends and reads from many goroutines are linearizable: some sequential
// order of the calls explains their results and keeps the order of calls that do not overlap.
func Linearizable(t *testing.T, bed func(testing.TB) Bed) {
	rounds := 10
	if os.Getenv("NOREGRET_FULL") == "1" {
		rounds = 300
	}
	for round := range rounds {
		b := bed(t)
		log := open(t, b)
		var clock atomic.Int64 // orders the ends of calls; not a time
		var mu sync.Mutex
		var history []porcupine.Operation
		do := func(client int, in call) {
			begin := clock.Add(1)
			var out result
			if in.value != "" {
				var err error
				e := eventlog.Event{Kind: "v", Payload: []byte(in.value)}
				if out.position, _, err = log.Append(t.Context(), e); err != nil {
					t.Error(err)
				}
			} else {
				records, err := read(log, 1)
				if err != nil {
					t.Error(err)
				}
				for _, r := range records {
					out.seen += string(r.Payload)
				}
			}
			end := clock.Add(1)
			mu.Lock()
			defer mu.Unlock()
			history = append(history, porcupine.Operation{
				ClientId: client, Input: in, Call: begin, Output: out, Return: end,
			})
		}
		var wg sync.WaitGroup
		for client := range 6 {
			wg.Go(func() {
				for i := range 12 {
					if (i+client)%3 == 2 {
						do(client, call{})
					} else {
						do(client, call{fmt.Sprintf("%d%02d", client, i)})
					}
				}
			})
		}
		wg.Wait()
		if !porcupine.CheckOperations(sequential, history) {
			t.Fatalf("round %d: no sequential log explains %+v", round, history)
		}
		end(t, b, log)
	}
}
