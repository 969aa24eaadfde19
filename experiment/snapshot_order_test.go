package experiment

import (
	"encoding/json"
	"slices"
	"testing"
)

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
		"created", "status", "arms", "held", "learn", "control", "founders", "version", "round", "round_start",
		"versions", "stream", "first", "epoch", "stream_round", "recent", "unlearned", "guards", "returns",
		"round_seen",
		"feedback", "exposures", "orphans", "matured", "missing", "again", "sources", "ratio", "ramp", "notes",
	}
	if !slices.Equal(names, want) {
		t.Errorf("the fields are %q,\nwant %q", names, want)
	}
}
