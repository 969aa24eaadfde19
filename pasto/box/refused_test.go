package box

import (
	"testing"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/confident"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/optimum"
)

// absent is an objective that embeds nil goals.
type absent struct{ *pasto.Goals }

// Nil objectives, tables and mixtures are errors and no panics.
func TestNil(t *testing.T) {
	mu := pastotest.Toy(t)
	for _, f := range []pasto.Objective{nil, (*pasto.Goals)(nil), (*pasto.Utility)(nil), absent{}} {
		_, _, e1 := optimum.BestSingle(f, mu)
		_, e2 := optimum.Maximize(f, mu, optimum.DefaultOptions())
		_, e3 := confident.New(f, 2, confident.DefaultOptions())
		_, e4 := New(f, []float64{0}, []float64{1}, DefaultOptions(1))
		e5 := pasto.CheckConcave(f, []float64{0}, []float64{1}, 1, 1)
		for _, err := range []error{e1, e2, e3, e4, e5} {
			pastotest.Same(t, err, "objective: nil: want an objective")
		}
	}
	_, e1 := optimum.MaximizeHard(nil, mu)
	pastotest.Same(t, e1, "objective: nil: want an objective")
	pastotest.Same(t, optimum.CheckFeasible(nil, mu), "objective: nil: want an objective")
	f := pastotest.Goals(t, 5, false, 0)
	_, _, err := optimum.BestSingle(f, nil)
	pastotest.Same(t, err, "means: none: want a table")
	_, _, err = optimum.BestSingle(f, &pasto.Table{})
	pastotest.Same(t, err, "means: none: want a table")
	big := pastotest.Toy(t)
	big.Arm(1)[0] = 1e200
	_, err = optimum.Maximize(f, big, optimum.DefaultOptions())
	pastotest.Same(t, err, "means[0][1]: 1e+200: want a finite number, of size at most 1e+100")
}

// What does not hold is not there: nodes of a continuous learner come and go by its search alone.
func TestContinuousMethods(t *testing.T) {
	var l any = &Learner{}
	if _, ok := l.(pasto.Roster); ok {
		t.Error("AddArm")
	}
	if _, ok := l.(interface{ RetireArm(int) error }); ok {
		t.Error("RetireArm")
	}
	if _, ok := l.(pasto.Rand); ok {
		t.Error("Float64")
	}
}
