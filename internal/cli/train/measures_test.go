package train

import (
	"encoding/json"
	"testing"
)

// TestLists checks that the lists of algorithms and measures have distinct names as JSON, and a
// line for each of them as text.
func TestLists(t *testing.T) {
	for _, command := range []string{"algorithms", "measures"} {
		var list []struct{ Name string }
		if err := json.Unmarshal([]byte(cmds.Printed(t, command, "--json")), &list); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, e := range list {
			if e.Name == "" || seen[e.Name] {
				t.Errorf("%s: the name %q is empty or repeated", command, e.Name)
			}
			seen[e.Name] = true
		}
		lines := 0
		for _, c := range cmds.Printed(t, command) {
			if c == '\n' {
				lines++
			}
		}
		if len(list) == 0 || lines != len(list)+1 {
			t.Errorf("%s: %d lines for %d names and a header", command, lines, len(list))
		}
	}
}
