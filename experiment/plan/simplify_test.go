package plan

import (
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/examples"
)

// TestSimplify plans what is left of a box, of contexts and of a private experiment, and leaves
// their definitions as they are.
func TestSimplify(t *testing.T) {
	for _, c := range []struct {
		example, note string
		arms          int
	}{
		{"ranking", "", 2},
		{"price", "planned without the box: the times are those of 8 points", 8},
		{"contextual", "planned without contexts", 2},
		{"private", "planned without privacy", 2},
	} {
		text, _ := examples.Get(c.example)
		d := parse(t, string(text))
		simpler, without := Simplify(d)
		if c.note == "" {
			if simpler != d || len(without) > 0 {
				t.Errorf("%s: %q", c.example, without)
			}
		} else if _, err := Closed(t.Context(), d); err == nil || len(without) != 1 ||
			!strings.HasPrefix(without[0], c.note) {
			t.Errorf("%s: %v, %q, want %q", c.example, err, without, c.note)
		}
		r, err := Closed(t.Context(), simpler)
		if err != nil || r.Arms != c.arms || r.Gain == nil {
			t.Errorf("%s: %+v, %v, want %d arms", c.example, r, err, c.arms)
		}
	}
}

// TestClearVerdicts plans a private experiment, which never calls a guardrail held or breached.
func TestClearVerdicts(t *testing.T) {
	text, _ := examples.Get("private")
	d, without := Simplify(parse(t, string(text)))
	if len(without) != 1 || !strings.Contains(without[0], "calls no guardrail held or breached") {
		t.Errorf("%q", without)
	}
	r, err := Compute(t.Context(), d, Options{Runs: 1, Horizon: 2, Seed: 1})
	if err != nil || len(r.Guardrails) == 0 || r.Guardrails[0].Held.Reached == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	r.ClearVerdicts()
	for _, g := range r.Guardrails {
		if g.Held != (Time{}) || g.Breached != (Time{}) || g.Prevented {
			t.Errorf("%+v", g)
		}
	}
}
