package law_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/noregret/noregret/law"
)

// A shop of a million visitors a day, of whom 2 % buy for 50 in the mean, with a week of ±30 %.
func Example() {
	spent := law.Law{Kind: "lognormal", Rate: 0.02, Sigma: 1}
	level := law.Level{Seasons: []law.Season{{Period: 7, Size: 0.3}}}
	r := rand.New(rand.NewPCG(1, 2))
	for day := range 3 {
		mean, _ := spent.Group(r, 1_000_000, level.At(day, r))
		fmt.Printf("day %d: level %.2f, mean %.2f\n", day, level.At(day, r), mean)
	}
	// Output:
	// day 0: level 1.00, mean 1.01
	// day 1: level 1.23, mean 1.21
	// day 2: level 1.29, mean 1.30
}

func ExampleLaw_Unit() {
	clicks, r := law.Law{Kind: "bernoulli"}, rand.New(rand.NewPCG(1, 2))
	n := 0.0
	for range 1000 {
		n += clicks.Unit(r, 0.3)
	}
	fmt.Println(n, "of 1000")
	// Output: 296 of 1000
}
