package eventlog

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/testsize"
)

// TestCompactUnderReaders: readers that run while the log is compacted see the events, or that they
// were compacted away, and never a damaged log.
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
				from := s.Stats().First + r*3 // some begin at the edge, some behind it
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
	t.Logf("%d reads, %d of them met a compaction", whole.Load(), compacted.Load())
	closeLog(t, s)
}

// syncFaults fails the flushes of the disk from the n-th on.
type syncFaults struct{ left atomic.Int64 }

func (f *syncFaults) String() string { return "sync" }

func (f *syncFaults) MaybeError(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
		if f.left.Add(-1) < 0 {
			return errorfs.ErrInjected
		}
	}
	return nil
}

// TestFailedSync: an append whose flush failed is never acknowledged, the log takes nothing more
// until it is opened again, and then has everything that was acknowledged, though the disk kept
// nothing that was not flushed.
func TestFailedSync(t *testing.T) {
	for n := range int64(12) {
		mem := vfs.NewCrashableMem()
		f := &syncFaults{}
		f.left.Store(1 << 40)
		s, err := Open(errorfs.Wrap(mem, f), "log", smallOptions())
		if err != nil {
			t.Fatal(err)
		}
		appendN(t, s, 3)
		f.left.Store(n)
		acknowledged := uint64(3)
		for {
			_, last, err := s.Append(t.Context(), event(acknowledged+1))
			if err != nil {
				if !errors.Is(err, ErrFailed) || !errors.Is(err, errorfs.ErrInjected) {
					t.Fatalf("flush %d: %v", n, err)
				}
				break
			}
			acknowledged = last
		}
		if acknowledged != 3+uint64(n) {
			t.Errorf("flush %d failed, and %d appends were acknowledged", n, acknowledged)
		}
		f.left.Store(1 << 40) // the disk is well again: the log that has failed is not
		if _, _, err := s.Append(t.Context(), event(1)); !errors.Is(err, ErrFailed) {
			t.Errorf("flush %d: an append after the failure: %v", n, err)
		}
		if err := s.SaveSnapshot(t.Context(), 2, nil); !errors.Is(err, ErrFailed) {
			t.Errorf("flush %d: a snapshot after the failure: %v", n, err)
		}
		clone := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 0, RNG: seeded(uint64(n))})
		closeOrAbandon(s)
		s = mustOpen(t, clone)
		got, err := readAll(s)
		if err != nil || uint64(len(got)) < acknowledged {
			t.Errorf("flush %d: %d events, %v, but %d were acknowledged", n, len(got), err, acknowledged)
		}
		appendN(t, s, 2)
		closeLog(t, s)
	}
}

// TestLostMark: without the mark file a log that was cut looks whole, so its loss is damage:
// opening and Check say so, and a repair writes a new one and says what cannot be known.
func TestLostMark(t *testing.T) {
	tr, _, _ := smallLog(t)
	cut := without(tr, markFileName)
	for _, name := range cut.names() { // the newest events are in the write-ahead log
		if len(name) > 4 && name[len(name)-4:] == ".log" && bytes.Contains(cut[name], event(24).Payload) {
			cut = cut.with(name, cut[name][:len(cut[name])-60])
		}
	}
	torn := append([]byte{}, tr["log/"+markFileName]...)
	torn[5] ^= 1
	torn[markSlot+5] ^= 1
	for what, broken := range map[string]tree{
		"lost": without(tr, markFileName), "lost, the end cut": cut,
		"torn": tr.with("log/"+markFileName, torn),
	} {
		fs := broken.fs(t)
		if _, err := Open(fs, "log", Options{}); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: open: %v", what, err)
		}
		r, err := Check(t.Context(), fs, "log")
		if err != nil || noregret.CodeOf(r.Err()) != noregret.BadInput || r.Acknowledged != 0 {
			t.Errorf("%s: check: %v, %+v", what, err, r)
		}
		rep, err := Repair(t.Context(), fs, "log", RepairOptions{})
		if err != nil || !rep.Changed || !rep.Unknown || rep.Lost != 0 || rep.Kept.First != 6 || rep.Kept.Last < 20 {
			t.Errorf("%s: repair: %v, %+v", what, err, rep)
		}
		s, err := Open(fs, "log", Options{})
		if err != nil {
			t.Errorf("%s: open after the repair: %v", what, err)
			continue
		}
		if got, err := readAll(s); err != nil || uint64(len(got)) != rep.Kept.Last-5 {
			t.Errorf("%s: %d events, %v, want %+v", what, len(got), err, rep.Kept)
		}
		appendN(t, s, 1)
		closeLog(t, s)
		if r, err := Check(t.Context(), fs, "log"); err != nil || r.Damaged() {
			t.Errorf("%s: check after the repair: %v, %+v", what, err, r)
		}
	}
	// A crash in the making of a log leaves no mark and no events: that is nothing lost.
	fs := vfs.NewMem()
	closeLog(t, open(t, fs))
	if err := fs.Remove("log/" + markFileName); err != nil {
		t.Fatal(err)
	}
	if r, err := Check(t.Context(), fs, "log"); err != nil || r.Damaged() {
		t.Errorf("an empty log without a mark: %v, %+v", err, r)
	}
	s := open(t, fs)
	appendN(t, s, 1)
	closeLog(t, s)
}

// TestDamageInSeveralFiles: damage in a table, the write-ahead log, a snapshot and the manifest at
// once is mended up to the first event that is gone, and counted.
func TestDamageInSeveralFiles(t *testing.T) {
	tr, _, _ := smallLog(t)
	snapshot := "log/snapshots/" + snapshotFile(20)
	bad := append([]byte{}, tr[snapshot]...)
	bad[len(bad)-1] ^= 1
	broken := without(flipped(t, flipped(t, tr, 15), 22), "MANIFEST").with(snapshot, bad)
	fs := broken.fs(t)
	r, err := Check(t.Context(), fs, "log")
	if err != nil || !r.Damaged() || r.Last != 14 || fmt.Sprint(r.Readable) != fmt.Sprint([]Range{{16, 21}, {23, 24}}) {
		t.Fatalf("check: %v, %+v", err, r)
	}
	if _, err := Repair(t.Context(), fs, "log", RepairOptions{AcceptLoss: 9}); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("a repair that drops ten with leave for nine: %v", err)
	}
	rep, err := Repair(t.Context(), fs, "log", RepairOptions{AcceptLoss: 10})
	if err != nil || rep.Kept != (Range{6, 14}) || rep.Lost != 10 || len(rep.SetAside) != 2 {
		t.Fatalf("repair: %v, %+v", err, rep)
	}
	s := open(t, fs)
	if got, err := readAll(s); err != nil || len(got) != 9 {
		t.Errorf("%d events, %v", len(got), err)
	}
	if snap, err := s.LatestSnapshot(t.Context()); err != nil || snap.Position != 5 {
		t.Errorf("snapshot %d, %v", snap.Position, err)
	}
	appendN(t, s, 3)
	closeLog(t, s)
	if r, err := Check(t.Context(), fs, "log"); err != nil || r.Damaged() {
		t.Errorf("check after the repair: %v, %+v", err, r)
	}
}
