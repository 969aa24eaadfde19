package convex_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/vec"
)

// Every proximal map against the definition: no nearby and no random point has a smaller f(x) +
// ½‖x−v‖².
func TestProximalMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := source(t)
		d := rapid.IntRange(2, 8).Draw(t, "d")
		v := normals(r, d, 2)
		k, k2 := 2*r.Float64(), r.Float64()
		split := 1 + r.IntN(d-1)
		group := must(convex.NewGroupNorm(split, d-split))
		most := group.Dual().(*convex.GroupNorm)
		box := must(convex.NewCube(d, -k, k))
		for name, p := range map[string]struct {
			prox func(dst, v []float64)
			f    func(x []float64) float64
		}{
			"l1": {func(dst, v []float64) {
				convex.ProxL1(dst, v, k)
			}, func(x []float64) float64 { return k * convex.L1.Of(x) }},
			"l2": {func(dst, v []float64) {
				convex.ProxL2(dst, v, 3*k)
			}, func(x []float64) float64 { return 3 * k * vec.Norm2(x) }},
			"squared l2": {func(dst, v []float64) {
				convex.ProxSquaredL2(dst, v, k)
			}, func(x []float64) float64 { return k / 2 * vec.Dot(x, x) }},
			"elastic net": {func(dst, v []float64) { convex.ProxElasticNet(dst, v, k, k2) }, func(x []float64) float64 {
				return k*convex.L1.Of(x) + k2/2*vec.Dot(x, x)
			}},
			"group": {func(dst, v []float64) {
				convex.ProxGroup(dst, v, group, k)
			}, func(x []float64) float64 { return k * group.Of(x) }},
			"group max": {func(dst, v []float64) {
				convex.ProxGroup(dst, v, most, 2*k)
			}, func(x []float64) float64 { return 2 * k * most.Of(x) }},
			"box": {func(dst, v []float64) { convex.ProxBox(dst, v, box) }, func(x []float64) float64 {
				if !box.Contains(x, 0) {
					return math.Inf(1)
				}
				return 0
			}},
		} {
			x := make([]float64, d)
			p.prox(x, v)
			in := slices.Clone(v)
			p.prox(in, in)
			if !slices.Equal(in, x) {
				t.Fatalf("%s: in place %v, otherwise %v", name, in, x)
			}
			objective := func(x []float64) float64 {
				g := vec.Norm2(sub(x, v))
				return p.f(x) + g*g/2
			}
			at := objective(x)
			for range 30 {
				y := normals(r, d, math.Pow(10, -4*r.Float64()))
				if r.IntN(3) == 0 { // along one coordinate, and to 0
					i := r.IntN(d)
					step := y[i]
					clear(y)
					y[i] = step
				}
				f := r.Float64()
				for i := range y {
					y[i] += x[i]
					if r.IntN(20) == 0 {
						y[i] = x[i] * f
					}
				}
				// ½‖x−y‖² of growth, as the objective is 1-strongly convex
				g := vec.Norm2(sub(x, y))
				if v := objective(y); v < at+g*g/2-1e-12*(1+at) {
					t.Fatalf("%s: %v at %v, but %v at %v", name, at, x, v, y)
				}
			}
		}
	})
	x := make([]float64, 3)
	convex.ProxL1(x, []float64{3, -0.5, -2}, 1)
	nearAll(t, "soft threshold", x, []float64{2, 0, -1}, 0)
	convex.ProxL2(x, []float64{0, 3, 4}, 2.5)
	nearAll(t, "shrink", x, []float64{0, 1.5, 2}, 1e-15)
}
