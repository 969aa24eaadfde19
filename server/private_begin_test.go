package server

import (
	"strings"
	"testing"

	"github.com/noregret/noregret/api"
)

// A private experiment that begins, or would, says which account that opens beside those of others,
// and what is weak about its budget: as warnings, since it may be meant.
func TestPrivateBegins(t *testing.T) {
	w := newWorld(t)
	put := func(path, text string) api.Applied {
		t.Helper()
		var out api.Applied
		w.get(map[bool]int{true: 200, false: 201}[strings.Contains(path, "dry_run")], &out, "PUT", path, text,
			"Content-Type", "application/yaml")
		return out
	}
	for _, path := range []string{"/v1/experiments/secret?dry_run=true", "/v1/experiments/secret"} {
		got := put(path, privateToy).Warnings
		if len(got) != 1 || got[0] != "privacy: a new account begins, with epsilon 1 and delta 1e-06; it is the first "+
			"of this service" {
			t.Errorf("%s: %q", path, got)
		}
	}
	weak := strings.NewReplacer("name: secret", "name: weak", "epsilon: 1, delta: 1e-6", "epsilon: 12, delta: "+
		"0.01", "rounds: 8",
		"rounds: 80").Replace(privateToy)
	for _, path := range []string{"/v1/experiments/weak?dry_run=true", "/v1/experiments/weak"} {
		got := strings.Join(put(path, weak).Warnings, "\n")
		for _, want := range []string{
			"a new account begins, with epsilon 12 and delta 0.01; 1 others of this service have spent epsilon ",
			" and delta 1e-06 together", "epsilon = 12 is above 10", "delta = 0.01 is at least 1/n = 0.0025",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in %q", path, want, got)
			}
		}
	}
	if text := w.report("weak").Privacy.Statement; !strings.Contains(text, "epsilon = 12 is above 10") {
		t.Errorf("the statement warns of nothing:\n%s", text)
	}
	w.apply(toy)
	if got := put("/v1/experiments/toy?dry_run=true", toy).Warnings; got != nil {
		t.Errorf("of a public experiment: %q", got)
	}
}
