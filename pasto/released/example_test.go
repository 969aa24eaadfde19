package released_test

import (
	"fmt"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/confident"
	"github.com/noregret/noregret/pasto/released"
	"github.com/noregret/noregret/private/aggregate"
)

// A private experiment of two arms: rates of 10 % and 14 %, 100,000 units in each of 30 rounds.
func Example() {
	config := aggregate.DefaultConfig(2, []aggregate.Range{{Low: 0, High: 1}}, 30)
	config.Contribution, config.Epsilon, config.Delta = 1, 1, 1e-7
	// Leave the option out.
	sums, err := aggregate.New(config, dp.WithInsecureDeterministicNoiseForTesting(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	goals, _ := pasto.NewGoals([]pasto.Metric{{Name: "conversion", Upper: 1}}, 0)
	learner, _ := confident.New(goals, 2, confident.DefaultOptions())
	reader, _ := released.New(sums, 2, 1)
	rates, out := []float64{0.10, 0.14}, make([]float64, 2)
	for range 30 {
		units, exact := make([]int64, 2), make([]int64, 2)
		for k, p := range learner.Serving() {
			units[k] = int64(100_000 * p)
			events := int64(rates[k] * float64(units[k]))
			exact[k] = (2*events - units[k]) * sums.Limit() // events are +L, the others −L
		}
		if err := sums.Step(exact, out); err != nil {
			fmt.Println(err)
			return
		}
		obs, err := reader.Round(units, out)
		if err == nil {
			err = learner.Observe(obs)
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Printf("deployed: %.2f\n", learner.Deployed())
	// Output:
	// deployed: [0.00 1.00]
}
