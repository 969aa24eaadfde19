package pasto

import (
	"errors"
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// Each guardrail keeps its own kind: the first is hard and the second soft. The oracle is spec 1.3:
// as a soft one with a large price λ a hard guardrail of price ν is worth ν²/(4λ) more.
func TestGuardrailsKeepTheirKind(t *testing.T) {
	m := table(t, []float64{1, .4, -.2, .1}, []float64{-.6, .3, .9, -.1}, []float64{.2, -.5, .3, .8})
	metrics := func(hard bool, lambda, soft float64) *Goals {
		g, err := NewGoals([]Metric{
			{Name: "x"},
			{Name: "a", Role: Guardrail, Threshold: .2, Lambda: lambda, Hard: hard},
			{Name: "b", Role: Guardrail, Threshold: .1, Lambda: 5},
		}, soft)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	for _, soft := range []float64{0, 2} {
		o, err := Maximize(metrics(true, 0, soft), m, SolverOptions{})
		if err != nil {
			t.Fatal(err)
		}
		const lambda = 5e5
		want, err := Maximize(metrics(false, lambda, soft), m, SolverOptions{Tolerance: 1e-8})
		if err != nil {
			t.Fatal(err)
		}
		near(t, "value", o.Value, want.Value-o.Prices[1]*o.Prices[1]/(4*lambda), 3e-8)
		near(t, "gap", o.Gap, 0, 1e-9)
		if o.Violations[1] > 1e-9 || o.Violations[2] < 1e-3 || o.Prices[2] != 0 || o.Prices[1] < .5 {
			t.Errorf("violations %v, prices %v: want the hard one held and the soft one traded off", o.Violations,
				o.Prices)
		}
		all, _ := MaximizeHard(metrics(true, 0, soft), m)
		if all.Violations[2] > 1e-9 || all.Value >= o.Value {
			t.Errorf("all hard: %+v", all)
		}
	}
}

// Every guardrail is held in its own units, whatever the units of the others (one tolerance for the
// largest of them would pass over the second here), and the objective of the certified optimum is
// finite.
func TestHardUnits(t *testing.T) {
	f, err := NewGoals([]Metric{
		{Name: "x"},
		{Name: "revenue", Role: Guardrail, Threshold: 1e9, Hard: true},
		{Name: "rate", Role: Guardrail, Threshold: 2e-6, Hard: true},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	o, err := Maximize(f, table(t, []float64{1, 0}, []float64{2e9, 1e9}, []float64{1e-6, 3e-6}), SolverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "value", o.Value, .5, 1e-9)
	for n, unit := range []float64{1e-9, 1e-3, 1, 1e5, 1e12} {
		r := random.New(uint64(n), "units")
		for range 50 {
			offset, rows := unit*3*Normal(r), [2][]float64{}
			for range 8 {
				rows[0] = append(rows[0], Normal(r))
				rows[1] = append(rows[1], offset+unit*Normal(r))
			}
			for _, c := range []float64{offset, 0} {
				f,
					_ := NewGoals([]Metric{
					{Name: "x"},
					{Name: "y", Role: Guardrail, Threshold: c, Hard: true, Slack: 1e-12 * unit},
				}, 0)
				m := table(t, rows[0], rows[1])
				o, err := Maximize(f, m, SolverOptions{})
				if err != nil {
					if _, ok := errors.AsType[*Infeasible](err); !ok {
						t.Fatal(err)
					}
					continue
				}
				theta := make([]float64, 2)
				m.Mean(theta, o.Mixture)
				if v := f.Value(theta); math.IsInf(v, -1) || v != o.Value {
					t.Errorf("unit %v: the objective of the optimum %v is %v, its violation %v", unit, o.Value, v,
						o.Violations)
				}
			}
		}
	}
}

// Soft guardrails that no mixture can hold: the optimum says so, with the least violation.
func TestInfeasibleSoft(t *testing.T) {
	o, err := Maximize(goals(t, 5, false, 3), toy(t), SolverOptions{})
	if err != nil || o.Infeasible == nil {
		t.Fatal(o, err)
	}
	near(t, "least violation", o.Infeasible.Violation, 1, 1e-12)
	if o, _ := Maximize(goals(t, 5, false, 0), toy(t), SolverOptions{}); o.Infeasible != nil {
		t.Error(o.Infeasible)
	}
	// Of two guardrails the violations are added in the metrics' units: (c − y)₊ of 100·(1−q) and
	// of q.
	f,
		_ := NewGoals([]Metric{
		{Name: "x"},
		{Name: "a", Role: Guardrail, Threshold: 100},
		{Name: "b", Role: Guardrail, Threshold: 1},
	}, 0)
	o, err = Maximize(f, table(t, []float64{0, 0}, []float64{100, 0}, []float64{0, 1}), SolverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "least total violation", o.Infeasible.Violation, 1, 1e-9)
}

// Rounds allocate nothing with hard guardrails too: of a linear reward, with soft guardrails beside
// and the soft minimum, with no room for caution, and where no mixture holds them.
func TestHardAllocatesNothing(t *testing.T) {
	mu, err := UniformTable(20, 4, 7)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		soft      float64
		threshold float64
		lambda    float64
	}{
		"linear": {0, .1, 0}, "soft beside": {0, .1, 3}, "soft minimum": {2, .1, 3}, "no room": {0, .55, 0},
		"infeasible": {0, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			metrics := []Metric{
				{Name: "x"},
				{Name: "y", Role: Guardrail, Hard: true, Threshold: c.threshold},
				{Name: "z", Role: Guardrail, Hard: true, Threshold: c.threshold - .2},
				{Name: "w"},
			}
			if c.lambda > 0 {
				metrics[3] = Metric{Name: "w", Role: Guardrail, Lambda: c.lambda, Threshold: .2}
			}
			f, err := NewGoals(metrics, c.soft)
			if err != nil {
				t.Fatal(err)
			}
			l, err := NewConfident(f, 20, ConfidentOptions{})
			if err != nil {
				t.Fatal(err)
			}
			r := random.New(1, "allocations")
			arms, obs, values := make([]int, 5), make([]Observation, 5), make([]float64, 20)
			solved := 0
			round := func() {
				l.Draw(r, arms)
				for q, k := range arms {
					row := values[4*q : 4*q+4]
					for i, v := range mu.Arm(k) {
						row[i] = v + .5*Normal(r)
					}
					obs[q] = Observation{Arm: k, Metrics: row}
				}
				before := l.s.Next
				if err := l.Observe(obs); err != nil {
					t.Fatal(err)
				}
				if l.s.Next != before {
					solved++
				}
			}
			for range 2000 {
				round()
			}
			solved = 0
			many := func() { // AllocsPerRun rounds down: of one run of many rounds nothing is lost
				for range 1000 {
					round()
				}
			}
			if n := testing.AllocsPerRun(1, many); n != 0 {
				t.Errorf("%v allocations in 1,000 rounds", n)
			}
			if solved < 5 {
				t.Errorf("%d solutions: the test sees nothing", solved)
			}
		})
	}
}
