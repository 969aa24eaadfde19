package convex_test

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
)

// TestProductConvexity checks that a product stays strongly convex when its factors are strongly
// convex in different norms.
func TestProductConvexity(t *testing.T) {
	simplex := must(convex.NewSimplex(2))
	box := must(convex.NewCube(2, 0, 4))
	mixed := must(convex.NewProduct(simplex, box))
	nested := must(convex.NewProduct(must(convex.NewProduct(box, simplex)), simplex))
	weights := []float64{0.5, 2, 3, 4}
	diagonal := must(convex.NewDiagonalQuadratic(weights))
	own := must(convex.NewDiagonalNorm(weights))
	for _, tc := range []struct {
		m      convex.MirrorMap
		s      convex.Set
		lambda float64
		norm   convex.Norm
	}{
		{must(convex.NewNegativeEntropy(4)), mixed, 0.25, convex.L2},
		{must(convex.NewUnnormalizedEntropy(4)), mixed, 0.25, convex.L2},
		{must(convex.NewNegativeEntropy(6)), nested, 0.25, convex.L2},
		{must(convex.NewTsallis(4, 0.5)), mixed, 0.0625, convex.L2},
		{must(convex.NewLogBarrier(4)), mixed, 0.0625, convex.L2},
		{must(convex.NewNegativeEntropy(4)), must(convex.NewProduct(simplex, simplex)), 0.5, convex.L1},
		{must(convex.NewNegativeEntropy(4)), must(convex.NewProduct(box, box)), 0.25, convex.L2},
		{
			must(convex.NewNegativeEntropy(4)), must(convex.NewProduct(simplex, must(convex.NewOrthant(2)))), 0,
			convex.L2,
		},
		{diagonal, mixed, 1, own},
		{diagonal, must(convex.NewProduct(must(convex.NewCenteredBall(3, 1)), must(convex.NewSpace(1)))), 1, own},
	} {
		reg, err := convex.Restrict(tc.m, tc.s)
		if err != nil {
			t.Fatal(err)
		}
		lambda, norm := reg.StrongConvexity()
		if !(math.Abs(lambda-tc.lambda) <= 1e-15) || norm.String() != tc.norm.String() {
			t.Errorf("%s: strong convexity %v in %s, want %v in %s", reg, lambda, norm, tc.lambda, tc.norm)
		}
		// The claim itself: B(x; y) ≥ (λ/2)‖x−y‖² for members.
		r := newRand(8)
		for range 300 {
			x, y := member(tc.s, r), member(tc.s, r)
			if !tc.m.Interior(y) {
				continue
			}
			size := norm.Of(sub(x, y))
			if b := tc.m.Divergence(x, y); b < lambda/2*size*size*(1-1e-9) {
				t.Fatalf("%s: B(%v; %v) = %v < %v/2·%v²", reg, x, y, b, lambda, size)
			}
		}
	}
}
