package arena

import (
	"testing"

	"github.com/noregret/noregret/internal/testsize"
)

// TestDriftLearners: where the best arm and the worst one exchange their means, a memory that ends
// breaks the guardrail in fewer rounds than one of all rounds. lab/docs/pasto.md has the table of
// 200 runs.
func TestDriftLearners(t *testing.T) {
	testsize.NoRace(t)
	r := play(t, Options{
		Families: []string{"rates-gradual", "rates-reversal"}, Entries: DriftLearners(), Runs: testsize.Of(30, 12),
		Seed: 3,
	})
	for _, f := range r.Families {
		rows := map[string]Row{}
		for _, x := range f.Rows {
			rows[x.Learner] = x
			t.Logf("%s: %s serves %.3f, %.3f broken", f.Family, x.Learner, x.Served.Mean, x.BrokenRounds.Mean)
		}
		all := rows["all-rounds"]
		for _, name := range []string{"mixture", "memory-50"} {
			if x := rows[name]; !(x.BrokenRounds.Mean < .6*all.BrokenRounds.Mean) {
				t.Errorf("%s: %s breaks the guardrail in %.3f of the rounds, with all rounds %.3f", f.Family, name,
					x.BrokenRounds.Mean, all.BrokenRounds.Mean)
			}
		}
		if o := rows["oracle"]; o.Served.Mean != 1 || o.BrokenRounds.Mean != 0 {
			t.Errorf("%s: the oracle serves %v and breaks the guardrail in %v of the rounds", f.Family, o.Served.Mean,
				o.BrokenRounds.Mean)
		}
	}
}
