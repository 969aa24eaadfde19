package arena

import (
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/lab/internal/study"
	"github.com/noregret/noregret/pasto/confident"
)

// TestDefaultLearns plays the default learner in three families. It must observe every round, and
// with plenty of data its deployed mixture must be better than the control.
func TestDefaultLearns(t *testing.T) {
	for _, name := range []string{"rate-2", "latency", "soft"} {
		w := worldOf(t, name, 2)
		l, err := Default(confident.DefaultOptions())(taskOf(w))
		if err != nil {
			t.Fatal(err)
		}
		d := l.(*defaultLearner)
		const rounds = 60
		for round := range rounds {
			p, err := d.Serving(round)
			if err != nil {
				t.Fatal(err)
			}
			if err := checkMixture(p, w.Arms()); err != nil {
				t.Fatalf("%s, round %d: %v", name, round, err)
			}
			units := make([]int, w.Arms())
			for k := range units {
				units[k] = int(1e7 * p[k])
			}
			if err := d.Observe(exactly(w, units, 0)); err != nil {
				t.Fatalf("%s, round %d: %v", name, round, err)
			}
		}
		if got := d.Learner.Rounds(); got != rounds {
			t.Errorf("%s: %d rounds were observed, want %d", name, got, rounds)
		}
		if s := w.Rate(0, d.Deployed(), make([]float64, w.Goals.Dim())); s.Value < 0.3 || s.Broken {
			t.Errorf("%s: deploys %v with %+v", name, d.Deployed(), s)
		}
	}
}

// Groups of arms without a share in the current round are left out, because the learner refuses
// them.
func TestDefaultLeavesOut(t *testing.T) {
	w := worldOf(t, "two-arms", 0)
	l, err := Default(confident.DefaultOptions())(taskOf(w))
	if err != nil {
		t.Fatal(err)
	}
	d := l.(*defaultLearner)
	served := slices.Clone(d.Learner.Serving())
	if err := d.Observe(exactly(w, []int{1000, 1000}, 0)); err != nil {
		t.Errorf("serving %v: %v", served, err)
	}
}

// The default keeps the guardrails in what it serves, is not worse than the control, and is not
// behind the best peer of its caution by more than a tenth of the gain and three standard errors;
// in the full form it is level with it in 18 of all families.
func TestDefaultKeepsUp(t *testing.T) {
	testsize.NoRace(t)
	families := []string{"rate-2", "growth", "crash", "mixture", "soft"}
	if !testsize.Short() {
		families = nil // all
	}
	r := play(t, Options{
		Runs: testsize.Of(30, 10), Seed: 11, Families: families,
		Learners: []string{
			"default", "test-single-safe", "test-mixture-safe", "greedy-2-safe", "optimistic-safe", "contrasts-safe",
			"thompson-safe", "control",
		},
	})
	level := 0
	for i := range r.Families {
		f := &r.Families[i]
		c := &f.Verdict.Caution
		if c.Level() {
			level++
		}
		// The round in which an arm crashes cannot be known before.
		if most := 0.01; f.Rows[0].BrokenRounds.Mean > most && f.Family != "late-crash" ||
			f.Rows[0].BrokenRounds.Mean > 2*most {
			t.Errorf("%s: guardrails are broken in %v of the rounds", f.Family, f.Rows[0].BrokenRounds)
		}
		if !f.Verdict.AboveControl {
			t.Errorf("%s: worse than the control: deployed %v, served %v", f.Family, f.Rows[0].Deployed,
				f.Rows[0].Served)
		}
		for _, lead := range []study.Estimate{c.DeployedLead, c.ServedLead} {
			if lead.Mean+3*lead.Error < -0.1 {
				t.Errorf("%s: behind by %v", f.Family, lead)
			}
		}
	}
	t.Logf("level in %d of %d families", level, len(r.Families))
	if !testsize.Short() && level < 18 {
		t.Errorf("level in %d of %d families", level, len(r.Families))
	}
}
