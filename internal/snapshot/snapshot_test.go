package snapshot_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/snapshot"
)

type state struct {
	N int
	V []float64
}

const magic = "test-2\n"

func TestSealOpen(t *testing.T) {
	in := state{3, []float64{1, -0.5}}
	data, err := snapshot.Seal(magic, "kind", &in)
	if err != nil {
		t.Fatal(err)
	}
	again, err := snapshot.Seal(magic, "kind", &in)
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("the same state has different bytes (%v)", err)
	}
	var out state
	if err := snapshot.Open(data, magic, "kind", &out); err != nil || out.N != 3 || len(out.V) != 2 ||
		out.V[1] != -0.5 {
		t.Errorf("Open = %+v, %v", out, err)
	}
}

// TestOpenRefuses damages a snapshot at every byte, and opens it as another kind.
func TestOpenRefuses(t *testing.T) {
	data, err := snapshot.Seal(magic, "kind", &state{3, []float64{1, -0.5}})
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, data []byte, magic, kind string) {
		t.Helper()
		var out state
		if err := snapshot.Open(data, magic, kind, &out); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 0x10
		refused("a changed byte", bad, magic, "kind")
		refused("an end cut off", data[:i], magic, "kind")
	}
	refused("more bytes", append(bytes.Clone(data), 0), magic, "kind")
	refused("another version", data, "test-3\n", "kind")
	var out state
	if err := snapshot.Open(data, "test-3\n", "kind", &out); !strings.Contains(err.Error(), `begins with "test-2": want "test-3"`) {
		t.Error(err)
	}
	refused("another kind", data, magic, "other")
	other, err := snapshot.Seal(magic, "kind", &struct{ N string }{"text"})
	if err != nil {
		t.Fatal(err)
	}
	refused("another state", other, magic, "kind")
}
