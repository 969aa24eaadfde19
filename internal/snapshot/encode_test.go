package snapshot_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"math"
	"reflect"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/snapshot"
)

// TestPinnedBytes pins the encoding: a change of these bytes needs a new version.
func TestPinnedBytes(t *testing.T) {
	in := codeState{All: fullState(), Code: code{7}}
	in.All.derived = 5
	data, err := snapshot.Seal(magic, "kind", &in)
	if err != nil {
		t.Fatal(err)
	}
	const want = "38aaf829c223e04d549491f27466f00a84eac4fd6925e6247c691894c5abb77e"
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
				t.Fatal("the same map has different bytes")
			}
		}
	}
}

// TestExactNumbers checks that the bits of every float64 are kept.
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

// TestSealRefuses checks that a value that cannot be encoded is an error instead of being dropped.
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
