package classify

import (
	"testing"

	"github.com/noregret/noregret/classify/measure"
)

// What the halves cost is counted: every pass over their rows, and what it takes to load them.
func TestHalvesCost(t *testing.T) {
	d := dependentRows(t, 4000, 20, 2, 1)
	a, err := newAutoFit(t.Context(), d, Options{Algorithm: Auto, Seed: 1, Measure: measure.QMean{}})
	if err != nil {
		t.Fatal(err)
	}
	a.budget = 1e12
	sample, err := a.draw(d, "sample", 1000)
	if err != nil {
		t.Fatal(err)
	}
	on, err := a.comparison(sample, division{2, 1}, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, algorithm := range []string{"logistic", a.usual()} {
		r := recipe{scale: scaleStandard, algorithm: algorithm, lambda: 1}
		a.work = 0
		steps := a.out.Cost.Steps
		whole, err := a.halves(r, on)
		if err != nil {
			t.Fatal(err)
		}
		if whole == nil || whole.rows != 4000 {
			t.Fatalf("%s: no halves of all rows", algorithm)
		}
		p := &a.price
		loading := float64(2 * p.rows * loadNumber * p.nonZeros)
		visits, visit, most := float64(a.out.Cost.Steps-steps), p.visit(p.columns, p.nonZeros, 0), 3.0
		if !isBatch(algorithm) {
			visit, most = p.stepping(features{}), 1.01
		}
		// A batch algorithm may have Hessians, too.
		if want := loading + visits*visit; visits == 0 || a.work < want/1.01 || a.work > most*want {
			t.Errorf("%s: the work is %.3g, want %.3g to %.3g: all visits, and to load the rows", algorithm,
				a.work, want, most*want)
		}
	}
}
