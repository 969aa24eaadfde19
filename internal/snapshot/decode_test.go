package snapshot_test

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/snapshot"
)

// TestAddedField: older bytes leave a new field zero, fields may come in another order, and an
// unknown field is refused.
func TestAddedField(t *testing.T) {
	type first struct {
		N int
		V []float64
	}
	type second struct {
		V     []float64
		Added *point
		N     int
	}
	data, err := snapshot.Seal(magic, "kind", &first{3, []float64{1}})
	if err != nil {
		t.Fatal(err)
	}
	var later second
	if err := snapshot.Open(data, magic, "kind", &later); err != nil || later.N != 3 || later.V[0] != 1 ||
		later.Added != nil {
		t.Errorf("Open = %+v, %v", later, err)
	}
	if data, err = snapshot.Seal(magic, "kind", &later); err != nil {
		t.Fatal(err)
	}
	var earlier first
	if err := snapshot.Open(data, magic, "kind", &earlier); err == nil || !strings.Contains(err.Error(), "Added") {
		t.Errorf("an unknown field: %v", err)
	}
}

// FuzzOpen gives the decoder damaged bytes with a correct checksum. It must not panic or use memory
// out of proportion, and a state that it reads must survive a round trip.
func FuzzOpen(f *testing.F) {
	full, err := snapshot.Seal(magic, "kind", &codeState{All: fullState(), Code: code{7}})
	if err != nil {
		f.Fatal(err)
	}
	empty, err := snapshot.Seal(magic, "kind", &codeState{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(full[len(magic) : len(full)-sha256.Size])
	f.Add(empty[len(magic) : len(empty)-sha256.Size])
	f.Fuzz(func(t *testing.T, body []byte) {
		data := append([]byte(magic), body...)
		sum := sha256.Sum256(data)
		var out codeState
		if err := snapshot.Open(append(data, sum[:]...), magic, "kind", &out); err != nil {
			if noregret.CodeOf(err) != noregret.BadInput {
				t.Fatal(err)
			}
			return
		}
		first, err := snapshot.Seal(magic, "kind", &out)
		if err != nil {
			return // such as a marshaler that refuses its own state
		}
		var again codeState
		if err := snapshot.Open(first, magic, "kind", &again); err != nil {
			t.Fatal(err)
		}
		second, err := snapshot.Seal(magic, "kind", &again)
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("the bytes differ after a round trip (%v)", err)
		}
	})
}

// TestOpenLengths checks that a length that exceeds the bytes is refused before memory is
// allocated.
func TestOpenLengths(t *testing.T) {
	// The kind, a struct of one list of 2⁶² numbers.
	for _, body := range []string{
		"s\x04kind{\x00\x01\x01VD\x80\x80\x80\x80\x80\x80\x80\x80\x40",
		"s\x04kind{\x00\x80\x80\x80\x80\x80\x80\x80\x80\x40",
		"s\x80\x80\x80\x80\x80\x80\x80\x80\x40",
		"s\x04kind{\x00\x01\x01Vl\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
	} {
		data := []byte(magic + body)
		sum := sha256.Sum256(data)
		var out state
		if err := snapshot.Open(append(data, sum[:]...), magic, "kind", &out); err == nil {
			t.Errorf("%q was read: %v", body, out)
		}
	}
	// 200,000 structs of 2,000 bytes each, in two bytes each.
	type wide struct{ A [250]int }
	type list struct{ L []wide }
	data := []byte(magic + "s\x04kind{\x00\x01\x01Ll\xc0\x9a\x0c{\x01\x00" + strings.Repeat("{\x01", 199_999))
	sum := sha256.Sum256(data)
	var out list
	if err := snapshot.Open(append(data, sum[:]...), magic, "kind", &out); err == nil || out.L != nil {
		t.Errorf("%d values of 2,000 bytes were read from %d bytes: %v", len(out.L), len(data), err)
	}
}
