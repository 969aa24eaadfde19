package compare_test

import (
	"fmt"
	"log"

	"github.com/noregret/noregret/experiment/compare"
)

// Two arms over three rounds: the level of the rounds doubles, the difference of the arms is seen
// within them.
func Example() {
	s, err := compare.New(2, []compare.Metric{{}})
	if err != nil {
		log.Fatal(err)
	}
	for _, level := range []float64{1, 1.5, 2} {
		err := s.Add(0, []compare.Sums{
			{Arm: 0, N: 1000, X: level, XX: 1000}, {Arm: 1, N: 200, X: level + 0.1, XX: 200},
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	var e compare.Chosen
	s.Choose(&e, 0, 0)
	fmt.Printf("arm 1: %+.2f ± %.2f beside a control of %.2f ± %.2f\n", e.Delta[1], e.Error[1], e.Level.Mean,
		e.Level.Rounds)
	// Output: arm 1: +0.10 ± 0.04 beside a control of 1.50 ± 0.29
}
