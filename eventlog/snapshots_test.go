package eventlog

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/noregret/noregret"
)

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
