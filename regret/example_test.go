package regret_test

import (
	"context"
	"fmt"
	"math"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// A learner against the adversary that forces the regret every learner must have.
func ExamplePlay() {
	interval, err := convex.NewCube(1, -1, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	const rounds = 100
	game, err := regret.NewMinimax(interval, nil, nil, 1, rounds)
	if err != nil {
		fmt.Println(err)
		return
	}
	learner, err := oco.NewSubgradientDescent(interval, nil, oco.FixedHorizon(2, 1, rounds))
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := regret.Play(context.Background(), learner, game, rounds, regret.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("floor %.4f ≤ regret %.4f ≤ bound %.4f\n", game.Floor(), c.Regret, c.Bound)
	// Output: floor 7.9589 ≤ regret 12.0000 ≤ bound 12.5000
}

// A game by name. The learner is made from the game's facts.
func ExampleFindGame() {
	entry, err := regret.FindGame("guess")
	if err != nil {
		fmt.Println(err)
		return
	}
	game, facts, err := entry.New(regret.GameParams{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(entry.Help)
	fmt.Println("on", game.Set(), "with gradients up to", facts.Lipschitz, "and strong convexity",
		facts.StrongConvexity)
	learner, err := oco.NewSubgradientDescent(game.Set(), nil, oco.StronglyConvex(facts.StrongConvexity))
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := regret.Play(context.Background(), learner, game, 1000, regret.Options{Checkpoints: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range c.Curve {
		fmt.Printf("%4d rounds: loss %8.4f, regret %.4f of at most %.4f\n", p.Round, p.Loss, p.Regret, p.Bound)
	}
	// Output:
	// guess a number in [0, 1], uniform at random: losses (x − y)²
	// on box([0], [1]) with gradients up to 2 and strong convexity 2
	//    1 rounds: loss   0.1951, regret 0.1951 of at most 0.1951
	//   10 rounds: loss   1.0724, regret 0.3840 of at most 0.3840
	//  100 rounds: loss   8.4129, regret 0.5934 of at most 0.5934
	// 1000 rounds: loss  83.7932, regret 0.7925 of at most 0.7925
}

// The comparator may move too.
func ExampleOptions() {
	game, err := regret.NewDrift(2, 1, 100, 0, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	learner, err := oco.NewSubgradientDescent(game.Set(), nil, oco.Constant(0.4))
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := regret.Play(context.Background(), learner, game, 1000, regret.Options{
		Moving: func(u []float64, t int) { // the target itself
			u[1], u[0] = math.Sincos(2 * math.Pi * float64(t-1) / 100)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("static regret %.1f, dynamic regret %.1f\n", c.Regret, c.DynamicRegret)
	// Output: static regret -992.8, dynamic regret 7.2
}

// A bettor that follows the past frequency of heads plays against the adversary of coin betting.
func ExamplePlayCoin() {
	a, err := regret.NewCoinAdversary(4)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := regret.PlayCoin(&follower{}, a)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("outcomes", r.Outcomes)
	fmt.Printf("wealth %.4f, best fraction %.4f, part %.4f of at most %.4f\n", math.Exp(r.LogWealth),
		math.Exp(r.LogBest),
		math.Exp(r.LogWealth-r.LogBest), math.Exp(-r.LogConstant))
	// Output:
	// outcomes [1 1 1 1]
	// wealth 4.3750, best fraction 16.0000, part 0.2734 of at most 0.3107
}

// follower bets Σc/t.
type follower struct{ t, sum float64 }

func (f *follower) Bet() float64 { return f.sum / (f.t + 1) }

func (f *follower) Observe(c float64) error {
	f.t++
	f.sum += c
	return nil
}

// The target jumps from 1 to 0 in round 51 of 100. A step of 1/(t+1) has followed the mean of the
// targets and cannot return; a constant step can. Neither has much regret against the best fixed
// point.
func ExampleOptions_dynamic() {
	const rounds = 100
	for _, rate := range []oco.Rate{
		oco.RateFunc("1/(t+1)", func(t int) float64 { return 1 / float64(t+1) }), oco.Constant(0.3),
	} {
		game, err := regret.NewTarget(regret.Jump, rounds, 51, 0, 1)
		if err != nil {
			fmt.Println(err)
			return
		}
		learner, err := oco.NewSubgradientDescent(game.Set(), nil, rate)
		if err != nil {
			fmt.Println(err)
			return
		}
		c, err := regret.Play(context.Background(), learner, game, rounds,
			regret.Options{Dynamic: &regret.DynamicOptions{Lengths: []int{20}}})
		if err != nil {
			fmt.Println(err)
			return
		}
		d := c.Dynamic
		fmt.Printf("%v: static regret %.2f, dynamic %.2f at a variation of %v; in rounds %d to %d %.2f\n", rate,
			c.Regret,
			d.Regret, d.Variation.Hull, d.Worst().First, d.Worst().First+19, d.Worst().Regret)
	}
	// Output:
	// func(1/(t+1)): static regret 0.63, dynamic 13.13 at a variation of 1; in rounds 51 to 70 7.02
	// constant(0.3): static regret -10.54, dynamic 1.96 at a variation of 1; in rounds 1 to 20 0.98
}
