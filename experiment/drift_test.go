package experiment

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
)

// driftCases are definitions of each kind of drift for each kind of policy that has it.
func driftCases() map[string]string {
	cases := map[string]string{}
	mixture := "control: {arm: a, share: 0.1}\nguardrails: [{metric: n, min_change: -0.5}]\n"
	for name, drift := range map[string]string{
		"restart": "{kind: restart, rounds: 3}", "budget": "{kind: restart, horizon: 27, variation: 5}",
		"discount": "{kind: discount, rate: 0.2}", "window": "{kind: window, rounds: 3}",
		"cusum": "{kind: detector, detector: cusum}", "page-hinkley": "{kind: detector, detector: page-hinkley}",
		"adwin": "{kind: detector, detector: adwin}", "kswin": "{kind: detector, detector: kswin}",
		"adaptive": "{kind: adaptive}",
	} {
		cases["pasto "+name] = mixture + "drift: " + drift
		if name == "adaptive" {
			continue
		}
		for _, bandit := range []string{"thompson", "ucb", "kl-ucb", "tsallis-inf"} {
			cases[bandit+" "+name] = "policy: {kind: " + bandit + "}\ndrift: " + drift
		}
	}
	return cases
}

func driftDefinition(more string) string {
	return "apply\nname: d\narms: [{name: a, value: 1}, {name: b, value: 2}, {name: c, value: 3}]\n" +
		"metrics: [{name: m, range: [0, 1], default: 0}, {name: n, range: [0, 1], default: 0}]\n" +
		"objective: {goals: [{metric: m}]}\nround: {length: 1m}\nattribution_window: 1m\nexposure: immediate\n" + more
}

// TestDriftFolds: with each kind of drift the state is a fold of the events, also from a snapshot
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
		if r.Drift == nil || !strings.HasPrefix(name, "tsallis") && !(r.Drift.Memory >= 0 && r.Drift.Memory <= 18) {
			t.Errorf("%s: the report's drift is %+v", name, r.Drift)
			continue
		}
		if strings.HasSuffix(name, "restart") && (r.Drift.Count < 3 || r.Drift.Events[0].Cause != "interval" ||
			r.Drift.Events[0].Arms != nil || r.Drift.Kind != "restart") {
			t.Errorf("%s: %+v", name, r.Drift)
		}
		if strings.HasSuffix(name, "cusum") && strings.HasPrefix(name, "pasto") {
			notes := fmt.Sprint(r.Notes)
			if r.Drift.Count == 0 || r.Drift.Events[0].Cause != "cusum" || r.Drift.Events[0].Statistic == 0 ||
				!strings.Contains(notes, "cusum reports a change") {
				t.Errorf("%s: %+v, notes %s", name, r.Drift, notes)
			}
		}
	}
}

// TestContextualRestarts: a contextual policy begins anew at intervals, and its state is a fold.
func TestContextualRestarts(t *testing.T) {
	t.Parallel()
	s := newScenario(t)
	s.name = "four"
	text := "apply\nname: four\narms: [{name: a, value: 1}, {name: b, value: 2}, {name: c, value: 3}]\n" +
		"metrics: [{name: like, range: [0, 1], default: 0}]\nobjective: {goals: [{metric: like}]}\n" +
		"policy: {kind: lin-ucb}\ncontext: [{name: age, kind: number, range: [0, 100]}, " +
		"{name: land, kind: category, values: [de, fr]}]\nround: {length: 1m}\nattribution_window: 1m\n" +
		"drift: {kind: restart, rounds: 3}"
	s.run(text)
	for round := range 10 {
		s.visits([]string{"visits", fmt.Sprint(100 * round), "20"})
		s.run("wait 61s")
		s.run("due")
		if round == 4 {
			s.run("arm.retire c")
		}
	}
	s.check()
	if out := s.run(strings.Replace(text, "rounds: 3", "rounds: 4", 1)); !strings.Contains(out,
		"drift: cannot change") {
		t.Errorf("another drift: %s", out)
	}
	r, err := s.state.Report("four")
	if err != nil {
		t.Fatal(err)
	}
	if r.Drift == nil || r.Drift.Count < 2 || r.Drift.Memory > 2 {
		t.Errorf("the report's drift is %+v", r.Drift)
	}
}

// TestDriftLearnsRates: with each kind of drift a policy gives most of the traffic to an arm whose
// rate is 40 % above the others', for rates from 0.3 to 5 %: steps go by the metric's own scale.
func TestDriftLearnsRates(t *testing.T) {
	t.Parallel()
	for _, drift := range []string{
		"{kind: discount, rate: 0.01}", "{kind: window, rounds: 100}", "{kind: restart, rounds: 400}",
		"{kind: detector, detector: cusum}", "{kind: adaptive}",
	} {
		for _, rate := range []float64{.003, .02, .05} {
			if testsize.Short() && rate == .02 {
				continue
			}
			d, err := definition.Parse("d", []byte(strings.TrimPrefix(driftDefinition("drift: "+drift), "apply\n")))
			if err != nil {
				t.Fatal(err)
			}
			x, err := newExperiment(nil, d, 0, 0, consequence{ask: true})
			if err != nil {
				t.Fatal(err)
			}
			r, l := random.New(7, "rates"), x.learning.learner.(mixer)
			for range 300 {
				var obs []pasto.Observation
				for k, p := range l.Serving() {
					mean := rate
					if k == 2 {
						mean *= 1.4
					}
					if n := math.Round(30_000 * p); n > 0 {
						v := mean * (1 - mean)
						obs = append(obs, pasto.Observation{
							Arm: k, Size: n, Variances: []float64{v},
							Metrics: []float64{max(mean+math.Sqrt(v/n)*stat.Normal(r), 0)},
						})
					}
				}
				if err := l.Observe(obs); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%s at %v: %v", drift, rate, l.Serving())
			if p := l.Serving()[2]; p < .6 {
				t.Errorf("%s: the arm of rate %v beside %v has %.3f of the traffic", drift, 1.4*rate, rate, p)
			}
		}
	}
}
