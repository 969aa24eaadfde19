package oco_test

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
)

// AdaGrad on a box needs no parameters. Its bound is for the subgradients so far.
func ExampleAdaGrad() {
	box, err := convex.NewCube(2, -1, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	learner, err := oco.NewAdaGrad(box, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	// The second coordinate's subgradients are a thousand times larger; the points are the same in
	// both.
	for _, g := range [][]float64{{1, 1000}, {-1, -1000}, {1, 1000}, {1, 1000}} {
		fmt.Printf("%.4f\n", learner.Predict())
		if err := learner.Update(g); err != nil {
			fmt.Println(err)
		}
	}
	bound, err := learner.Bound([]float64{-1, -1})
	fmt.Printf("bound %.0f %v\n", bound, err)
	// Output:
	// [0.0000 0.0000]
	// [-1.0000 -1.0000]
	// [0.0000 0.0000]
	// [-0.8165 -0.8165]
	// bound 5663 <nil>
}

// Bad input is refused, by name and place, and changes nothing.
func ExampleLearner() {
	set, err := convex.NewCenteredBall(3, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	learner, err := oco.NewSubgradientDescent(set, nil, oco.InverseSqrt(2, 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	nan := 0.0
	nan /= nan
	fmt.Println(learner.Update([]float64{1, nan, 0}))
	fmt.Println(learner.Update([]float64{1, 0}))
	fmt.Println(learner.Rounds())
	// Output:
	// gradient[1]: NaN: want a finite number
	// gradient: 2 values, the learner's dimension is 3
	// 0
}

// AdaHedge weights experts by their losses and needs no rate.
func ExampleAdaHedge() {
	learner, err := oco.NewAdaHedge(3, oco.DefaultAdaHedgeAlpha(3))
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		if err := learner.Update([]float64{0.3, 0.5, 0.9}); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Printf("%.3f\n", learner.Predict())
	// Output: [0.891 0.108 0.002]
}

// Online-to-batch conversion makes a stochastic optimizer of any learner: here a support vector
// machine, with weights t for the rate 1/T without a logarithm.
func ExampleAveraging() {
	ball, err := convex.NewCenteredBall(2, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	const lambda = 0.5
	descent, err := oco.NewSubgradientDescent(ball, nil, oco.RateFunc("2/(λt(t+1))", func(t int) float64 {
		return 2 / (lambda * float64(t) * float64(t+1))
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	average, err := oco.NewAveraging(descent, oco.LinearAlpha())
	if err != nil {
		fmt.Println(err)
		return
	}
	svm, err := oco.NewLinearized(average)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, x := range []struct{ z, y float64 }{{1, 1}, {0.8, 1}, {-1, -1}, {-0.9, -1}} {
		hinge, err := loss.NewExample([]float64{x.z, 1}, x.y, loss.HingeLoss{})
		if err != nil {
			fmt.Println(err)
			return
		}
		f, err := loss.NewRidge(hinge, lambda)
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := svm.UpdateLoss(f); err != nil {
			fmt.Println(err)
			return
		}
	}
	w, err := average.Average()
	fmt.Printf("%.3f %v\n", w, err)
	// Output: [0.919 0.119] <nil>
}

// Learners lists each learner with the parameters that it needs and its guarantee.
func ExampleLearners() {
	for _, e := range oco.Learners()[:3] {
		fmt.Printf("%s: %s, knowing %s\n", e.Name, e.Bound, e.Knows)
	}
	// Output:
	// mean-leader: 4L²(1+ln T), knowing that losses are squared distances
	// linear-leader: none: its regret can be T, knowing nothing
	// ogd-fixed: D·L·√T, knowing T, L, D
}

// A learner on ℝ finds a best point of unknown size without a learning rate: its loss is |x − 200|.
func ExampleNewKT() {
	learner, err := oco.NewKT(1, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	total := 0.0
	for range 1000 {
		g, x := -1.0, learner.Predict()[0]
		if x > 200 {
			g = 1
		}
		total += math.Abs(x - 200)
		if err := learner.Update([]float64{g}); err != nil {
			fmt.Println(err)
			return
		}
	}
	bound, err := learner.Bound([]float64{200})
	fmt.Printf("regret %.0f, bound %.0f, %v\n", total, bound, err)
	// Output: regret 28102, bound 29937, <nil>
}

// Two coordinates of very different scales, neither of them known: the distance to (3, -0.002) in
// units of the second coordinate's subgradients, which are 1000 times as large.
func ExampleScaleFreeKT() {
	learner, err := oco.NewScaleFreeKT(2, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	average, err := oco.NewAveraging(learner, oco.UniformAlpha())
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 20_000 {
		x := average.Predict()
		g := []float64{math.Copysign(1, x[0]-3), math.Copysign(1000, x[1]+0.002)}
		if err := average.Update(g); err != nil {
			fmt.Println(err)
			return
		}
	}
	x, err := average.Average()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f %.3f\n", x[0], x[1])
	// Output:
	// 2.99 -0.002
}
