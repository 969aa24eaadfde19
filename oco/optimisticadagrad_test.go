package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
)

// TestOptimisticAdaGradWithoutHints: without hints it is proximal FTRL with an adaptive rate in
// each coordinate.
func TestOptimisticAdaGradWithoutHints(t *testing.T) {
	lower, upper := []float64{-1, 0, 5}, []float64{1, .5, 5}
	start := []float64{.3, .1, 5}
	l := must(NewOptimisticAdaGrad(must(convex.NewBox(lower, upper)), start))
	var parts []*ProximalFTRL
	for i := range 2 {
		one := must(convex.NewCube(1, lower[i], upper[i]))
		parts = append(parts, must(NewProximalFTRL(one, start[i:i+1], Adaptive((upper[i]-lower[i])*math.Sqrt2/2))))
	}
	r := random.New(2, "proximal")
	var want float64
	for k := range 100 {
		g := gradient(r, "gaussian", k, start, false)
		x := l.Predict()
		for i, p := range parts {
			near(t, "x", x[i], p.Predict()[0])
			if err := p.Update(g[i : i+1]); err != nil {
				t.Fatal(err)
			}
		}
		near(t, "a side of length 0", x[2], 5)
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range parts {
		want += math.Sqrt2 * (upper[i] - lower[i]) * p.state.Rate.Q.root()
	}
	near(t, "bound", bound(t, l, start), want)
}
