package experiment

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// altered returns the state as it would be saved with something else in it.
func altered(t testing.TB, s *State, alter func(saved *persistedState)) []byte {
	t.Helper()
	f, err := s.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	alter(&f.saved)
	b, err := f.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// alteredParts is altered for the parts of the first experiment.
func alteredParts(t testing.TB, s *State, alter func(p *persistedParts)) []byte {
	t.Helper()
	return altered(t, s, func(saved *persistedState) { alter(saved.Experiments[0].State) })
}

// TestForeignState checks that a state of another format is refused with an error that names the
// format, and changes nothing.
func TestForeignState(t *testing.T) {
	t.Parallel()
	s := newScenario(t)
	s.run(pausable)
	before, err := s.state.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	foreign := altered(t, s.state, func(saved *persistedState) { saved.Format = "noregret state 1" })
	err = s.state.UnmarshalBinary(foreign)
	if want := `its format is "noregret state 1": want "` + stateFormat + `"`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
	if after, err := s.state.MarshalBinary(); err != nil || string(after) != string(before) {
		t.Errorf("a refused state changed this one: %v", err)
	}
}

// TestPersistedOrder pins the names and the order of an experiment's persisted fields. The digest
// of the state depends on them, so moving a field from one part to another must not change them.
func TestPersistedOrder(t *testing.T) {
	raw, err := json.Marshal(new(experimentState).persisted())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for depth, at := 0, 0; at < len(raw); at++ {
		switch raw[at] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := at + 1 + slices.Index(raw[at+1:], '"')
			if depth == 1 && raw[end+1] == ':' {
				names = append(names, string(raw[at+1:end]))
			}
			at = end
		}
	}
	want := []string{
		"created", "status", "arms", "learn", "control", "founders", "version", "round", "round_start", "versions",
		"stream", "first", "epoch", "stream_round", "recent", "unlearned", "guards", "join", "orphans", "matured",
		"missing", "ramp", "notes",
	}
	if !slices.Equal(names, want) {
		t.Errorf("the fields are %q,\nwant %q", names, want)
	}
}
