package experiment

import (
	"bytes"
	"os"
	"testing"
)

// TestStateVersion1 opens a state whose learners were saved by encoding/gob. It equals the fold of
// the scenarios' events and is saved in today's format.
func TestStateVersion1(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/state1.json")
	if err != nil {
		t.Fatal(err)
	}
	var old State
	if err := old.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	s := NewState()
	for i, e := range scenarioEvents(t) {
		if _, err := s.Apply(uint64(i+1), e); err != nil {
			t.Fatal(err)
		}
	}
	want, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := old.MarshalBinary(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the state is not the fold of its events (%v)", err)
	}
	if bytes.Equal(data, want) {
		t.Error("the saved state already has today's format")
	}
}
