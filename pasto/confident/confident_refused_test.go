package confident

import (
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/optimum"
)

// A guardrail that no mixture can satisfy is reported with the least violation: by the exact
// solver, hard or soft, and by the default while it learns.
func TestInfeasibleReported(t *testing.T) {
	const want = `guardrails: infeasible: no mixture holds the guardrails; the least total violation is 1 ("a" by 1)`
	_, err := optimum.Maximize(pastotest.Goals(t, 5, true, 3), pastotest.Toy(t), optimum.DefaultOptions())
	pastotest.Same(t, err, want)
	pastotest.Same(t, optimum.CheckFeasible(pastotest.Goals(t, 5, false, 3), pastotest.Toy(t)), want)
	for _, hard := range []bool{false, true} {
		l, err := New(pastotest.Goals(t, 5, hard, 3), 2, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		if least, sure := l.Infeasible(); least != nil || sure {
			t.Error("it knows before it has seen anything")
		}
		pastotest.Play(t, l, pastotest.Toy(t), 2, 2000, 1, random.New(1, "test"))
		least, sure := l.Infeasible()
		if least == nil || !sure {
			t.Fatalf("hard %v: %v, sure %v", hard, least, sure)
		}
		pastotest.Near(t, "least violation", least.Violation, 1, .1)
		pastotest.Near(t, "arm of least violation", least.Mixture[1], 1, 1e-9)
		pastotest.Near(t, "deployed", l.Deployed()[1], 1, .05)
		l, _ = New(pastotest.Goals(t, 5, hard, 1), 2, DefaultOptions())
		pastotest.Play(t, l, pastotest.Toy(t), 2, 2000, 1, random.New(1, "test"))
		if least, sure := l.Infeasible(); least != nil || sure {
			t.Errorf("hard %v: a guardrail that can be held is reported: %v", hard, least)
		}
	}
}
