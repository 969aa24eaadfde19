package oco

import (
	"math"
	"testing"
)

// TestScaleFreeHedgeDefaultAlpha: max(4, 2^{−1/4}·√ln d) is 4 for every d that fits in memory (the
// other branch begins at d = e^{16√2}, 6.7e9), with bound (ln d/α + √2·α)·√Q.
func TestScaleFreeHedgeDefaultAlpha(t *testing.T) {
	for _, d := range []int{1, 2, 1000, 1 << 20} {
		l := must(NewScaleFreeHedge(d, DefaultScaleFreeHedgeAlpha(d)))
		g, u := make([]float64, d), make([]float64, d)
		g[0], u[d-1] = 3, 1
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
		near(t, "bound", bound(t, l, u), 3*(math.Log(float64(d))/4+4*math.Sqrt2))
		if x := l.Predict(); d > 1 { // θ/√Q = (−1, 0, ...)
			near(t, "x", x[0]/x[1], math.Exp(-4))
		}
	}
}
