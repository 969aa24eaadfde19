package box

import (
	"math"
	"testing"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/optimum"
)

// Wrong arguments of functions that take vectors are errors, not panics.
func TestWrongArguments(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	_, err := optimum.Gap(f, pastotest.Toy(t), []float64{1})
	pastotest.Same(t, err, "mixture: it has 1 values: want 2")
	_, err = optimum.Gap(f, nil, []float64{1})
	pastotest.Same(t, err, "means: none: want a table")
	_, err = optimum.Gap(nil, pastotest.Toy(t), []float64{1, 0})
	pastotest.Same(t, err, "objective: nil: want an objective")
	_, err = optimum.Gap(pastotest.Goals(t, 5, true, 0), pastotest.Toy(t), []float64{1, 0})
	pastotest.Same(t, err, "objective: it has a hard guardrail, which has no gradient: Maximize certifies such by "+
		"dual prices")
	pastotest.Same(t, f.Contrast(nil, []float64{1, 1}, nil), "dst: 0 values: want 2")
	forbidden := &pasto.Utility{Name: "wall", Metrics: 2, U: func([]float64) float64 {
		return math.Inf(-1)
	}, DU: func(d, _ []float64) { clear(d) }}
	_, _, err = optimum.BestSingle(forbidden, pastotest.Toy(t))
	pastotest.Same(t, err, `means: utility "wall": it is -Inf, which is forbidden, at each of the 2 arms`)
	if _, err := New(f, []float64{-1.7e308}, []float64{1.7e308}, DefaultOptions(1)); err == nil {
		t.Error("a box whose side is not finite")
	}
	_,
		err = pasto.NewGoals([]pasto.Metric{
		{Name: "x"},
		{Name: "y", Role: pasto.Guardrail, Relative: true, Threshold: 1e300},
	}, 0)
	pastotest.Same(t, err,
		`metrics[1]: threshold 1e+300 of "y": want a fraction of the control's value, from -1e+06 to 1e+06`)
}
