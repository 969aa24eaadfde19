package experiment

import (
	"strings"
	"testing"
)

// TestStateVersion1 checks that a state in an older format is refused with an error that names the
// format, and changes nothing.
func TestStateVersion1(t *testing.T) {
	t.Parallel()
	s := newScenario(t)
	s.run(pausable)
	before, err := s.state.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	old := strings.Replace(string(before), stateFormat, "noregret state 1", 1)
	err = s.state.UnmarshalBinary([]byte(old))
	if err == nil || !strings.Contains(err.Error(), `its format is "noregret state 1": want "noregret state 4"`) {
		t.Errorf("%v", err)
	}
	if after, err := s.state.MarshalBinary(); err != nil || string(after) != string(before) {
		t.Errorf("a refused state changed this one: %v", err)
	}
}
