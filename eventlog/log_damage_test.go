package eventlog

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/testsize"
)

// checkDetected checks that a log opened from tr either reports damage or is correct: every event
// it yields is the one that was appended, and it ends at the true end or with an error. It reports
// whether everything was intact.
func checkDetected(t *testing.T, what string, tr tree, first, last uint64) (whole bool) {
	t.Helper()
	s, err := Open(tr.fs(t), "log", DefaultOptions())
	if err != nil {
		if !errors.Is(err, ErrDamaged) || noregret.CodeOf(err) != noregret.BadInput ||
			!strings.HasPrefix(err.Error(), "log: ") {
			t.Errorf("%s: open: %v, want ErrDamaged that names the place", what, err)
		}
		return false
	}
	defer func() { _ = s.Close() }()
	got, err := readAll(s)
	if err != nil && !errors.Is(err, ErrDamaged) {
		t.Errorf("%s: read: %v", what, err)
	}
	for i, r := range got {
		if r.Position != first+uint64(i) || !sameEvent(r) {
			t.Errorf("%s: event %d is %+v", what, i, r)
		}
	}
	if err == nil && (len(got) == 0 || got[len(got)-1].Position != last) {
		t.Errorf("%s: SILENT LOSS: %d events without an error, want %d to %d", what, len(got), first, last)
	}
	snap, serr := s.LatestSnapshot(t.Context())
	if serr == nil && (snap.Position != 5 && snap.Position != 20 ||
		string(snap.State) != fmt.Sprint("state ", snap.Position)) {
		t.Errorf("%s: snapshot %d %q", what, snap.Position, snap.State)
	}
	return err == nil && serr == nil
}

// checkRepaired checks that Check agrees with opening and reading, and that Repair repairs the
// damage and counts the losses correctly.
func checkRepaired(t *testing.T, what string, tr tree, whole bool, last uint64) {
	t.Helper()
	fs := tr.fs(t)
	report, err := Check(t.Context(), fs, "log")
	if err != nil {
		t.Errorf("%s: check: %v", what, err)
		return
	}
	if report.Damaged() == whole {
		t.Errorf("%s: check says %+v, opening and reading say intact: %v", what, report.Findings, whole)
	}
	if whole {
		return
	}
	repaired, err := Repair(t.Context(), fs, "log", RepairOptions{})
	if err != nil {
		if repaired == nil || repaired.Lost == 0 || repaired.Changed {
			t.Errorf("%s: repair refused: %v, %+v", what, err, repaired)
			return
		}
		lost := repaired.Lost
		if repaired, err = Repair(t.Context(), fs, "log", RepairOptions{AcceptLoss: lost}); err != nil ||
			repaired.Lost != lost {
			t.Errorf("%s: repair: %v, %+v", what, err, repaired)
			return
		}
	}
	if repaired.Kept.Last+repaired.Lost != last && report.Acknowledged > 0 {
		t.Errorf("%s: kept %+v and lost %d, want %d in all", what, repaired.Kept, repaired.Lost, last)
	}
	if report.Damaged() && len(repaired.SetAside) == 0 && !repaired.Unknown {
		t.Errorf("%s: the repair set no files aside: %+v", what, repaired)
	}
	s, err := Open(fs, "log", DefaultOptions())
	if err != nil {
		t.Errorf("%s: open after repair: %v (%+v)", what, err, report)
		return
	}
	got, err := readAll(s)
	if err != nil || uint64(len(got)) != repaired.Kept.Last+1-repaired.Kept.First {
		t.Errorf("%s: after repair %d events, %v, want %+v", what, len(got), err, repaired.Kept)
	}
	for i, r := range got {
		if r.Position != repaired.Kept.First+uint64(i) || !sameEvent(r) {
			t.Errorf("%s: after repair event %d is %+v", what, i, r)
		}
	}
	appendN(t, s, 1)
	closeLog(t, s)
	if again, err := Check(t.Context(), fs, "log"); err != nil || again.Damaged() && again.Base == 0 {
		t.Errorf("%s: check after repair: %v, %+v", what, err, again)
	}
}

// step returns the distance between the damaged bytes that a test tries: 1 in the long form, else
// short. Under the race detector, which slows these tests down tenfold, it is three times as large.
func step(short int) int {
	if full() {
		return 1
	}
	return testsize.Of(short, 3*short+2)
}

// unusedMark reports whether a byte of the mark file lies between its two slots.
func unusedMark(name string, i int) bool {
	return path.Base(name) == markFileName && i >= markBytes+20 && i < markSlot-20
}

// A flipped bit in any byte of any file of a small log is detected or harmless.
func TestEveryByteFlip(t *testing.T) {
	tr, first, last := smallLog(t)
	flips, found := 0, 0
	for _, name := range tr.names() {
		for i := 0; i < len(tr[name]) && !t.Failed(); i += step(19) {
			if unusedMark(name, i) {
				continue
			}
			bad := slices.Clone(tr[name])
			bad[i] ^= byte(1 << (i % 8))
			broken, what := tr.with(name, bad), fmt.Sprintf("%s byte %d", name, i)
			whole := checkDetected(t, what, broken, first, last)
			checkRepaired(t, what, broken, whole, last)
			if flips++; !whole {
				found++
			}
		}
	}
	t.Logf("%d flips, %d of them damaging, all of these detected", flips, found)
}

// A file truncated to any length or removed is detected or harmless.
func TestEveryTruncation(t *testing.T) {
	tr, first, last := smallLog(t)
	cuts, found := 0, 0
	for _, name := range tr.names() {
		for n := -1; n < len(tr[name]) && !t.Failed(); n++ {
			if n > 0 && n%step(29) != 0 || unusedMark(name, n) {
				continue
			}
			var short []byte
			if n >= 0 {
				short = append([]byte{}, tr[name][:n]...)
			}
			broken, what := tr.with(name, short), fmt.Sprintf("%s cut to %d", name, n)
			whole := checkDetected(t, what, broken, first, last)
			checkRepaired(t, what, broken, whole, last)
			if cuts++; !whole {
				found++
			}
		}
	}
	t.Logf("%d cuts, %d of them damaging, all of these detected", cuts, found)
}
