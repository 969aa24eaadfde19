package oco

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/convex"
	"pgregory.net/rapid"
)

// TestAnytime checks that with the same convex function F in all rounds the last point has F(w_T) −
// F(u) ≤ Bound(u)/Σα, not only in expectation.
func TestAnytime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d, n, _ := drawGame(t, 8, 200)
		set := must(convex.NewCube(d, -1, 1))
		for _, alpha := range []Alpha{UniformAlpha(), LinearAlpha(), InverseSqrtAlpha(2)} {
			l := must(NewAnytime(descent(set, nil, Adaptive(set.Diameter()*math.Sqrt2/2)), alpha))
			u := pointIn(r, set)
			F := func(x []float64) (s float64) { // Σ i·|x_i − u_i|, least at u
				for i, v := range x {
					s += float64(i+1) * math.Abs(v-u[i])
				}
				return s
			}
			var total float64
			var w []float64
			for k := range n {
				w = slices.Clone(l.Predict())
				g := make([]float64, d)
				for i, v := range w {
					g[i] = float64(i+1) * math.Copysign(1, v-u[i])
				}
				if err := l.Update(g); err != nil {
					t.Fatal(err)
				}
				total += alpha.f(k + 1)
			}
			if b := must(l.Bound(u)) / total; F(w) > b+1e-9*math.Abs(b) {
				t.Fatalf("alpha %s: F(w_%d) = %v is above %v", alpha.name, n, F(w), b)
			}
		}
	})
}
