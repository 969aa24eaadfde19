package convex_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/vec"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

var normKinds = []struct {
	name string
	make func(r *rand.Rand, d int) convex.Norm
}{
	{"l1", func(*rand.Rand, int) convex.Norm { return convex.L1 }},
	{"l2", func(*rand.Rand, int) convex.Norm { return convex.L2 }},
	{"linf", func(*rand.Rand, int) convex.Norm { return convex.LInf }},
	{"lp", func(r *rand.Rand, _ int) convex.Norm { return must(convex.NewLp(1.05 + 5*r.Float64())) }},
	{"matrix", func(r *rand.Rand, d int) convex.Norm { return must(convex.NewMatrixNorm(spd(r, d, 4))) }},
	{"diagonal", func(r *rand.Rand, d int) convex.Norm { return must(convex.NewDiagonalNorm(positives(r, d))) }},
	{"group", func(r *rand.Rand, d int) convex.Norm {
		k := 1 + r.IntN(d)
		if k == d {
			return must(convex.NewGroupNorm(d))
		}
		return must(convex.NewGroupNorm(k, d-k))
	}},
}

// Norm axioms, ⟨θ,x⟩ ≤ ‖θ‖*‖x‖ with the supremum reached (Remark 4.17), and the dual of the dual.
func TestNorms(t *testing.T) {
	for _, kind := range normKinds {
		t.Run(kind.name, rapid.MakeCheck(func(t *rapid.T) {
			r := source(t)
			d := dim(t)
			n := kind.make(r, d)
			dual := n.Dual()
			x, y := normals(r, d, 1), normals(r, d, 1)
			sum := make([]float64, d)
			for i := range x {
				sum[i] = x[i] + y[i]
			}
			if n.Of(sum) > (n.Of(x)+n.Of(y))*(1+1e-12) {
				t.Fatalf("%s: no triangle inequality", n)
			}
			if v := vec.Dot(x, y); v > n.Of(x)*dual.Of(y)*(1+1e-12) {
				t.Fatalf("%s: ⟨x,y⟩ = %v > %v", n, v, n.Of(x)*dual.Of(y))
			}
			if g := n.Dual().Dual().Of(x); math.Abs(g-n.Of(x)) > 1e-12*n.Of(x) {
				t.Fatalf("%s: the dual of the dual gives %v, want %v", n, g, n.Of(x))
			}
			if n.Dual().Dual().String() != n.String() && kind.name != "matrix" && kind.name != "diagonal" {
				t.Fatalf("%s became %s", n, n.Dual().Dual())
			}
			// ∇‖x‖ by differences has dual norm 1 where the norm is smooth, and ⟨∇‖x‖, x⟩ = ‖x‖
			g := make([]float64, d)
			for i := range x {
				h := 1e-6
				old := x[i]
				x[i] = old + h
				up := n.Of(x)
				x[i] = old - h
				g[i] = (up - n.Of(x)) / (2 * h)
				x[i] = old
			}
			if math.Abs(dual.Of(g)-1) > 1e-3 && kind.name != "l1" && kind.name != "linf" && kind.name != "lp" {
				t.Fatalf("%s: the gradient %v has dual norm %v, want 1", n, g, dual.Of(g))
			}
			for _, big := range []float64{1e200, 1e-200} {
				scaled := make([]float64, d)
				for i := range x {
					scaled[i] = x[i] * big
				}
				if got := n.Of(scaled) / big; math.Abs(got-n.Of(x)) > 1e-12*n.Of(x) {
					t.Fatalf("%s: at scale %v: %v, want %v", n, big, got, n.Of(x))
				}
			}
			if regular, ok := n.(convex.Regular); ok && regular.Regularity() > 0 {
				// ½‖(x+y)/2‖² ≤ ½(½‖x‖²+½‖y‖²) − (λ/8)‖x−y‖²
				left := n.Of(sum) * n.Of(sum) / 8
				right := (n.Of(x)*n.Of(x) + n.Of(y)*n.Of(y)) / 4
				if diff := n.Of(sub(x, y)); left > right-regular.Regularity()/8*diff*diff+1e-12*right {
					t.Fatalf("%s: ½‖·‖² is not %v-strongly convex", n, regular.Regularity())
				}
			}
		}))
	}
}

func TestNormValues(t *testing.T) {
	x := []float64{3, -4}
	for _, tc := range []struct {
		n    convex.Norm
		want float64
		name string
	}{
		{convex.L1, 7, "l1"},
		{convex.L2, 5, "l2"},
		{convex.LInf, 4, "linf"},
		{must(convex.NewLp(3)), math.Cbrt(91), "l3"},
		{must(convex.NewLp(1.5)).Dual(), math.Cbrt(91), "l3"},
		{must(convex.NewGroupNorm(1, 1)), 7, "group[1 1]"},
		{must(convex.NewGroupNorm(2)), 5, "group[2]"},
		{must(convex.NewGroupNorm(1, 1)).Dual(), 4, "group-max[1 1]"},
		{must(convex.NewDiagonalNorm([]float64{1, 4})), math.Sqrt(73), "diagonal([1 4])"},
		{
			must(convex.NewMatrixNorm(mat.NewSymDense(2, []float64{2, 1, 1, 3}))), math.Sqrt(18 - 24 + 48),
			"mahalanobis([2 1 1 3])",
		},
	} {
		near(t, tc.name, tc.n.Of(x), tc.want, 1e-13)
		if tc.n.String() != tc.name {
			t.Errorf("name %q, want %q", tc.n, tc.name)
		}
	}
	if convex.L1.Regularity() != 0 || must(convex.NewLp(1.25)).Regularity() != 0.25 ||
		must(convex.NewLp(3)).Regularity() != 0 {
		t.Error("wrong constants of regularity")
	}
	// 6.7: with q = 2 ln d the dual norm is within √e of the largest modulus.
	p := convex.NearL1(1000)
	near(t, "q", p/(p-1), 2*math.Log(1000), 1e-12)
	ones := make([]float64, 1000)
	for i := range ones {
		ones[i] = 1
	}
	near(t, "√e", must(convex.NewLp(p)).Dual().Of(ones), math.Sqrt(math.E), 1e-12)
	if convex.NearL1(2) != 2 {
		t.Error("NearL1(2) is not 2")
	}
}
