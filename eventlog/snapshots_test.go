package eventlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/testsize"
)

// Readers that run during a compaction see the events or ErrCompacted, and never a damaged log.
func TestCompactUnderReaders(t *testing.T) {
	noLeaks(t)
	fs := vfs.NewMem()
	s, err := Open(fs, "log", smallOptions())
	if err != nil {
		t.Fatal(err)
	}
	appendN(t, s, 20)
	var stop atomic.Bool
	var whole, compacted atomic.Int64
	var readers sync.WaitGroup
	for r := range uint64(4) {
		readers.Go(func() {
			for !stop.Load() {
				from := s.Stats().First + r*3 // some begin at the edge, some after it
				from = min(from, s.Stats().Last)
				next := from
				for rec, err := range s.Read(t.Context(), from) {
					if err != nil {
						if !errors.Is(err, ErrCompacted) {
							t.Errorf("reading from %d: at %d: %v", from, next, err)
							stop.Store(true)
						}
						compacted.Add(1)
						break
					}
					if rec.Position != next || !sameEvent(rec) {
						t.Errorf("position %d is %+v", next, rec)
					}
					next++
				}
				whole.Add(1)
				yieldCPU()
			}
		})
	}
	rounds := testsize.Of(150, 50)
	for i := 0; i < rounds && !stop.Load(); i++ {
		appendN(t, s, 10)
		upTo := s.Stats().Last - 5
		if err := s.SaveSnapshot(t.Context(), upTo, []byte("state")); err != nil {
			t.Fatal(err)
		}
		if err := s.Compact(t.Context(), upTo); err != nil {
			t.Fatal(err)
		}
	}
	stop.Store(true)
	readers.Wait()
	t.Logf("%d reads, %d of them ended with ErrCompacted", whole.Load(), compacted.Load())
	closeLog(t, s)
}

// A damaged snapshot is skipped if the log has the events that it covers, and is an error
// otherwise.
func TestDamagedSnapshots(t *testing.T) {
	tr, _, _ := smallLog(t)
	flip := func(tr tree, position uint64) tree {
		name := "log/snapshots/" + snapshotFile(position)
		bad := slices.Clone(tr[name])
		bad[len(bad)-1] ^= 1
		return tr.with(name, bad)
	}
	fs := flip(tr, 20).fs(t)
	r, err := Check(t.Context(), fs, "log")
	if err != nil || r.Damaged() || len(r.Findings) != 1 ||
		!strings.Contains(r.Findings[0].Problem, "checksum is wrong") {
		t.Errorf("check: %v, %+v", err, r)
	}
	s := open(t, fs)
	if snap, err := s.LatestSnapshot(t.Context()); err != nil || snap.Position != 5 {
		t.Errorf("snapshot %d, %v; want the previous one", snap.Position, err)
	}
	if err := s.Compact(t.Context(), 20); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("compacting up to a damaged snapshot: %v", err)
	}
	closeLog(t, s)
	if r, err := Repair(t.Context(), fs, "log", RepairOptions{}); err != nil || len(r.SetAside) != 1 || r.Lost != 0 {
		t.Errorf("repair: %v, %+v", err, r)
	}
	if r, err := Check(t.Context(), fs, "log"); err != nil || len(r.Findings) != 0 {
		t.Errorf("check after repair: %v, %+v", err, r)
	}
	fs = flip(flip(tr, 20), 5).fs(t)
	if r, err := Check(t.Context(), fs, "log"); err != nil || !r.Damaged() {
		t.Errorf("check: %v, %+v", err, r)
	}
	s = open(t, fs)
	if _, err := s.LatestSnapshot(t.Context()); !errors.Is(err, ErrDamaged) ||
		!strings.Contains(err.Error(), "1 to 5 were compacted") {
		t.Errorf("no whole snapshot: %v", err)
	}
	closeLog(t, s)
}

// OldestSnapshot returns none if the log has all events. Otherwise it returns the oldest intact
// snapshot that is not before the base.
func TestOldestSnapshot(t *testing.T) {
	tr, _, _ := smallLog(t) // snapshots at 5 and 20, compacted up to 5
	oldest := func(s *Store, want uint64) {
		t.Helper()
		if snap, err := s.OldestSnapshot(t.Context()); err != nil || snap.Position != want || want > 0 &&
			len(snap.State) == 0 {
			t.Errorf("snapshot %d with %d bytes, %v; want %d", snap.Position, len(snap.State), err, want)
		}
	}
	s := open(t, tr.fs(t))
	oldest(s, 5)
	if err := s.Compact(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	oldest(s, 20)
	closeLog(t, s)
	name := "log/snapshots/" + snapshotFile(5)
	bad := slices.Clone(tr[name])
	bad[len(bad)-1] ^= 1
	s = open(t, tr.with(name, bad).fs(t))
	oldest(s, 20)
	closeLog(t, s)
	s = open(t, vfs.NewMem())
	oldest(s, 0)
	appendN(t, s, 6)
	if err := s.SaveSnapshot(t.Context(), 3, []byte("state")); err != nil {
		t.Fatal(err)
	}
	oldest(s, 0)
	closeLog(t, s)
	if _, err := s.OldestSnapshot(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestSnapshotsInPieces: a state that is written in pieces is read back, by both ways of reading.
// If its writer fails, nothing is stored, and the log goes on.
func TestSnapshotsInPieces(t *testing.T) {
	noLeaks(t)
	s, err := Open(vfs.NewMem(), "log", DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if _, _, err := s.Append(ctx, Event{Kind: "a"}, Event{Kind: "b"}); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("no state")
	for _, fails := range []bool{true, false} {
		err := s.WriteSnapshot(ctx, 2, func(w io.Writer) error {
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
		if fails != (s.Stats().Snapshot == 0) || s.Stats().Failed != "" {
			t.Errorf("%+v", s.Stats())
		}
	}
	whole, err := s.LatestSnapshot(ctx)
	if err != nil || whole.Position != 2 || len(whole.State) != 1_000_000 {
		t.Fatalf("%d bytes at %d: %v", len(whole.State), whole.Position, err)
	}
	at, err := s.ReadSnapshot(ctx, func(r io.Reader) error {
		b, err := io.ReadAll(r)
		if !bytes.Equal(b, whole.State) {
			t.Error("the two ways of reading differ")
		}
		return err
	})
	if err != nil || at != 2 {
		t.Errorf("position %d: %v", at, err)
	}
	if at, err := s.ReadSnapshot(ctx, func(io.Reader) error { return refused }); at != 2 || !errors.Is(err, refused) {
		t.Errorf("position %d: %v", at, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
