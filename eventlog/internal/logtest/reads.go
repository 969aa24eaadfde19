package logtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/internal/testsize"
)

// Tail checks that several readers with Tail wait for more events and end with their context or
// with the log.
func Tail(t *testing.T, bed func(testing.TB) Bed) {
	b := bed(t)
	log := open(t, b)
	extend(t, log, 3)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const readers = 4
	got := make(chan uint64, 100*readers)
	ends := make(chan error, readers+1)
	tail := func(ctx context.Context, from uint64) {
		for r, err := range log.Tail(ctx, from) {
			if err != nil {
				ends <- err
				return
			}
			if !same(r.Event, event(r.Position)) {
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
		extend(t, log, 1)
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
	go tail(context.Background(), 49)
	<-got
	end(t, b, log)
	if err := <-ends; !errors.Is(err, eventlog.ErrClosed) {
		t.Errorf("it ended with %v", err)
	}
}

// ReadersDuringCompact checks that readers that run during a compaction see the events or
// ErrCompacted, and never a damaged log.
func ReadersDuringCompact(t *testing.T, bed func(testing.TB) Bed) {
	b := bed(t)
	log := open(t, b)
	extend(t, log, 20)
	var stop atomic.Bool
	var whole, compacted atomic.Int64
	var readers sync.WaitGroup
	for r := range uint64(4) {
		readers.Go(func() {
			for !stop.Load() {
				from := log.Stats().First + r*3 // some begin at the edge, some after it
				from = min(from, log.Stats().Last)
				next := from
				for rec, err := range log.Read(t.Context(), from) {
					if err != nil {
						if !errors.Is(err, eventlog.ErrCompacted) {
							t.Errorf("reading from %d: at %d: %v", from, next, err)
							stop.Store(true)
						}
						compacted.Add(1)
						break
					}
					if rec.Position != next || !same(rec.Event, event(next)) {
						t.Errorf("position %d is %+v", next, rec)
					}
					next++
				}
				whole.Add(1)
				rest()
			}
		})
	}
	for i := 0; i < testsize.Of(150, 50) && !stop.Load(); i++ {
		extend(t, log, 10)
		upTo := log.Stats().Last - 5
		must(t, log.SaveSnapshot(t.Context(), upTo, []byte("state")))
		must(t, log.Compact(t.Context(), upTo))
	}
	stop.Store(true)
	readers.Wait()
	t.Logf("%d reads, %d of them ended with ErrCompacted", whole.Load(), compacted.Load())
	holds(t, log, log.Stats().Last-4, log.Stats().Last)
	end(t, b, log)
}

// Snapshots checks which snapshots a log has: the newest ones, which stay when it is closed, and
// from which all later events are there.
func Snapshots(t *testing.T, bed func(testing.TB) Bed) {
	b := bed(t)
	log := open(t, b)
	ctx := t.Context()
	look := func(oldest, latest uint64) {
		t.Helper()
		for _, c := range []struct {
			name string
			get  func(context.Context) (eventlog.Snapshot, error)
			want uint64
		}{{"oldest", log.OldestSnapshot, oldest}, {"latest", log.LatestSnapshot, latest}} {
			want := ""
			if c.want > 0 {
				want = fmt.Sprint("state ", c.want)
			}
			if s, err := c.get(ctx); err != nil || s.Position != c.want || string(s.State) != want {
				t.Errorf("%s: %d %q, %v; want that of %d", c.name, s.Position, s.State, err, c.want)
			}
		}
		if s := log.Stats(); s.Snapshot != latest {
			t.Errorf("%+v, want a snapshot of %d", s, latest)
		}
		var want []uint64
		for _, p := range []uint64{oldest, latest} {
			if p > 0 && !slices.Contains(want, p) {
				want = append(want, p)
			}
		}
		var got []uint64
		saved, err := log.OpenSnapshots(ctx)
		must(t, err)
		for _, s := range saved {
			state, err := io.ReadAll(s.State())
			if got = append(got, s.Position); err != nil || string(state) != fmt.Sprint("state ", s.Position) ||
				s.Size != int64(len(state)) {
				t.Errorf("%d bytes at %d: %q, %v", s.Size, s.Position, state, err)
			}
			must(t, s.Close())
		}
		if !slices.Equal(got, want) {
			t.Errorf("the snapshots of %v, want %v", got, want)
		}
	}
	save := func(position uint64) {
		t.Helper()
		must(t, log.SaveSnapshot(ctx, position, fmt.Append(nil, "state ", position)))
	}
	look(0, 0)
	extend(t, log, 10)
	save(3)
	look(0, 3)
	save(3) // again
	save(5)
	save(10)
	look(0, 10)
	must(t, log.Compact(ctx, 2))
	look(5, 10) // of three snapshots two are kept
	must(t, log.Compact(ctx, 6))
	must(t, log.Compact(ctx, 1)) // which has happened
	look(10, 10)
	extend(t, log, 4)
	save(14)
	look(10, 14)
	end(t, b, log)
	log = open(t, b)
	look(10, 14)
	must(t, log.Compact(ctx, 14)) // all events
	look(14, 14)
	holds(t, log, 15, 14)
	end(t, b, log)
	log = open(t, b)
	look(14, 14)
	extend(t, log, 2)
	holds(t, log, 15, 16)
	end(t, b, log)
}

// SnapshotsInPieces checks that a state that is written in pieces is read back, by both ways of
// reading. If its writer fails, nothing is stored, and the log goes on.
func SnapshotsInPieces(t *testing.T, bed func(testing.TB) Bed) {
	b := bed(t)
	log := open(t, b)
	ctx := t.Context()
	extend(t, log, 2)
	refused := errors.New("no state")
	for _, fails := range []bool{true, false} {
		err := log.WriteSnapshot(ctx, 2, func(w io.Writer) error {
			for i := range 10_000 {
				if _, err := fmt.Fprintf(w, "%099d\n", i); err != nil {
					return err
				}
			}
			if fails {
				return refused
			}
			return nil
		})
		if fails != errors.Is(err, refused) || !fails && err != nil {
			t.Fatal(err)
		}
		if fails != (log.Stats().Snapshot == 0) || log.Stats().Failed != "" {
			t.Errorf("%+v", log.Stats())
		}
		must(t, b.Verify(ctx, true))
	}
	whole, err := log.LatestSnapshot(ctx)
	must(t, err)
	if whole.Position != 2 || len(whole.State) != 1_000_000 {
		t.Fatalf("%d bytes at %d", len(whole.State), whole.Position)
	}
	at, err := log.ReadSnapshot(ctx, func(r io.Reader) error {
		b, err := io.ReadAll(r)
		if !bytes.Equal(b, whole.State) {
			t.Error("the two ways of reading differ")
		}
		return err
	})
	if err != nil || at != 2 {
		t.Errorf("position %d: %v", at, err)
	}
	if at, err := log.ReadSnapshot(ctx, func(io.Reader) error { return refused }); at != 2 ||
		!errors.Is(err, refused) {
		t.Errorf("position %d: %v", at, err)
	}
	extend(t, log, 1)
	end(t, b, log)
}

// OpenSnapshots checks that an open snapshot can be read while newer ones replace it and the log
// drops events.
func OpenSnapshots(t *testing.T, bed func(testing.TB) Bed) {
	b := bed(t)
	log := open(t, b)
	ctx := t.Context()
	extend(t, log, 9)
	state := bytes.Repeat([]byte("state of 4 "), 50_000)
	must(t, log.SaveSnapshot(ctx, 4, bytes.Clone(state))) // files of a test change what they write
	must(t, log.Compact(ctx, 4))
	saved, err := log.OpenSnapshots(ctx)
	must(t, err)
	if len(saved) != 1 || saved[0].Position != 4 || saved[0].Size != int64(len(state)) {
		t.Fatalf("%+v", saved)
	}
	half := make([]byte, len(state)/2)
	from := saved[0].State()
	if _, err := io.ReadFull(from, half); err != nil {
		t.Fatal(err)
	}
	for p := uint64(5); p <= 9; p++ {
		must(t, log.SaveSnapshot(ctx, p, []byte("other")))
	}
	must(t, log.Compact(ctx, 9))
	others, err := io.ReadAll(from)
	if err != nil || !bytes.Equal(append(half, others...), state) {
		t.Errorf("the rest has %d bytes: %v", len(others), err)
	}
	if again, err := io.ReadAll(saved[0].State()); err != nil || !bytes.Equal(again, state) {
		t.Errorf("read again it has %d bytes: %v", len(again), err)
	}
	must(t, saved[0].Close())
	end(t, b, log)
}

// ExportAndImport checks that a log that is exported and imported into another one has the same
// events at the same positions, and that an import ends where another writer has appended.
func ExportAndImport(t *testing.T, bed func(testing.TB) Bed) {
	b, b2 := bed(t), bed(t)
	log, copied := open(t, b), open(t, b2)
	extend(t, log, 700)
	must(t, log.AppendAt(t.Context(), 701, eventlog.Event{Kind: "blob", Time: -1, Payload: []byte{0, 255, '\n'}}))
	export := func(log eventlog.Log) []byte {
		var out bytes.Buffer
		if n, err := eventlog.Export(&out, log.Read(t.Context(), 1)); err != nil || n != 701 {
			t.Fatalf("%d events: %v", n, err)
		}
		return out.Bytes()
	}
	lines := export(log)
	if n, err := eventlog.Import(t.Context(), copied, "export", bytes.NewReader(lines)); err != nil || n != 701 {
		t.Fatalf("%d events: %v", n, err)
	}
	if !bytes.Equal(export(copied), lines) {
		t.Error("the export of the copy differs")
	}
	end(t, b, log)
	end(t, b2, copied)
	b3 := bed(t)
	contested := open(t, b3)
	n, err := eventlog.Import(t.Context(), contested, "export", &interruption{lines, func() {
		extend(t, contested, 1)
	}})
	if !errors.Is(err, eventlog.ErrFenced) || n >= 701 {
		t.Errorf("%d events beside another writer's: %v", n, err)
	}
	end(t, b3, contested)
}

// interruption is a reader that calls a function after its first 60 KiB.
type interruption struct {
	rest []byte
	call func()
}

// Read implements [io.Reader].
func (r *interruption) Read(b []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), 60<<10)], r.rest)
	r.rest = r.rest[n:]
	if r.call != nil {
		r.call()
		r.call = nil
	}
	return n, nil
}
