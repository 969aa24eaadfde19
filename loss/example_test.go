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
	// Predicting 3 when 5 comes costs four times as much as 5 when 3 comes, for the 80 % quantile.
	q := loss.Quantile{Tau: 0.8}
	fmt.Printf("%.1f %.1f\n", q.Value(3, 5), q.Value(5, 3))
	// Output: 1.6 0.4
}
