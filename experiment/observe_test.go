package experiment

import (
	"math"
	"testing"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/experiment/report"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/policy"
)

// observed returns a roster with a control arm and another one, with these values of a unit by arm:
// the metrics x, n and d, of which r is the ratio n/d.
func observed(t *testing.T, guardrails string, values [2][][3]float64) *roster {
	t.Helper()
	d, err := definition.Parse("d", []byte("name: e\narms: [{name: c, value: 0}, {name: a, value: 1}]\n"+
		"control: {arm: c, share: 0.2}\nmetrics: [{name: x, range: [-10, 10]}, {name: n}, {name: d}, {name: k, "+
		"kind: count}, {name: r, kind: ratio, numerator: n, denominator: d}]\nobjective: {goals: [{metric: x}]}\n"+
		"guardrails: ["+guardrails+"]"))
	if err != nil {
		t.Fatal(err)
	}
	x := &roster{def: d, Control: -1, sums: join.New(nil, d)}
	for i, a := range []string{"c", "a"} {
		x.sums.AddArm(d)
		x.push(policy.Arm{Name: a}, i == 0, 0)
		s := &x.sums.Arms[i]
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
	return x
}

var observedValues = [2][][3]float64{
	{{1, 2, 5}, {3, 4, 7}, {-1, 3, 6}},
	{{4, 1, 8}, {2, 5, 9}},
}

// TestRawValues checks that what the learner makes of raw values, compared with the limit or with
// the control arm, is the slack of the guardrail, whether it is a mean or a ratio, up or down,
// absolute or a change, hard or soft.
func TestRawValues(t *testing.T) {
	for _, guardrail := range []string{
		"{metric: x, min: 0.5}", "{metric: x, max: 2}", "{metric: x, min_change: -0.1}", "{metric: x, max_change: 0.3}",
		"{metric: r, min: 0.4}", "{metric: r, max: 0.5}", "{metric: r, min_change: -0.1}",
		"{metric: r, max_change: 0.2}", "{metric: r, max: 0}", "{metric: x, min: 0}",
	} {
		for _, hard := range []string{"}", ", hard: false}"} {
			x := observed(t, guardrail[:len(guardrail)-1]+hard, observedValues)
			round := x.observations([]armStats{x.sums.Arms[0], x.sums.Arms[1]}, nil)
			if len(round) != 2 {
				t.Fatalf("%s%s: %d observations", guardrail, hard, len(round))
			}
			for k := range round {
				want := make([]float64, 2)
				if !report.GoalVector(want, x.def, &x.sums.Arms[k], x.controlStats(), x.reference()) {
					t.Fatal("no slack")
				}
				got, m := make([]float64, 2), &x.learned.Metrics()[1]
				if err := x.learned.Contrast(got, round[k].Metrics, round[0].Metrics); err != nil {
					t.Fatal(err)
				}
				slack := m.Direction.Sign() * (got[1] - m.Limit())
				if math.Abs(got[0]-want[0]) > 1e-12 || math.Abs(slack-want[1]) > 1e-12 {
					t.Errorf("%s%s, arm %d: goal %v and slack %v, want %v", guardrail, hard, k, got[0], slack, want)
				}
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
		x := observed(t, guardrail+", hard: false, penalty: 7}", observedValues)
		theta := make([]float64, 2)
		if !report.GoalVector(theta, x.def, &x.sums.Arms[1], x.controlStats(), x.reference()) {
			t.Fatal("no slack")
		}
		want := 3 - 7*violation*violation
		if got := x.goals.Value(theta); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: the value is %v, want %v", guardrail, got, want)
		}
		round := x.observations([]armStats{x.sums.Arms[0], x.sums.Arms[1]}, nil)
		if err := x.learned.Contrast(theta, round[1].Metrics, round[0].Metrics); err != nil {
			t.Fatal(err)
		}
		if got := x.learned.Value(theta); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: the learner's value is %v, want %v", guardrail, got, want)
		}
	}
}

// TestObservedVariances checks that an observation has the variance of one unit such that, divided
// by the number of units, it is that of the mean: units without a value and units that return raise
// it. It is unknown of one value, and of values that are all the same; counts of 0 have that of one
// event.
func TestObservedVariances(t *testing.T) {
	x := observed(t, "{metric: r, max: 0.5}, {metric: k, max: 2}", observedValues)
	stats := []armStats{x.sums.Arms[0].Copy(), x.sums.Arms[1].Copy()}
	stats[0].Units = 6 // of which 3 have values
	round := x.observations(stats, []float64{2, 1, 1, 1, 1})
	s := x.sums.Arms[0].Metrics[0]
	if got, want := round[0].Variances[0]/6, 2*s.Variance()/3; math.Abs(got-want) > 1e-12 {
		t.Errorf("the variance of the mean is %v, want %v", got, want)
	}
	r := x.sums.Arms[0].Pairs[0].Contrast(0.5)
	if got, want := round[0].Variances[1]/6, r.Variance()/3; math.Abs(got-want) > 1e-12 {
		t.Errorf("the variance of the ratio's mean is %v, want %v", got, want)
	}
	if got, want := round[0].Variances[2]/6, 1.0/9; math.Abs(got-want) > 1e-12 {
		t.Errorf("the variance of a count of 0 is %v, want %v", got, want)
	}
	stats[1].Metrics[0] = confseq.Repeated(1, 2)
	stats[1].Pairs[0] = confseq.FromParts(confseq.Repeated(2, 1), confseq.Repeated(2, 3), 0)
	round = x.observations(stats, nil)
	if v := round[1].Variances; vec.IsFinite(v[0]) || vec.IsFinite(v[1]) {
		t.Errorf("the variances are %v, want unknown ones", v)
	}
}
