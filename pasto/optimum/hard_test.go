package optimum

import (
	"errors"
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// Each guardrail keeps its own kind: the first is hard and the second soft. The oracle is
// as a soft one with a large price λ a hard guardrail of price ν is worth ν²/(4λ) more.
func TestGuardrailsKeepTheirKind(t *testing.T) {
	m := pastotest.Table(t, []float64{1, .4, -.2, .1}, []float64{-.6, .3, .9, -.1}, []float64{.2, -.5, .3, .8})
	metrics := func(hard bool, lambda, soft float64) *pasto.Goals {
		g, err := pasto.NewGoals([]pasto.Metric{
			{Name: "x"},
			{Name: "a", Role: pasto.Guardrail, Threshold: .2, Lambda: lambda, Hard: hard},
			{Name: "b", Role: pasto.Guardrail, Threshold: .1, Lambda: 5},
		}, soft)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	for _, soft := range []float64{0, 2} {
		o, err := Maximize(metrics(true, 0, soft), m, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		const lambda = 5e5
		want, err := Maximize(metrics(false, lambda, soft), m, Options{Tolerance: 1e-8, Iterations: 200_000})
		if err != nil {
			t.Fatal(err)
		}
		pastotest.Near(t, "value", o.Value, want.Value-o.Prices[1]*o.Prices[1]/(4*lambda), 3e-8)
		pastotest.Near(t, "gap", o.Gap, 0, 1e-9)
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
	f, err := pasto.NewGoals([]pasto.Metric{
		{Name: "x"},
		{Name: "revenue", Role: pasto.Guardrail, Threshold: 1e9, Hard: true},
		{Name: "rate", Role: pasto.Guardrail, Threshold: 2e-6, Hard: true},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	o, err := Maximize(f, pastotest.Table(t, []float64{1, 0}, []float64{2e9, 1e9}, []float64{1e-6, 3e-6}),
		DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	pastotest.Near(t, "value", o.Value, .5, 1e-9)
	for n, unit := range []float64{1e-9, 1e-3, 1, 1e5, 1e12} {
		r := random.New(uint64(n), "units")
		for range 50 {
			offset, rows := unit*3*stat.Normal(r), [2][]float64{}
			for range 8 {
				rows[0] = append(rows[0], stat.Normal(r))
				rows[1] = append(rows[1], offset+unit*stat.Normal(r))
			}
			for _, c := range []float64{offset, 0} {
				f,
					_ := pasto.NewGoals([]pasto.Metric{
					{Name: "x"},
					{Name: "y", Role: pasto.Guardrail, Threshold: c, Hard: true, Slack: 1e-12 * unit},
				}, 0)
				m := pastotest.Table(t, rows[0], rows[1])
				o, err := Maximize(f, m, DefaultOptions())
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
	o, err := Maximize(pastotest.Goals(t, 5, false, 3), pastotest.Toy(t), DefaultOptions())
	if err != nil || o.Infeasible == nil {
		t.Fatal(o, err)
	}
	pastotest.Near(t, "least violation", o.Infeasible.Violation, 1, 1e-12)
	if o, _ := Maximize(pastotest.Goals(t, 5, false, 0), pastotest.Toy(t), DefaultOptions()); o.Infeasible != nil {
		t.Error(o.Infeasible)
	}
	// Of two guardrails the violations are added in the metrics' units: (c − y)₊ of 100·(1−q) and
	// of q.
	f,
		_ := pasto.NewGoals([]pasto.Metric{
		{Name: "x"},
		{Name: "a", Role: pasto.Guardrail, Threshold: 100},
		{Name: "b", Role: pasto.Guardrail, Threshold: 1},
	}, 0)
	o, err = Maximize(f, pastotest.Table(t, []float64{0, 0}, []float64{100, 0}, []float64{0, 1}), DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	pastotest.Near(t, "least total violation", o.Infeasible.Violation, 1, 1e-9)
}
