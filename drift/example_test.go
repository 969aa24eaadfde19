package drift_test

import (
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/changepoint"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/drift"
	"github.com/noregret/noregret/forget"
)

// A point follows a target that jumps, with gradients as feedback.
func Example() {
	interval, err := convex.NewCube(1, -2, 2)
	if err != nil {
		log.Fatal(err)
	}
	budget, err := drift.NewBudget(1000, 2) // 1000 rounds, a variation of at most 2
	if err != nil {
		log.Fatal(err)
	}
	options := drift.DefaultGradientOptions(budget, interval, 4)
	options.Curvature, options.Mode = 1, drift.Schedule
	learner, err := drift.NewRestartedDescent(options)
	if err != nil {
		log.Fatal(err)
	}
	regret := 0.0
	for round := range 1000 {
		target := 0.5
		if round >= 400 {
			target = -0.5
		}
		x := learner.Predict()[0]
		regret += (x - target) * (x - target) / 2
		if err := learner.Update([]float64{x - target}); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("batches of %d rounds, regret %.2f\n", budget.BatchSize(drift.StronglyConvexGradient), regret)
	// Output: batches of 59 rounds, regret 5.60
}

// A bandit algorithm starts again when its losses rise.
func ExampleNewPlayer() {
	detector, err := changepoint.NewPageHinkley(changepoint.PageHinkleyOptions{Drift: 0.1, Threshold: 8, Rounds: 30})
	if err != nil {
		log.Fatal(err)
	}
	trigger, err := forget.DetectRise(detector, 0, 1)
	if err != nil {
		log.Fatal(err)
	}
	player, err := drift.NewPlayer(trigger, func() (bandit.Algorithm, error) {
		return bandit.NewPlayer(2, bandit.BernoulliThompson{})
	})
	if err != nil {
		log.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 2000 {
		best := round / 1000 // the best arm changes once
		arm := player.Draw(r)
		loss := 0.0
		if r.Float64() < 0.2+0.6*float64((arm+best)%2) {
			loss = 1
		}
		if err := player.Update(arm, loss); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("restarts:", player.Batch())
	// Output: restarts: 1
}

// Costs of single points are enough for strongly convex costs.
func ExampleNewEGS() {
	disc, err := convex.NewCenteredBall(2, 2)
	if err != nil {
		log.Fatal(err)
	}
	options := drift.DefaultEGSOptions(disc, 1)
	options.Baseline = 0.95
	egs, err := drift.NewEGS(options)
	if err != nil {
		log.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		x, err := egs.Play(r)
		if err != nil {
			log.Fatal(err)
		}
		cost := ((x[0]-0.5)*(x[0]-0.5) + (x[1]+0.5)*(x[1]+0.5)) / 2
		if err := egs.Observe(cost); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("%.1f\n", egs.Center())
	// Output: [0.5 -0.5]
}
