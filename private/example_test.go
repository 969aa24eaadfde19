package private_test

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/private"
)

// A private learner publishes its point after every record. The noise comes from a seed here, so
// that the output is the same in every run; without the option it comes from the system's
// generator.
func Example() {
	domain, err := private.NewBall(2, 2, 1)
	if err != nil {
		panic(err)
	}
	problem := private.NewProblem(domain, private.HalfSquared(), 1, 1, 5000)
	problem.Clip = 1 // public knowledge, not learned from these records
	budget, err := dp.GDPBudget(3, 1e-5)
	if err != nil {
		panic(err)
	}
	learner, err := private.NewTOFW(problem, private.Noise{
		Kind: dp.Honaker, Protection: dp.PerRecord(), Budget: budget,
		Options: []dp.Option{dp.WithInsecureDeterministicNoiseForTesting(1)},
	})
	if err != nil {
		panic(err)
	}
	defer learner.Close()
	for i := range 5000 {
		x := []float64{1, 0}
		if i%2 == 1 {
			x = []float64{0, 1}
		}
		if err := learner.Step(x, 0.5*x[0]-0.5*x[1]); err != nil {
			panic(err)
		}
	}
	theta := learner.Theta()
	fmt.Println("near (0.5, -0.5):", math.Abs(theta[0]-0.5) < 0.1 && math.Abs(theta[1]+0.5) < 0.1)
	fmt.Println(learner.Records(), "records, insecure:", learner.Insecure())
	// Output:
	// near (0.5, -0.5): true
	// 5000 records, insecure: true
}

// A plan compares mechanisms before any data are seen.
func ExampleMakePlan() {
	for _, dim := range []int{50, 100000} {
		domain, err := private.NewBall(dim, 1, 1)
		if err != nil {
			panic(err)
		}
		plan, err := private.MakePlan(private.PlanRequest{
			Domain: domain, Horizon: 10000, Batch: 1, Clip: 1, Protection: dp.PerRecord(), Epsilon: 1, Delta: 1e-5,
		})
		if err != nil {
			panic(err)
		}
		best := plan.Rows[plan.Best]
		fmt.Printf("%d features: %s with %s noise\n", dim, best.Mechanism, best.Noise)
	}
	// Output:
	// 50 features: tofw with square-root noise
	// 100000 features: pofw with exponential noise
}

// A bandit with two arms protects the contexts and rewards of its users.
func ExampleHDB() {
	domain, err := private.NewBall(2, 2, 1)
	if err != nil {
		panic(err)
	}
	problem := private.NewProblem(domain, private.HalfSquared(), 1, 1, 1)
	problem.Clip = 1
	budget, err := dp.ZCDPBudget(4, 1e-5)
	if err != nil {
		panic(err)
	}
	bandit, err := private.NewHDB(private.HDBOptions{
		Problem: problem, Arms: 2, Horizon: 2000, WarmUp: 50, Gap: 1, RewardLow: -1, RewardHigh: 1,
		Noise: private.Noise{Kind: dp.Tree, Protection: dp.PerRecord(), Budget: budget},
		ArmOptions: func(arm int) []dp.Option {
			return []dp.Option{dp.WithInsecureDeterministicNoiseForTesting(uint64(arm))}
		},
	})
	if err != nil {
		panic(err)
	}
	pulls := [2]int{}
	for range 2000 {
		arm, err := bandit.Choose([]float64{1, 0})
		if err != nil {
			panic(err)
		}
		pulls[arm]++
		if err := bandit.Reward(0.2 + 0.5*float64(arm)); err != nil {
			panic(err)
		}
	}
	fmt.Println("the better arm is pulled more often:", pulls[1] > pulls[0])
	// Output: the better arm is pulled more often: true
}
