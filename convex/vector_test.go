package convex_test

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/vec"
	"pgregory.net/rapid"
)

func TestVectors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := source(t)
		d := rapid.IntRange(1, 40).Draw(t, "d")
		theta := normals(r, d, math.Pow(10, float64(r.IntN(4))))
		top, sum := theta[0], 0.0
		for _, v := range theta {
			top = max(top, v)
		}
		for _, v := range theta {
			sum += math.Exp(v - top)
		}
		if got := convex.LogSumExp(theta); math.Abs(got-top-math.Log(sum)) > 1e-13*(1+math.Abs(top)) {
			t.Fatalf("LSE = %v, want %v", got, top+math.Log(sum))
		}
		x := make([]float64, d)
		convex.Softmax(x, theta)
		for i, v := range theta {
			if math.Abs(x[i]-math.Exp(v-top)/sum) > 1e-14 {
				t.Fatalf("softmax %v of %v", x, theta)
			}
		}
		if !must(convex.NewSimplex(d)).Contains(x, 0) {
			t.Fatalf("softmax %v is not on the simplex", x)
		}
	})
	near(t, "huge", convex.LogSumExp([]float64{1e6, 1e6}), 1e6+math.Ln2, 1e-15)
	near(t, "norm", vec.Norm2([]float64{3e300, 4e300})/1e300, 5, 1e-15)
	near(t, "norm", vec.Norm2([]float64{3e-320, 4e-320})/1e-320, 5, 1e-3)
	near(t, "norm", vec.Norm2([]float64{math.MaxFloat64, 0}), math.MaxFloat64, 1e-15)
	if !math.IsInf(vec.Norm2([]float64{math.Inf(-1), 1}), 1) {
		t.Error("norm of an infinite vector")
	}
}
