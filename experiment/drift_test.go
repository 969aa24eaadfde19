package experiment

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
)

// driftCases are definitions with a memory for each kind of policy.
func driftCases() map[string]string {
	cases := map[string]string{
		"pasto":   "control: {arm: a, share: 0.1}\nguardrails: [{metric: n, min_change: -0.5}]\ndrift: {memory: 5}",
		"no arm":  "drift: {memory: 7}",
		"changes": "control: {arm: a, share: 0.1}\nguardrails: [{metric: n, min_change: -0.5}]\nchanges: none",
		"strict":  "control: {arm: a, share: 0.1}\nguardrails: [{metric: n, min_change: -0.5}]\nstrict: true",
	}
	for _, bandit := range []string{"thompson", "ucb", "kl-ucb", "tsallis-inf"} {
		cases[bandit] = "policy: {kind: " + bandit + "}\ndrift: {memory: 5}"
	}
	return cases
}

func driftDefinition(more string) string {
	return "apply\nname: d\narms: [{name: a, value: 1}, {name: b, value: 2}, {name: c, value: 3}]\n" +
		"metrics: [{name: m, range: [0, 1], default: 0}, {name: n, range: [0, 1], default: 0}]\n" +
		"objective: {goals: [{metric: m}]}\nround: {length: 1m}\nattribution_window: 1m\nexposure: immediate\n" + more
}

// TestDriftFolds: with a memory the state is a fold of the events, also from a snapshot
// in the middle, with arms added and retired, while the means of arms change.
func TestDriftFolds(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	for name, more := range driftCases() {
		if testsize.Short() && strings.HasPrefix(name, "ucb") {
			continue
		}
		s := newScenario(t)
		s.name = "d"
		if out := s.run(driftDefinition(more)); strings.Contains(out, "error") {
			t.Fatalf("%s: %s", name, out)
		}
		for round := range 18 {
			means := "m=a:.2,b:.8,c:.3,e:.3"
			if round > 7 {
				means = "m=a:.2,b:.1,c:.9,e:.3"
			}
			s.simulate([]string{"simulate", fmt.Sprint(1000 * round), "200", "0", means, "n=a:.5,b:.5,c:.5,e:.5"})
			s.run("wait 61s")
			s.run("due")
			switch round {
			case 5:
				s.run("arm.add e 5")
			case 11:
				s.run("arm.retire c")
			}
		}
		s.check()
		r, err := s.state.Report("d")
		if err != nil {
			t.Fatal(err)
		}
		switch wants := strings.Contains(more, "memory"); {
		case wants && (r.Drift == nil || r.Drift.Memory < 5 || r.Drift.Memory > 7), !wants && r.Drift != nil:
			t.Errorf("%s: the report's drift is %+v", name, r.Drift)
		}
	}
}

// TestContextualRestarts: a contextual policy begins anew after as many rounds as it remembers, and
// its state is a fold.
func TestContextualRestarts(t *testing.T) {
	t.Parallel()
	s := newScenario(t)
	s.name = "four"
	text := "apply\nname: four\narms: [{name: a, value: 1}, {name: b, value: 2}, {name: c, value: 3}]\n" +
		"metrics: [{name: like, range: [0, 1], default: 0}]\nobjective: {goals: [{metric: like}]}\n" +
		"policy: {kind: lin-ucb}\ncontext: [{name: age, kind: number, range: [0, 100]}, " +
		"{name: land, kind: category, values: [de, fr]}]\nround: {length: 1m}\nattribution_window: 1m\n" +
		"drift: {memory: 5}"
	s.run(text)
	for round := range 13 {
		s.visits([]string{"visits", fmt.Sprint(100 * round), "20"})
		s.run("wait 61s")
		s.run("due")
		if round == 4 {
			s.run("arm.retire c")
		}
	}
	s.check()
	if out := s.run(strings.Replace(text, "memory: 5", "memory: 6", 1)); !strings.Contains(out,
		"drift.memory: 5 cannot become 6") {
		t.Errorf("another drift: %s", out)
	}
	r, err := s.state.Report("four")
	if err != nil {
		t.Fatal(err)
	}
	if r.Drift == nil || r.Drift.Memory != 5 {
		t.Errorf("the report's drift is %+v", r.Drift)
	}
	l := s.state.live["four"].learning.learner.(*contextLearner)
	if n := l.Count(0) + l.Count(1); n == 0 || n > 5*20 || l.s.Rounds >= 5 {
		t.Errorf("the policy knows %d units, of %d rounds", n, l.s.Rounds)
	}
}

// TestDriftLearnsRates: with a memory and without one a policy gives most of the traffic to an arm
// whose rate is 40 % above the others', for rates from 0.3 to 5 %: steps go by the metric's own
// scale.
func TestDriftLearnsRates(t *testing.T) {
	t.Parallel()
	for _, more := range []string{"", "drift: {memory: 100}", "changes: none", "control: {arm: a, share: 0.1}"} {
		for _, rate := range []float64{.003, .02, .05} {
			d, err := definition.Parse("d", []byte(strings.TrimPrefix(driftDefinition(more), "apply\n")))
			if err != nil {
				t.Fatal(err)
			}
			x, err := newExperiment(nil, d, 0, 0, consequence{ask: true})
			if err != nil {
				t.Fatal(err)
			}
			r, l := random.New(7, "rates"), x.learning.learner.(*mixtureLearner)
			for range 300 {
				var round []compare.Sums
				for k, p := range l.Serving() {
					mean := rate
					if k == 2 {
						mean *= 1.4
					}
					if n := math.Round(30_000 * p); n > 0 {
						v := mean * (1 - mean)
						round = append(round, compare.Sums{
							Arm: k, N: n, X: max(mean+math.Sqrt(v/n)*stat.Normal(r), 0), XX: n * v,
						})
					}
				}
				if err := l.store.Add(0, round); err != nil {
					t.Fatal(err)
				}
				l.changed()
			}
			t.Logf("%q at %v: %v", more, rate, l.Serving())
			if p := l.Serving()[2]; p < .6 {
				t.Errorf("%q: the arm of rate %v beside %v has %.3f of the traffic", more, 1.4*rate, rate, p)
			}
		}
	}
}
