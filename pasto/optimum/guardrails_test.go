package optimum

import (
	"errors"
	"testing"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// If no mixture can hold the soft guardrails, the optimum reports the least violation.
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

func TestInfeasible(t *testing.T) {
	_, err := MaximizeHard(pastotest.Goals(t, 5, true, 3, 0.5),
		pastotest.Table(t, []float64{1, 2}, []float64{2, 1}, []float64{0, 1}))
	e, ok := errors.AsType[*Infeasible](err)
	if !ok {
		t.Fatalf("%v", err)
	}
	// y1 = 2q + (1−q), y2 = 1−q: violations 2−q and (q−½)₊, so any q in [½, 1] has the total 1.5,
	// which is the least possible.
	pastotest.Near(t, "least violation", e.Violation, 1.5, 1e-9)
	if err := CheckFeasible(pastotest.Goals(t, 5, false, 3),
		pastotest.Table(t, []float64{1, 2}, []float64{2, 1})); err == nil {
		t.Error("a soft guardrail that no mixture satisfies: no report")
	}
	if err := CheckFeasible(pastotest.Goals(t, 5, false, 2),
		pastotest.Table(t, []float64{1, 2}, []float64{2, 1})); err != nil {
		t.Error(err)
	}
	if _, _, err := BestSingle(pastotest.Goals(t, 5, true, 3),
		pastotest.Table(t, []float64{1, 2}, []float64{2, 1})); err == nil {
		t.Error("best single of an infeasible table")
	}
}
