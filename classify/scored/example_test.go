package scored_test

import (
	"fmt"

	"github.com/noregret/noregret/classify/scored"
)

func Example() {
	// Positive examples have higher scores, with some overlap.
	var examples []scored.Example
	for i := range 1000 {
		examples = append(examples, scored.Example{Score: float64(i), Weight: 1, Positive: i%10 < i/100})
	}
	auc := scored.AUC(examples)
	low, high := auc.Unit(0.95)
	fmt.Printf("AUC %.3f, from %.3f to %.3f\n", auc.Value, low, high)

	p, _ := scored.Isotonic(examples)
	fmt.Printf("a score of 750 stands for %.2f\n", p.Of(750))

	curve, _ := scored.NewCurve(examples)
	at, bound, ok := curve.AtRecall(0.9, 0.95)
	fmt.Printf("%v: recall at least %.3f with confidence 0.95, %.2f here, above %.0f\n", ok, bound, at.Recall.Value(),
		at.Threshold)
	// Output:
	// AUC 0.830, from 0.804 to 0.853
	// a score of 750 stands for 0.70
	// true: recall at least 0.903 with confidence 0.95, 0.93 here, above 306
}
