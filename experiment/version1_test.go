package experiment

import (
	"os"
	"strings"
	"testing"
)

// TestStateVersion1 reads a state of an earlier release whose learners have changed since. It is
// refused with an error that names what its learner was and is, so that the host folds the events
// anew.
func TestStateVersion1(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/state1.json")
	if err != nil {
		t.Fatal(err)
	}
	old := NewState()
	err = old.UnmarshalBinary(data)
	if err == nil || !strings.Contains(err.Error(), "it was taken of") ||
		!strings.Contains(err.Error(), "this learner is") {
		t.Errorf("%v: want an error that names the learners", err)
	}
	if old.Position() != 0 {
		t.Errorf("a refused state left position %d", old.Position())
	}
}
