package arena

import (
	"context"
	"testing"

	"github.com/noregret/noregret/internal/testsize"
)

// TestDriftLearners: where the best arm and the worst one exchange their means, ways to forget
// serve more than the learner that forgets nothing, and break the guardrail in fewer rounds.
// lab/docs/pasto.md has the table of 200 runs.
func TestDriftLearners(t *testing.T) {
	testsize.NoRace(t)
	var entries []Entry
	for _, e := range DriftLearners() {
		switch e.Name {
		case "default", "no-change-test", "discount-.02", "window-50", "adaptive", "told", "oracle":
			entries = append(entries, e)
		}
	}
	r, err := Run(context.Background(), Options{
		Families: []string{"rates-gradual", "rates-reversal"}, Entries: entries, Runs: testsize.Of(30, 12), Seed: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Families {
		rows := map[string]Row{}
		for _, x := range f.Rows {
			rows[x.Learner] = x
		}
		never := rows["no-change-test"]
		for _, name := range []string{"discount-.02", "window-50", "adaptive"} {
			x := rows[name]
			if !(x.Served.Mean > never.Served.Mean) || !(x.BrokenRounds.Mean < .6*never.BrokenRounds.Mean) {
				t.Errorf("%s: %s serves %.3f and breaks the guardrail in %.3f of the rounds, without drift handling "+
					"%.3f and %.3f", f.Family, name, x.Served.Mean, x.BrokenRounds.Mean, never.Served.Mean,
					never.BrokenRounds.Mean)
			}
		}
		if o := rows["oracle"]; o.Served.Mean != 1 || o.BrokenRounds.Mean != 0 {
			t.Errorf("%s: the oracle serves %v and breaks the guardrail in %v of the rounds", f.Family, o.Served.Mean,
				o.BrokenRounds.Mean)
		}
		if x := rows["told"]; x.BrokenRounds.Mean > .02 {
			t.Errorf("%s: the learner that knows of the changes breaks the guardrail in %v of the rounds", f.Family,
				x.BrokenRounds.Mean)
		}
	}
}
