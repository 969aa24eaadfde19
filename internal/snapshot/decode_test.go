package snapshot_test

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/snapshot"
)

// TestOtherLayout: a state with other fields, in another order or of other kinds is refused, also
// in an interface.
func TestOtherLayout(t *testing.T) {
	type same struct {
		N int
		V []float64
	}
	data, err := snapshot.Seal(magic, "kind", &state{3, []float64{1}})
	if err != nil {
		t.Fatal(err)
	}
	var out same
	if err := snapshot.Open(data, magic, "kind", &out); err != nil || out.N != 3 || out.V[0] != 1 {
		t.Errorf("Open = %+v, %v", out, err)
	}
	for what, other := range map[string]any{
		"an added field": &struct {
			N, Added int
			V        []float64
		}{},
		"another order": &struct {
			V []float64
			N int
		}{},
		"another name": &struct {
			M int
			V []float64
		}{},
		"another kind": &struct {
			N int
			V []float32
		}{},
		"a pointer": &struct {
			N *int
			V []float64
		}{},
		"a shorter state": &struct{ N int }{},
	} {
		if err := snapshot.Open(data, magic, "kind", other); err == nil || !strings.Contains(err.Error(), "layout") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if data, err = snapshot.Seal(magic, "kind", &struct{ S shape }{&square{1}}); err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte("test.square")) + len("test.square")
	data[at]++
	sum := sha256.Sum256(data[:len(data)-sha256.Size])
	copy(data[len(data)-sha256.Size:], sum[:])
	if err := snapshot.Open(data, magic, "kind", &struct{ S shape }{}); err == nil ||
		!strings.Contains(err.Error(), "layout") {
		t.Errorf("another layout in an interface: %v", err)
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
	type wide struct{ A [250]int }
	type list struct{ L []wide }
	open := func(body string, out any) error {
		data := []byte(magic + body)
		sum := sha256.Sum256(data)
		return snapshot.Open(append(data, sum[:]...), magic, "kind", out)
	}
	head := func(of any) string { // the kind and the layout
		data, err := snapshot.Seal(magic, "kind", of)
		if err != nil {
			t.Fatal(err)
		}
		return string(data[len(magic) : len(magic)+len("\x04kind")+8])
	}
	const huge = "\x80\x80\x80\x80\x80\x80\x80\x80\x40" // 2⁶²
	for _, body := range []string{
		huge, head(&state{}) + "\x00" + huge, head(&state{}) + "\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
		head(&state{}) + "\x00\xc0\x9a\x0c",
	} {
		var out state
		if err := open(body, &out); err == nil || out.V != nil {
			t.Errorf("%q was read: %v", body, out)
		}
	}
	var out list // of 200,000 structs of 2,000 bytes
	if err := open(head(&list{})+"\xc0\x9a\x0c", &out); err == nil || out.L != nil {
		t.Errorf("%d values of 2,000 bytes: %v", len(out.L), err)
	}
}
