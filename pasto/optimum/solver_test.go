package optimum

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto/internal/instance"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// The number of steps is bounded whatever the units of the guardrail, and the optimum is exact up
// to rounding. For a threshold s the mixture q of two arms has x = q and y = (1.2 − 0.3q)·s, and
// the best violation is 1/(3s).
func TestMaximizeUnits(t *testing.T) {
	for s := 1.0; s <= 1e8; s *= 10 {
		for _, shift := range []float64{1.0000001, 3.7, 1}[:testsize.Of(3, 1)] {
			c := s * shift
			f := pastotest.Goals(t, 5, false, c)
			means := pastotest.Table(t, []float64{1, 0, .3}, []float64{.9 * c, 1.2 * c, c})
			p := []float64{1, 0, 0}
			w := NewSolver(f, means)
			gap, used := w.Solve(p, 1e-9, 200_000)
			if used > 2000 || w.passes > 2001 || w.corrections > 600_000 {
				t.Errorf("s = %v: %d iterations, %d passes, %d corrections", c, used, w.passes, w.corrections)
			}
			o, err := Maximize(f, means, DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			if v := 1 / (3 * c); c >= 10 { // below, arm 0 alone is best
				pastotest.Near(t, "value", o.Value, 2./3+v/.3/c-5*v*v, 1e-9)
			}
			honest, err := Gap(f, means, o.Mixture)
			if err != nil || o.Gap != max(honest, 0) {
				t.Errorf("s = %v: a gap of %v, and %v by itself (%v)", c, o.Gap, honest, err)
			}
			if most := max(1e-9, 1e-14*c*c); !(gap <= most) || !(o.Gap <= most) {
				t.Errorf("s = %v: gaps of %v and %v, want at most %v", c, gap, o.Gap, most)
			}
		}
	}
}

// The number of corrections is bounded for every problem.
func TestMostCorrections(t *testing.T) {
	means, err := instance.Uniform(200, 6, 5)
	if err != nil {
		t.Fatal(err)
	}
	f := pastotest.Goals(t, 1e6, false, .3, .3, .3, .3, .3)
	p := make([]float64, 200)
	p[0] = 1
	w := NewSolver(f, means)
	gap, used := w.Solve(p, math.SmallestNonzeroFloat64, 3)
	if used > 3 || w.corrections > mostCorrections(3) || !(gap >= 0) {
		t.Errorf("%d iterations, %d corrections, a gap of %v", used, w.corrections, gap)
	}
	if mostCorrections(200_000) > 2_000_000 {
		t.Error("the bound on corrections is too large")
	}
}

func TestReduceSupport(t *testing.T) {
	m, _ := instance.Uniform(50, 4, 3)
	p := make([]float64, 50)
	for k := range p {
		p[k] = 1.0 / 50
	}
	before, after := make([]float64, 4), make([]float64, 4)
	m.Mean(before, p)
	ReduceSupport(m, p)
	m.Mean(after, p)
	n := 0
	for _, w := range p {
		if w > 0 {
			n++
		}
	}
	if n > 5 {
		t.Errorf("%d atoms", n)
	}
	for i := range before {
		pastotest.Near(t, "mean", after[i], before[i], 1e-12)
	}
}
