package eventlog

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// meddle writes whole records in wrong places directly into the store of a log, as a restored
// backup or a bug would.
func meddle(t *testing.T, fs FS, change func(b *pebble.Batch) error) {
	t.Helper()
	db, err := pebble.Open("log/events", pebbleOptions(fs, 32<<20, false, func(error) {}))
	if err != nil {
		t.Fatal(err)
	}
	b := db.NewBatch()
	if err := errors.Join(change(b), db.Apply(b, pebble.Sync), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// The reader and the check detect intact records that do not follow each other.
func TestBrokenChain(t *testing.T) {
	noLeaks(t)
	encode := func(position uint64, payload string, previous uint32) []byte {
		e := Event{Kind: "k", Payload: []byte(payload)}
		buf := make([]byte, recordSize(e))
		encodeRecord(buf, Record{position, e}, previous)
		return buf
	}
	for _, tc := range []struct {
		name   string
		change func(b *pebble.Batch) error
		want   string
		whole  uint64 // the last position before the damage
	}{
		{"a position is missing", func(b *pebble.Batch) error {
			return b.Delete(eventKey(4), nil)
		}, "position 4 is missing", 3},
		{
			"two are", func(b *pebble.Batch) error { return b.DeleteRange(eventKey(4), eventKey(6), nil) },
			"the positions 4 to 5 are missing", 3,
		},
		{
			"another record in its place", func(b *pebble.Batch) error {
				return b.Set(eventKey(4), encode(4, "x", 0), nil)
			},
			"position 4 follows a record with the checksum 00000000, but that of position 3 is ", 3,
		},
		{
			"a record of another position", func(b *pebble.Batch) error {
				return b.Set(eventKey(4), encode(5, "x", 0), nil)
			},
			"position 4: it holds the record of position 5", 3,
		},
		{"no record", func(b *pebble.Batch) error {
			return b.Set(eventKey(4), []byte("x"), nil)
		}, "position 4: truncated", 3},
		{"the first is missing", func(b *pebble.Batch) error {
			return b.Delete(eventKey(1), nil)
		}, "position 1 is missing", 0},
		{
			"the last is another", func(b *pebble.Batch) error { return b.Set(eventKey(9), encode(9, "x", 0), nil) },
			"position 9: its checksum is ", 8,
		},
	} {
		fs := vfs.NewMem()
		s := open(t, fs)
		appendN(t, s, 9)
		closeLog(t, s)
		meddle(t, fs, tc.change)
		s, err := Open(fs, "log", DefaultOptions())
		if err == nil {
			var got []Record
			got, err = readAll(s)
			if uint64(len(got)) != tc.whole {
				t.Errorf("%s: %d events were read, want %d", tc.name, len(got), tc.whole)
			}
			for _, from := range []uint64{4, 5} { // a reader that begins at the changed record
				for _, ferr := range s.Read(t.Context(), from) {
					if from == 5 && strings.Contains(tc.name, "another record") {
						break // its link is to the stored record
					}
					if !errors.Is(ferr, ErrDamaged) {
						t.Errorf("%s: reading from %d: %v", tc.name, from, ferr)
					}
					break
				}
			}
			closeLog(t, s)
		}
		if !errors.Is(err, ErrDamaged) || !strings.Contains(fmt.Sprint(err), tc.want) {
			t.Errorf("%s: got %v, want %s", tc.name, err, tc.want)
		}
		r, err := Check(t.Context(), fs, "log")
		if err != nil || !r.Damaged() || !strings.Contains(r.Findings[0].Problem, tc.want) &&
			// The check finds this problem first.
			!strings.HasPrefix(r.Findings[0].Problem, "position 9 follows") {
			t.Errorf("%s: check: %v, %+v, want %s", tc.name, err, r, tc.want)
		}
	}
}
