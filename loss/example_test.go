package loss_test

import (
	"fmt"

	"github.com/noregret/noregret/loss"
)

func ExampleNewExample() {
	// The hinge loss of a linear classifier for one example with features (1, 2) and label -1.
	f, err := loss.NewExample([]float64{1, 2}, -1, loss.HingeLoss{})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float64{0.5, 0.25}
	g := make([]float64, 2)
	f.Subgradient(g, x)
	fmt.Println(f.Value(x), g, f.Lipschitz(1))
	// Output: 2 [1 2] 2.23606797749979
}

func ExampleQuantile() {
	// For the 80 % quantile, predicting 3 when the label is 5 costs four times as much as
	// predicting 5 when it is 3.
	q := loss.Quantile{Tau: 0.8}
	fmt.Printf("%.1f %.1f\n", q.Value(3, 5), q.Value(5, 3))
	// Output: 1.6 0.4
}

func ExampleNewSparseExample() {
	// Two of a million features occur in a text. The loss and its subgradient cost as much as for
	// two features.
	row := loss.Sparse{Index: []uint32{17, 999_999}, Value: []float64{1, 0.5}}
	f, err := loss.NewSparseExample(1_000_000, row, 1, loss.LogisticLoss{})
	if err != nil {
		fmt.Println(err)
		return
	}
	g, _ := f.SparseSubgradient(make([]float64, f.Dim()))
	fmt.Println(g.Index, g.Value)
	// Output: [17 999999] [-0.5 -0.25]
}

func ExampleNewWeighted() {
	// One example in ten was kept, so each stands for ten.
	f, err := loss.NewExample([]float64{1}, 3, loss.Squared{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ten, err := loss.NewWeighted(f, 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Value([]float64{1}), ten.Value([]float64{1}), ten.Smoothness())
	// Output: 2 20 10
}

func ExampleParseScalar() {
	for _, name := range []string{"huber:0.5", "huber:1junk"} {
		s, err := loss.ParseScalar(name)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(s.Name(), s.Value(2, 0))
	}
	// Output:
	// huber:0.5 0.875
	// loss: "huber:1junk": want squared, absolute, hinge, squared-hinge, logistic, log, huber:DELTA with DELTA > 0 or quantile:TAU with TAU in (0, 1)
}

func ExampleReward() {
	// The margin 0.5 has the right sign, but is too small for the full reward.
	for _, r := range []loss.Reward{loss.Hinge{}, loss.SquaredHinge{}, loss.ZeroOne{}} {
		fmt.Println(r.Name(), r.Value(0.5), r.Derivative(0.5))
	}
	// Output:
	// hinge 0.5 1
	// squared-hinge 0.75 1
	// zero-one 1 0
}
