package snapshot_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"maps"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/snapshot"
)

type shape interface{ Area() float64 }

type square struct{ Side float64 }

func (s *square) Area() float64 { return s.Side * s.Side }

type point struct{ X, Y float64 }

// code writes itself.
type code struct{ n byte }

func (c *code) MarshalBinary() ([]byte, error) {
	if c.n == 255 {
		return nil, errors.New("no code")
	}
	return []byte{c.n}, nil
}

func (c *code) UnmarshalBinary(b []byte) error {
	if len(b) != 1 {
		return errors.New("want one byte")
	}
	c.n = b[0]
	return nil
}

// allState has a field of every kind that version 1 could save.
type allState struct {
	Flag        bool
	AllObserved bool `snapshot:"Warm"`
	Count       int
	Small       int32
	Large       uint64
	Text        string
	Raw         []byte
	Vector      []float64
	Table       [][]float64
	Points      []point
	Origin      *point
	None        *point
	Pair        [2]float32
	Names       map[string]int
	Shape       shape
	Shapes      []shape
	derived     int // not saved
}

// codeState has one of version 2 too.
type codeState struct {
	All  allState
	Code code
}

func init() {
	gob.RegisterName("test.square", &square{})
	if err := snapshot.Register("test.square", &square{}); err != nil {
		panic(err)
	}
}

func fullState() allState {
	return allState{
		Flag: true, AllObserved: true, Count: -3, Small: 70000, Large: 1 << 63, Text: "text", Raw: []byte{1, 0, 255},
		Vector: []float64{1, -0.5, 1e300}, Table: [][]float64{{1}, {2, 3}}, Points: []point{{1, 2}, {3, 4}},
		Origin: &point{5, 6}, Pair: [2]float32{0.5, -1}, Names: map[string]int{"b": 2, "a": 1, "c": 3},
		Shape: &square{2}, Shapes: []shape{&square{3}, &square{4}},
	}
}

// TestVersion1 opens a snapshot that encoding/gob wrote, with a field that has another name today.
func TestVersion1(t *testing.T) {
	data, err := os.ReadFile("testdata/snapshot1.bin")
	if err != nil {
		t.Fatal(err)
	}
	var s allState
	if err := snapshot.Open(data, magic, "kind", &s); err != nil || !reflect.DeepEqual(s, fullState()) {
		t.Errorf("Open = %+v, %v", s, err)
	}
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 0x10
		if err := snapshot.Open(bad, magic, "kind", &s); noregret.CodeOf(err) != noregret.BadInput {
			t.Fatalf("byte %d changed: %v", i, err)
		}
	}
	if err := snapshot.Open(data, magic, "other", &s); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("another kind: %v", err)
	}
}

// TestPinnedBytes holds the encoding: a change of these bytes is a new version.
func TestPinnedBytes(t *testing.T) {
	in := codeState{All: fullState(), Code: code{7}}
	in.All.derived = 5
	data, err := snapshot.Seal(magic, "kind", &in)
	if err != nil {
		t.Fatal(err)
	}
	const want = "3bfcee68f00b5fae507220ed97fbaae983d219b6830cea7ecdb36d5c62bed90c"
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
		t.Errorf("the bytes have the SHA-256 %x:\n%q", sum, data)
	}
	var out codeState
	if err := snapshot.Open(data, magic, "kind", &out); err != nil {
		t.Fatal(err)
	}
	in.All.derived = 0
	if !reflect.DeepEqual(in, out) {
		t.Errorf("Open = %+v, want %+v", out, in)
	}
}

// TestMapOrder: a map has the same bytes whatever the order in which it was filled.
func TestMapOrder(t *testing.T) {
	type state struct{ M map[int]string }
	a, b := map[int]string{}, map[int]string{}
	for i := range 100 {
		a[i], b[99-i] = "x", "x"
	}
	var first []byte
	for range 20 {
		for _, m := range []map[int]string{a, b, maps.Clone(a)} {
			data, err := snapshot.Seal(magic, "kind", &state{m})
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = data
			}
			if !bytes.Equal(data, first) {
				t.Fatal("the same map has other bytes")
			}
		}
	}
}

// TestAddedField: older bytes leave a new field zero, other orders of fields are read, and a field
// that is not known is refused.
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

// TestExactNumbers keeps the bits of every float64.
func TestExactNumbers(t *testing.T) {
	in := state{math.MinInt, []float64{math.Copysign(0, -1), math.NaN(), math.Inf(-1), 5e-324}}
	data, err := snapshot.Seal(magic, "kind", &in)
	if err != nil {
		t.Fatal(err)
	}
	var out state
	if err := snapshot.Open(data, magic, "kind", &out); err != nil || out.N != in.N {
		t.Fatalf("Open = %+v, %v", out, err)
	}
	for i, v := range in.V {
		if math.Float64bits(out.V[i]) != math.Float64bits(v) {
			t.Errorf("%v became %v", v, out.V[i])
		}
	}
}

// TestSealRefuses: what cannot be saved is an error, not a loss of state.
func TestSealRefuses(t *testing.T) {
	type node struct{ Next *node }
	loop := &node{}
	loop.Next = loop
	type hidden struct{ n int }
	type other struct{ square }
	for name, s := range map[string]any{
		"a function":            &struct{ F func() }{func() {}},
		"a channel":             &struct{ C chan int }{},
		"a complex number":      &struct{ C complex128 }{},
		"a cycle":               loop,
		"a hidden struct":       &struct{ H hidden }{hidden{1}},
		"an unregistered type":  &struct{ S shape }{&other{}},
		"a nil in an interface": &struct{ S shape }{(*square)(nil)},
		"keys of structs":       &struct{ M map[point]int }{},
		"a failing marshaler":   &struct{ C code }{code{255}},
		"nil":                   nil,
	} {
		if _, err := snapshot.Seal(magic, "kind", s); err == nil {
			t.Errorf("%s was saved", name)
		}
	}
	if _, err := snapshot.Seal("test-1\n", "kind", &state{}); noregret.CodeOf(err) != noregret.Internal {
		t.Errorf("a magic of version 1: %v", err)
	}
}

func TestRegister(t *testing.T) {
	if err := snapshot.Register("test.square", &square{}); err != nil {
		t.Errorf("the same again: %v", err)
	}
	for what, err := range map[string]error{
		"a second type": snapshot.Register("test.square", square{}),
		"a second name": snapshot.Register("test.other", &square{}),
		"no name":       snapshot.Register("", point{}),
		"nil":           snapshot.Register("test.nil", nil),
	} {
		if err == nil {
			t.Errorf("%s was accepted", what)
		}
	}
}

// FuzzOpen hands the decoder damaged bytes behind a correct checksum: it neither panics nor takes
// memory out of proportion, and what it reads has bytes that read the same.
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
			return // such as a marshaler that refuses what it has read
		}
		var again codeState
		if err := snapshot.Open(first, magic, "kind", &again); err != nil {
			t.Fatal(err)
		}
		second, err := snapshot.Seal(magic, "kind", &again)
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("other bytes after a round trip (%v)", err)
		}
	})
}

// TestOpenLengths: a length that the bytes cannot hold is refused before memory is taken.
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
