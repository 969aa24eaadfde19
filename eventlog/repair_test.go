package eventlog

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/noregret/noregret"
)

// flipped returns tr with a flipped bit in every copy of the payload of the event at a position.
func flipped(t *testing.T, tr tree, position uint64) tree {
	t.Helper()
	found := false
	for _, name := range tr.names() {
		if i := bytes.Index(tr[name], event(position).Payload); i >= 0 {
			bad := slices.Clone(tr[name])
			bad[i+3] ^= 4
			tr, found = tr.with(name, bad), true
		}
	}
	if !found {
		t.Fatalf("no file holds the bytes of event %d", position)
	}
	return tr
}

// without returns tr without the files whose name begins or ends with part.
func without(tr tree, part string) tree {
	for _, name := range tr.names() {
		if base := path.Base(name); strings.HasPrefix(base, part) || strings.HasSuffix(base, part) {
			tr = tr.with(name, nil)
		}
	}
	return tr
}

// Check and Repair are exact to the position.
func TestRepair(t *testing.T) {
	// The events 6 to 10 are in a table, 11 to 18 in another, 19 to 24 in the write-ahead log.
	tr, _, _ := smallLog(t)
	for _, tc := range []struct {
		name     string
		broken   tree
		options  RepairOptions
		problem  string // part of the first finding
		kept     Range
		lost     uint64
		covered  uint64
		readable []Range
		snapshot uint64 // the latest snapshot afterwards
	}{
		{
			"event in a table", flipped(t, tr, 8),
			RepairOptions{AcceptLoss: 17},
			"missing or damaged is that of position 8",
			Range{6, 7},
			17, 0,
			[]Range{{9, 24}},
			5,
		},
		{
			"event in the newer table", flipped(t, tr, 15),
			RepairOptions{AcceptLoss: 10},
			"missing or damaged is that of position 15",
			Range{6, 14},
			10, 0,
			[]Range{{16, 24}},
			5,
		},
		{
			"event in a table, from the snapshot", flipped(t, tr, 8),
			RepairOptions{FromSnapshot: true},
			"missing or damaged is that of position 8",
			Range{21, 24},
			0, 15, nil, 20,
		},
		{
			"last event in the write-ahead log", flipped(t, tr, 24),
			RepairOptions{AcceptLoss: 1},
			"position 24 is missing",
			Range{6, 23},
			1, 0, nil, 20,
		},
		{
			"event in the write-ahead log", flipped(t, tr, 21),
			RepairOptions{AcceptLoss: 4},
			"the positions 21 to 24 are missing",
			Range{6, 20},
			4, 0,
			[]Range{{22, 24}},
			20,
		},
		{
			"no manifest", without(tr, "MANIFEST"),
			RepairOptions{},
			"the records themselves are whole, up to position 24",
			Range{6, 24},
			0, 0, nil, 20,
		},
		{
			"no manifest marker", without(tr, "marker.manifest"),
			RepairOptions{},
			"lost the name of its manifest",
			Range{6, 24},
			0, 0, nil, 20,
		},
		{
			"no write-ahead log", without(tr, ".log"),
			RepairOptions{AcceptLoss: 6},
			"it ends at position 18, but 24 was acknowledged",
			Range{6, 18},
			6, 0, nil, 5,
		},
		{
			"no store", without(without(without(without(without(tr, ".log"), ".sst"), "MANIFEST"), "marker"),
				"OPTIONS"),
			RepairOptions{AcceptLoss: 24},
			"",
			Range{1, 0},
			24, 0, nil, 0,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fs := tc.broken.fs(t)
			if _, err := Open(fs, "log", DefaultOptions()); !errors.Is(err, ErrDamaged) {
				// Opening does not find a damaged event in the middle, reading does.
				s := open(t, fs)
				if _, err := readAll(s); !errors.Is(err, ErrDamaged) {
					t.Errorf("open and read: %v", err)
				}
				closeLog(t, s)
				fs = tc.broken.fs(t)
			}
			before := readTree(t, fs, "log")
			if tc.lost > 0 {
				o := tc.options
				o.AcceptLoss--
				r, err := Repair(t.Context(), fs, "log", o)
				want := fmt.Sprintf("would drop %d acknowledged events, %d to %d, but only %d are allowed", tc.lost,
					tc.kept.Last+1, tc.kept.Last+tc.lost, tc.lost-1)
				if noregret.CodeOf(err) != noregret.Usage || !strings.Contains(fmt.Sprint(err), want) ||
					r.Lost != tc.lost || r.Changed {
					t.Errorf("repair with too small an AcceptLoss: %v, want %q", err, want)
				}
				if after := readTree(t, fs, "log"); !reflect.DeepEqual(without(before, lockName),
					without(after, lockName)) {
					t.Error("a repair that was refused changed the files")
				}
			}
			r, err := Repair(t.Context(), fs, "log", tc.options)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Before.Findings) == 0 || !strings.Contains(r.Before.Findings[0].Problem, tc.problem) {
				t.Errorf("findings %+v, want %q", r.Before.Findings, tc.problem)
			}
			if r.Kept != tc.kept || r.Lost != tc.lost || r.Covered != tc.covered ||
				!slices.Equal(r.Readable, tc.readable) || !r.Changed {
				t.Errorf("got %+v", r)
			}
			s := open(t, fs)
			got, err := readAll(s)
			if err != nil || uint64(len(got)) != tc.kept.Last+1-tc.kept.First {
				t.Errorf("%d events, %v", len(got), err)
			}
			snap, err := s.LatestSnapshot(t.Context())
			if snap.Position != tc.snapshot || err != nil {
				t.Errorf("snapshot %d, %v; want %d", snap.Position, err, tc.snapshot)
			}
			appendN(t, s, 2)
			closeLog(t, s)
			again, err := Check(t.Context(), fs, "log")
			if err != nil || again.Damaged() || again.Last != tc.kept.Last+2 {
				t.Errorf("check afterwards: %v, %+v", err, again)
			}
		})
	}
}

// After a crash at any change of the disk during a repair, a second repair succeeds.
func TestCrashDuringRepair(t *testing.T) {
	tr, _, _ := smallLog(t)
	broken := flipped(t, tr, 15)
	for cut := 1; ; cut += step(5) {
		mem := vfs.NewCrashableMem()
		for name, data := range broken {
			if err := makeDirs(mem, path.Dir(name)); err != nil {
				t.Fatal(err)
			}
			if err := writeFile(mem, path.Dir(name), path.Base(name), slices.Clone(data)); err != nil {
				t.Fatal(err)
			}
		}
		f := &faults{forced: true}
		f.left.Store(int64(cut))
		_, err := Repair(t.Context(), errorfs.Wrap(mem, f), "log", RepairOptions{AcceptLoss: 10})
		done := err == nil
		rng := seeded(uint64(cut))
		clone := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rng})
		r, err := Repair(t.Context(), clone, "log", RepairOptions{AcceptLoss: 10})
		if err != nil || r.Kept != (Range{6, 14}) {
			t.Fatalf("cut at change %d: %v, %+v", cut, err, r)
		}
		s := open(t, clone)
		if got, err := readAll(s); err != nil || len(got) != 9 {
			t.Fatalf("cut at change %d: %d events, %v", cut, len(got), err)
		}
		closeLog(t, s)
		if done {
			t.Logf("%d changes of the disk", cut)
			return
		}
	}
}

// Damage in a table, the write-ahead log, a snapshot and the manifest at the same time is repaired
// up to the first lost event, and the losses are counted.
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
		t.Errorf("a repair that drops ten events when nine are allowed: %v", err)
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
