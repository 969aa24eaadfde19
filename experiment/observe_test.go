package experiment

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/report"
	"github.com/noregret/noregret/policy"
)

// observed returns a roster with a control arm and another one, and their sums of these values of a
// unit by arm: the metrics x, n and d, of which r is the ratio n/d.
func observed(t *testing.T, guardrails string, values [2][][3]float64) (*roster, []compare.Stats) {
	t.Helper()
	d, err := definition.Parse("d", []byte("name: e\narms: [{name: c, value: 0}, {name: a, value: 1}]\n"+
		"control: {arm: c, share: 0.2}\nmetrics: [{name: x, range: [-10, 10]}, {name: n}, {name: d}, {name: k, "+
		"kind: count}, {name: r, kind: ratio, numerator: n, denominator: d}]\nobjective: {goals: [{metric: x}]}\n"+
		"guardrails: ["+guardrails+"]"))
	if err != nil {
		t.Fatal(err)
	}
	x, arms := &roster{def: d, Control: -1}, []compare.Stats{compare.NewStats(d), compare.NewStats(d)}
	for i, a := range []string{"c", "a"} {
		x.push(policy.Arm{Name: a}, i == 0, 0)
		s := &arms[i]
		for _, v := range values[i] {
			s.Units++
			for m, y := range v {
				if err := s.Metrics[m].Add(y); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Metrics[3].Add(0); err != nil {
				t.Fatal(err)
			}
			s.Pairs[0].Add(v[1], v[2])
		}
	}
	if err := x.setGoals(); err != nil {
		t.Fatal(err)
	}
	return x, arms
}

var observedValues = [2][][3]float64{
	{{1, 2, 5}, {3, 4, 7}, {-1, 3, 6}},
	{{4, 1, 8}, {2, 5, 9}},
}

// TestSlackOfControl checks that the slack of the control arm that the policy goes by is that of
// the guardrail, whether it is a mean or a ratio, up or down, absolute or a change.
func TestSlackOfControl(t *testing.T) {
	for _, guardrail := range []string{
		"{metric: x, min: 0.5}", "{metric: x, max: 2}", "{metric: x, min_change: -0.1}", "{metric: x, max_change: 0.3}",
		"{metric: r, min: 0.4}", "{metric: r, max: 0.5}", "{metric: r, min_change: -0.1}",
		"{metric: r, max_change: 0.2}", "{metric: r, max: 0}", "{metric: x, min: 0}",
	} {
		for _, sign := range []float64{1, -1} {
			values := observedValues
			for i := range values {
				values[i] = slices.Clone(values[i])
				for j := range values[i] {
					values[i][j][0] *= sign
				}
			}
			x, arms := observed(t, guardrail, values)
			store, err := newStore(x.def, 2)
			if err != nil {
				t.Fatal(err)
			}
			l, err := newMixtureLearner(x, store)
			if err != nil {
				t.Fatal(err)
			}
			store.AddVersion(x.def, x.def.MetricIndices(), x.Control, arms, nil)
			want := make([]float64, 2)
			if !report.GoalVector(want, x.def, &arms[0], &arms[0], report.Reference(x.def, arms, x.Control)) {
				t.Fatal("no slack")
			}
			if strings.Contains(guardrail, "metric: r") {
				want[1] /= arms[0].Pairs[0].Y
			}
			s := l.proposal().Guardrails[0]
			if !s.Known || math.Abs(s.Control-want[1]) > 1e-9 {
				t.Errorf("%s, sign %v: slack %+v, want %v", guardrail, sign, s, want[1])
			}
		}
	}
}

// TestPriceOfViolation checks that the price of a violation is the penalty times its square, in
// units of the limit or of the control's mean: it depends neither on the metric's units nor on the
// form of the goals.
func TestPriceOfViolation(t *testing.T) {
	// The mean is 3, that of the control arm 1.
	for guardrail, violation := range map[string]float64{
		"{metric: x, min: 4": 0.25, "{metric: x, max: 2": 0.5,
		"{metric: x, min_change: 2.5": 0.5, "{metric: x, max_change: 1": 1,
		"{metric: x, max: 0":   3,
		"{metric: r, min: 0.5": (0.5*8.5 - 3) / 6 / 0.5,
	} {
		x, arms := observed(t, guardrail+", hard: false, penalty: 7}", observedValues)
		theta := make([]float64, 2)
		if !report.GoalVector(theta, x.def, &arms[1], &arms[0], report.Reference(x.def, arms, x.Control)) {
			t.Fatal("no slack")
		}
		want := 3 - 7*violation*violation
		if got := x.goals.Value(theta); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: the value is %v, want %v", guardrail, got, want)
		}
	}
}
