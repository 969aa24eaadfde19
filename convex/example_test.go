package convex_test

import (
	"fmt"
	"log"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/noregret/noregret/convex"
)

func ExampleNewSimplex() {
	s, err := convex.NewSimplex(3)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := make([]float64, 3)
	s.Project(x, []float64{0.5, 0.8, -0.2})
	fmt.Printf("%.2f\n", x)
	value, _ := s.Minimize(x, []float64{2, -1, 3})
	fmt.Println(value, x)
	// Output:
	// [0.35 0.65 0.00]
	// -1 [0 1 0]
}

func ExampleNewBall() {
	b, err := convex.NewBall([]float64{1, 0}, 5)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float64{7, 8}
	b.Project(x, x)
	fmt.Println(x, b.Diameter(), b)
	// Output: [4 4] 10 l2-ball(2, [1 0], 5)
}

func ExampleNewLpBall() {
	b, err := convex.NewLpBall([]float64{0, 0}, math.Inf(1), 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float64{7, -1}
	b.Project(x, x)
	fmt.Println(x)
	// Output: [2 -1]
}

func ExampleNewL1Ball() {
	b, err := convex.NewL1Ball(3, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float64{3, -2, 0.5}
	b.Project(x, x)
	fmt.Println(x)
	// Output: [1.5 -0.5 0]
}

func ExampleNewBox() {
	b, err := convex.NewBox([]float64{0, math.Inf(-1)}, []float64{1, 5})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := make([]float64, 2)
	b.Project(x, []float64{-3, -70})
	fmt.Println(x)
	_, err = b.Minimize(x, []float64{1, 1})
	fmt.Println(err)
	// Output:
	// [0 -70]
	// minimize: the linear function has no minimum on this set
}

func ExampleNewOpenBox() {
	b, err := convex.NewOpenBox([]float64{0}, []float64{1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(b)
	// Output: box([5e-324], [0.9999999999999999])
}

func ExampleNewCappedSimplex() {
	s, err := convex.NewCappedSimplex(4, 0.5, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := make([]float64, 4)
	s.Project(x, []float64{2, 0.25, 0, 0})
	fmt.Println(x)
	// Output: [0.5 0.3333333333333333 0.08333333333333333 0.08333333333333333]
}

func ExampleNewHalfspace() {
	h, err := convex.NewHalfspace([]float64{1, 1}, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float64{2, 1}
	h.Project(x, x)
	fmt.Println(x)
	// Output: [1 0]
}

func ExampleNewAffine() {
	a, err := convex.NewAffine(mat.NewDense(1, 2, []float64{3, 4}), []float64{5})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float64{0, 0}
	a.Project(x, x)
	fmt.Printf("%.2f\n", x)
	// Output: [0.60 0.80]
}

func ExampleNewProduct() {
	box, _ := convex.NewCube(1, -1, 1)
	simplex, _ := convex.NewSimplex(2)
	p, err := convex.NewProduct(box, simplex)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float64{7, 1, 1}
	p.Project(x, x)
	fmt.Println(x, p)
	// Output: [1 0.5 0.5] product(box([-1], [1]), simplex(2))
}

func ExampleNewShifted() {
	simplex, _ := convex.NewSimplex(2)
	s, err := convex.NewShifted(simplex, []float64{1, 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float64{0, 0}
	s.Project(x, x)
	fmt.Println(x)
	// Output: [2 2]
}

func ExampleRestrict() {
	entropy, _ := convex.NewNegativeEntropy(3)
	simplex, _ := convex.NewSimplex(3)
	reg, err := convex.Restrict(entropy, simplex)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := make([]float64, 3)
	reg.Argmax(x, []float64{-.5, .25, -.125}) // softmax
	lambda, norm := reg.StrongConvexity()
	fmt.Printf("%.4f %.4f %v %v\n", x, reg.Min(), lambda, norm)

	ball, _ := convex.NewCenteredBall(3, 1)
	_, err = convex.Restrict(entropy, ball)
	fmt.Println(err)
	// Output:
	// [0.2187 0.4630 0.3182] -1.0986 1 l1
	// restrict: negative-entropy(3) has no exact oracle on l2-ball(3, 0, 1), want one of these sets: Space, Simplex, CappedSimplex and Box with upper sides above 0 (and lower bounds at least 0 for CappedSimplex), Product of these
}

func ExampleNewPNorm() {
	m, err := convex.NewPNorm(2, 1.5)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float64{1, 2}
	m.Gradient(x, x)
	fmt.Printf("%.4f\n", x)
	m.Inverse(x, x)
	fmt.Printf("%.4f\n", x)
	// Output:
	// [1.5644 2.2124]
	// [1.0000 2.0000]
}

func ExampleKL() {
	fmt.Printf("%.10f\n", convex.KL([]float64{.5, .3, .2}, []float64{.2, .2, .6}))
	// Output: 0.3600624406
}

func ExampleNewTsallis() {
	m, _ := convex.NewTsallis(3, 0.5)
	simplex, _ := convex.NewSimplex(3)
	reg, err := convex.Restrict(m, simplex)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := make([]float64, 3)
	reg.Argmax(x, []float64{0, 0, -0.9}) // an arm of probability 1/3 has lost 0.6, at the rate 1/2
	fmt.Printf("%.4f\n", x)
	// Output: [0.4166 0.4166 0.1667]
}

func ExampleNewLogBarrier() {
	m, _ := convex.NewLogBarrier(2)
	box, _ := convex.NewCube(2, 0, 4)
	reg, err := convex.Restrict(m, box)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := make([]float64, 2)
	reg.Argmax(x, []float64{-2, 1})
	fmt.Println(x)
	// Output: [0.5 4]
}

func ExampleNewMatrixQuadratic() {
	m, err := convex.NewMatrixQuadratic(mat.NewSymDense(2, []float64{2, 1, 1, 2}))
	if err != nil {
		fmt.Println(err)
		return
	}
	x := make([]float64, 2)
	m.Gradient(x, []float64{1, 0})
	fmt.Printf("%.1f\n", x)
	// Output: [2.0 1.0]
}

func ExampleMahalanobis() {
	w, err := convex.NewMahalanobis(2)
	if err != nil {
		fmt.Println(err)
		return
	}
	simplex, _ := convex.NewSimplex(2)
	x := make([]float64, 2)
	gap, err := w.Project(x, []float64{3, 0, 0, 1}, []float64{1, 1}, simplex, 1e-10)
	fmt.Printf("%.3f %v %v\n", x, gap < 1e-12, err)
	// Output: [0.750 0.250] true <nil>
}

func ExampleProxL1() {
	x := []float64{3, -0.5, -2}
	convex.ProxL1(x, x, 1)
	fmt.Println(x)
	// Output: [2 0 -1]
}

func ExampleNewLp() {
	n, err := convex.NewLp(3)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f %v %v\n", n.Of([]float64{3, -4}), n, n.Dual())
	// Output: 4.4979 l3 l1.5
}

func ExampleNewGroupNorm() {
	g, err := convex.NewGroupNorm(2, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float64{3, 4, -2}
	fmt.Println(g.Of(x), g.Dual().Of(x))
	convex.ProxGroup(x, x, g, 2.5)
	fmt.Println(x)
	// Output:
	// 7 5
	// [1.5 2 0]
}

// quarticMap is Σ(x_i⁴/4 + x_i²/2), a mirror map of one's own: values and gradients are enough.
type quarticMap struct{ d int }

func (q quarticMap) Dim() int { return q.d }

func (q quarticMap) Value(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v*v*v*v/4 + v*v/2
	}
	return sum
}

func (q quarticMap) Gradient(dst, x []float64) {
	for i, v := range x {
		dst[i] = v*v*v + v
	}
}

func (q quarticMap) String() string { return fmt.Sprintf("quartic(%d)", q.d) }

func ExampleNewMap() {
	m, err := convex.NewMap(quarticMap{2}, 1, convex.L2) // 1-strongly convex, as x²/2 is
	if err != nil {
		fmt.Println(err)
		return
	}
	ball, err := convex.NewCenteredBall(2, 1.5)
	if err != nil {
		fmt.Println(err)
		return
	}
	reg, err := convex.Restrict(m, ball)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := make([]float64, 2)
	gap := reg.(convex.Certified).ArgmaxGap(x, []float64{2, 0.5}) // x³ + x = θ
	fmt.Printf("%.6f, certified to 1e-10: %v\n", x, gap <= 1e-10)
	// Output: [1.000000 0.423854], certified to 1e-10: true
}

// Points of the interior set can be moved by 0.1 in every direction of the simplex.
func ExampleNewInterior() {
	simplex, err := convex.NewSimplex(3)
	if err != nil {
		log.Fatal(err)
	}
	interior, err := convex.NewInterior(simplex)
	if err != nil {
		log.Fatal(err)
	}
	inner, err := interior.Shrink(0.1)
	if err != nil {
		log.Fatal(err)
	}
	x := []float64{1, 0, 0}
	inner.Project(x, x)
	fmt.Printf("%.3f\n", x)
	interior.Step(x, 0, -0.1) // along (1, −1, 0)/√2
	fmt.Printf("%.3f\n", x)
	// Output:
	// [0.837 0.082 0.082]
	// [0.766 0.152 0.082]
}

// A budget: no more than 0.5 in the first two of three coordinates of a cube.
func ExampleNewIntersection() {
	cube, err := convex.NewCube(3, 0, 1)
	if err != nil {
		log.Fatal(err)
	}
	budget, err := convex.NewHalfspace([]float64{1, 1, 0}, 0.5)
	if err != nil {
		log.Fatal(err)
	}
	set, err := convex.NewIntersection(cube, budget)
	if err != nil {
		log.Fatal(err)
	}
	x := []float64{1, 0.6, 2}
	set.Project(x, x)
	fmt.Printf("%.2f\n", x)
	// Output: [0.45 0.05 1.00]
}
