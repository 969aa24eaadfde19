package experts_test

import (
	"fmt"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/experts"
	"github.com/noregret/noregret/loss"
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
	player, err := experts.NewRandomized(hedge, experts.DefaultRandomizedOptions(1))
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

// Two shops report prices: one on even days, one on odd days, and a third every day with an error.
// Each is judged on its own days.
func ExampleSpecialists() {
	weights, err := oco.NewAdaHedge(3, oco.DefaultAdaHedgeAlpha(3))
	if err != nil {
		fmt.Println(err)
		return
	}
	player, err := experts.NewSpecialists(weights)
	if err != nil {
		fmt.Println(err)
		return
	}
	paid := 0.0
	for day := range 1000 {
		if err := player.Confidence([]float64{float64(day % 2), float64(1 - day%2), 1}); err != nil {
			fmt.Println(err)
			return
		}
		losses := []float64{0, 0, 0.5} // those of sleeping experts are ignored
		for i, p := range player.Predict() {
			paid += p * losses[i]
		}
		if err := player.Update(losses); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Printf("paid %.1f in 1000 days\n", paid)
	// Output:
	// paid 0.4 in 1000 days
}

// Gradient descent with four step sizes, and a mixture that finds the best while all four learn.
func ExampleMixture() {
	ball, err := convex.NewCenteredBall(2, 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	var models []experts.Learner
	for _, eta := range []float64{0.001, 0.01, 0.1, 10} {
		l, err := oco.NewSubgradientDescent(ball, nil, oco.Constant(eta))
		if err != nil {
			fmt.Println(err)
			return
		}
		models = append(models, l)
	}
	weights, err := oco.NewAdaHedge(len(models), oco.DefaultAdaHedgeAlpha(len(models)))
	if err != nil {
		fmt.Println(err)
		return
	}
	mixture, err := experts.NewMixture(weights, models...)
	if err != nil {
		fmt.Println(err)
		return
	}
	target := []float64{3, -4}
	for range 2000 {
		f, err := loss.NewSquaredDistance(target)
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := mixture.UpdateLoss(f); err != nil {
			fmt.Println(err)
			return
		}
	}
	x := mixture.Predict()
	fmt.Printf("model %d, at (%.2f, %.2f)\n", mixture.Best(), x[0], x[1])
	// Output:
	// model 2, at (3.00, -4.00)
}
