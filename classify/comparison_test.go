package classify

import (
	"math"
	"testing"
)

func TestBestPassesOverUndefined(t *testing.T) {
	all := func(string) bool { return true }
	for _, tc := range []struct {
		means []float64
		want  string
	}{
		{[]float64{math.NaN(), 0.2, 0.5}, "c"},
		{[]float64{0.2, math.NaN(), 0.1}, "a"},
		{[]float64{math.NaN(), math.NaN(), -0.5}, "c"},
		{[]float64{math.NaN(), math.NaN(), math.NaN()}, "a"},
	} {
		c := Comparison{}
		for i, m := range tc.means {
			c.Cells = append(c.Cells, Cell{Measure: "f1", Algorithm: string(rune('a' + i)), Mean: m})
		}
		if got := c.Best("f1", all); got == nil || got.Algorithm != tc.want {
			t.Errorf("%v: got %+v, want %s", tc.means, got, tc.want)
		}
		if got := c.Best("qmean", all); got != nil {
			t.Errorf("another measure: got %+v, want nil", got)
		}
	}
}

// By hand: differences .1, .3, .2 have mean .2 and variance .01; with tests half as large as
// training parts the standard error is √((1/3 + 1/2)·.01).
func TestCellOver(t *testing.T) {
	a, b := Cell{Values: []float64{.5, .6, .7}}, Cell{Values: []float64{.4, .3, .5}}
	d, se := a.Over(&b, 200, 100)
	if math.Abs(d-.2) > 1e-12 || math.Abs(se-math.Sqrt((1.0/3+.5)*.01)) > 1e-12 {
		t.Errorf("difference %v ± %v", d, se)
	}
	if d, se := b.Over(&a, 200, 100); math.Abs(d+.2) > 1e-12 || !(se > 0) {
		t.Errorf("the other way round: %v ± %v", d, se)
	}
	one := Cell{Values: []float64{.5}}
	if d, se := one.Over(&Cell{Values: []float64{.25}}, 2, 1); d != .25 || !math.IsNaN(se) {
		t.Errorf("one split: %v ± %v", d, se)
	}
	if d, _ := a.Over(&one, 2, 1); !math.IsNaN(d) {
		t.Error("cells of different splits have a difference")
	}
}
