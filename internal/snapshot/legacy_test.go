package snapshot_test

import (
	"bytes"
	"os"
	"reflect"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/snapshot"
)

// TestVersion1 opens a snapshot that encoding/gob wrote, with a field that has since been renamed.
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
