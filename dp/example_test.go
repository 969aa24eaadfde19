package dp_test

import (
	"fmt"
	"log"

	"github.com/noregret/noregret/dp"
)

// A hospital publishes a running count every day; each patient is protected with ε = 1.
func Example() {
	lattice, err := dp.NewLattice(dp.DefaultLatticeConfig(1, 10_000, dp.L2, 1))
	if err != nil {
		log.Fatal(err)
	}
	budget, err := dp.GDPBudget(1, 1e-4)
	if err != nil {
		log.Fatal(err)
	}
	stream, err := dp.NewStream(dp.StreamConfig{
		Kind: dp.Tree, Lattice: lattice, Batch: 1, Protection: dp.PerRecord(), Budget: budget,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("protects", stream.Charge().Protection)
	fmt.Printf("noise of day 1 ± %.1f, of day 8191 ± %.1f\n", stream.Deviation(1), stream.Deviation(8191))

	release := make([]float64, 1)
	if err := stream.Add([]float64{1}, release); err != nil { // release may be published
		log.Fatal(err)
	}
	// Output:
	// protects replace-one, unit: one record
	// noise of day 1 ± 23.8, of day 8191 ± 86.0
}

// Two mechanisms on the same records cost the sum of their ρ, which is converted to ε once.
func ExampleRhoEpsilon() {
	rho, err := dp.Rho(1, 1e-6)
	if err != nil {
		log.Fatal(err)
	}
	both, err := dp.RhoEpsilon(2*rho, 1e-6)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f\n", both)
	// Output: 1.451
}

// The exponential mechanism chooses the best of three candidates by a secret score.
func ExampleSelector() {
	lattice, err := dp.NewLattice(dp.DefaultLatticeConfig(3, 100, dp.LInf, 1))
	if err != nil {
		log.Fatal(err)
	}
	budget, err := dp.ZCDPBudget(1, 1e-6)
	if err != nil {
		log.Fatal(err)
	}
	selector, err := dp.NewSelector(dp.SelectorConfig{
		Candidates: 3, Lattice: lattice, Width: 2, Protection: dp.PerRecord(), Budget: budget,
	})
	if err != nil {
		log.Fatal(err)
	}
	increment, scores := make([]int64, 3), make([]int64, 3)
	lattice.Quantize([]float64{0.5, -3, 0.2}, increment) // clipped to norm 1
	for v, k := range increment {
		scores[v] += k
	}
	choice, err := selector.Choose(scores)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(choice >= 0, selector.Steps(), selector.Charge().Protection)
	// Output: true 1 replace-one, unit: one record
}
