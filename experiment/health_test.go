package experiment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/join"
)

// TestHealthSays checks that the report describes every problem in words.
func TestHealthSays(t *testing.T) {
	s := newScenario(t)
	s.run(`apply
name: ill
arms:
  - {name: a, value: 1}
  - {name: b, value: 2}
metrics: [{name: y}]
policy: {kind: fixed, split: {a: 0.5, b: 0.5}}
round: {length: 1m}
attribution_window: 1m`)
	var units join.Units
	units.Experiment = "ill"
	for i := 0; len(units.Items) < 300; i++ {
		u := fmt.Sprint("u", i)
		if s.decide(u).Arm == 0 { // the other arm's pages never report an exposure
			units.Items = append(units.Items, join.UnitOf(s.tokens[u], nil))
		}
	}
	s.event(KindExposures, units)
	s.decide("orphan")
	s.run("feedback orphan:y=1")
	s.run("wait 1m")
	s.run("due")
	s.run("wait 1m5s")
	s.run("due")
	r, err := s.state.Report("ill")
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(r.Health.Problems, "; ")
	for _, want := range []string{"sample ratio mismatch", "missing feedback: y", "dead arm: b", "orphan feedback"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in %q", want, said)
		}
	}
	s.check()
}

// A guardrail on revenue without a cap says why it has no verdict; with a cap it has one.
func TestUndecided(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		form    string
		largest float64
		want    bool
	}{
		{"", 400, true},
		{"", 2, false},
		{", cap: 400", 400, false},
	} {
		s := newScenario(t)
		s.run("apply\nname: e\narms: [{name: a, value: 0}, {name: b, value: 1}]\ncontrol: {arm: a}\n" +
			"metrics: [{name: revenue" + c.form + "}]\nguardrails: [{metric: revenue, min: 0.01}]\n" +
			"policy: {kind: fixed, split: {a: 0.5, b: 0.5}}\nround: {length: 1h}\nattribution_window: 1h")
		// 40 of 1000 units of each arm buy for 1 but one of them, who buys for the largest amount.
		low, sum, squares := 0.0, 39+c.largest, 39+c.largest*c.largest
		event := api.Aggregate{Experiment: "e", Source: "test", Sequence: 1}
		for _, arm := range []string{"a", "b"} {
			event.Items = append(event.Items, api.AggregateItem{
				Version: 1, Arm: arm, Units: 1000, Metrics: map[string]api.Sums{
					"revenue": {N: 1000, Sum: sum, Squares: squares, Low: &low, High: &c.largest},
				},
			})
		}
		s.event(KindAggregate, event)
		r, err := s.state.Report("e")
		if err != nil {
			t.Fatal(err)
		}
		problems := strings.Join(r.Health.Problems, "\n")
		if got := strings.Contains(problems, "guardrail revenue: no verdict yet"); got != c.want {
			t.Errorf("revenue%s up to %v: problems %q", c.form, c.largest, problems)
		}
	}
}
