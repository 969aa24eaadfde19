package experts_test

import (
	"fmt"

	"github.com/noregret/noregret/experts"
	"github.com/noregret/noregret/oco"
)

// Three forecasters of rain. The third is right four days of five; after a while it is the one that
// is followed.
func ExampleRandomized() {
	hedge, err := oco.NewAdaHedge(3, oco.DefaultAdaHedgeAlpha(3))
	if err != nil {
		fmt.Println(err)
		return
	}
	player, err := experts.NewRandomized(hedge, experts.Options{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	followed := make([]int, 3)
	const days = 1000
	for day := range days {
		followed[player.Draw()]++
		losses := []float64{float64(day % 2), float64(day / 2 % 2), 0}
		if day%5 == 0 {
			losses[2] = 1
		}
		if err := player.Update(losses); err != nil {
			fmt.Println(err)
			return
		}
	}
	bound, err := player.HighProbabilityBound([]float64{0, 0, 1}, 0.01)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("followed:", followed)
	fmt.Printf("wrong on %v days, the best forecaster on %d\n", player.Loss(), days/5)
	fmt.Printf("with probability 99%%: at most %.0f more\n", bound)
	// Output:
	// followed: [2 5 993]
	// wrong on 204 days, the best forecaster on 200
	// with probability 99%: at most 99 more
}
