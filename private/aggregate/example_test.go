package aggregate_test

import (
	"fmt"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/private/aggregate"
)

// Two arms and two metrics, a conversion and a revenue of at most 50. A unit counts in at most
// three decisions.
func Example() {
	config := aggregate.DefaultConfig(2, []aggregate.Range{{Low: 0, High: 1}, {Low: 0, High: 50}}, 30)
	config.Contribution, config.Epsilon, config.Delta = 3, 1, 1e-6
	// Leave the option out.
	sums, err := aggregate.New(config, dp.WithInsecureDeterministicNoiseForTesting(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	round := make([]int64, 4)
	row := make([]int64, 2)
	for unit := range 100_000 {
		values := []float64{0, 0}
		if unit%21 == 0 {
			values = []float64{1, 30}
		}
		sums.Quantize(values, row)
		arm := unit % 2
		round[2*arm] += row[0]
		round[2*arm+1] += row[1]
	}
	out := make([]float64, 4)
	if err := sums.Step(round, out); err != nil {
		fmt.Println(err)
		return
	}
	for arm := range 2 {
		for i := range 2 {
			fmt.Printf("arm %d, metric %d: %.3f ± %.3f\n", arm, i, sums.Midpoint(i)+out[2*arm+i]/50_000,
				sums.Deviation(1, i)/50_000)
		}
	}
	// Output:
	// arm 0, metric 0: 0.048 ± 0.001
	// arm 0, metric 1: 1.387 ± 0.026
	// arm 1, metric 0: 0.047 ± 0.001
	// arm 1, metric 1: 1.397 ± 0.026
}
