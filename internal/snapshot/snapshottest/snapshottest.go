// Package snapshottest checks the snapshots of types, for their tests.
package snapshottest

import (
	"bytes"
	"encoding"
	"slices"
	"testing"
)

// Snapshotter is a type with snapshots.
type Snapshotter interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// Restore saves one value, restores it into another of the same options, and fails the test unless
// both then have the same snapshot, and damaged bytes change nothing.
func Restore(t *testing.T, from, to Snapshotter) {
	t.Helper()
	save := func(s Snapshotter) []byte {
		data, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	data, before := save(from), save(to)
	for _, i := range []int{0, len(data) / 3, len(data) / 2, len(data) - 1} {
		bad := slices.Clone(data)
		bad[i] ^= 4
		if to.UnmarshalBinary(bad) == nil {
			t.Errorf("byte %d is damaged and was accepted", i)
		}
	}
	if !bytes.Equal(before, save(to)) {
		t.Error("a refused snapshot changed the state")
	}
	if err := to.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, save(to)) {
		t.Error("the snapshot of the restored state differs")
	}
}
