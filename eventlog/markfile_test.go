package eventlog

import (
	"bytes"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/noregret/noregret"
)

// Without the mark file a truncated log looks intact, so its loss counts as damage: Open and Check
// report it, and a repair writes a new mark and reports that losses are unknown.
func TestLostMark(t *testing.T) {
	tr, _, _ := smallLog(t)
	cut := without(tr, markFileName)
	for _, name := range cut.names() { // holds the newest events
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
		if _, err := Open(fs, "log", DefaultOptions()); !errors.Is(err, ErrDamaged) {
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
		s, err := Open(fs, "log", DefaultOptions())
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
	// A crash during the creation of a log leaves no mark and no events, so nothing is lost.
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
