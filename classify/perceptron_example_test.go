package classify_test

import (
	"fmt"

	"github.com/noregret/noregret/classify"
)

// Labels that a line separates with margin 1: however many examples come, the perceptron makes at
// most (R/margin)² = 26 mistakes.
func ExamplePerceptron() {
	p, err := classify.NewPerceptron(2, classify.PerceptronOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for t := range 10_000 {
		y := 1 - t%2*2
		z := []float64{float64(y), float64(t*7%11 - 5)} // the label is the sign of z[0]
		if _, err := p.Update(z, y); err != nil {
			fmt.Println(err)
			return
		}
	}
	bound, err := classify.PerceptronBound(1, 5.0990195135927845, 1, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d mistakes in %d rounds, the bound is %.0f\n", p.Mistakes(), p.Rounds(), bound)
	// Output:
	// 7 mistakes in 10000 rounds, the bound is 26
}
