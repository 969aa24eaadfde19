package play_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/play"
	"github.com/noregret/noregret/regret"
)

// Two learners guess numbers. The second knows the strong convexity of the losses, and so has
// regret of order ln T.
func ExampleRun() {
	results, err := play.Run(context.Background(), play.Options{
		Learners: []string{"ogd-adaptive", "ogd-strong"}, Game: "guess", Rounds: 1000, Seed: 1, Runs: 1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range results {
		fmt.Printf("%s: regret %.2f, at most %.2f\n", r.Learner, r.Regret, r.Bound)
	}
	// Output:
	// ogd-adaptive: regret 6.18, at most 26.71
	// ogd-strong: regret 0.79, at most 0.79
}

// center is a user-defined learner that plays one point whatever the losses are. Three methods
// suffice; Bound is optional.
type center struct{ x []float64 }

func (l center) Dim() int               { return len(l.x) }
func (l center) Predict() []float64     { return l.x }
func (l center) Update([]float64) error { return nil }

// clock is a user-defined game on [−1, 1] with losses x and −x in turn.
type clock struct {
	set     convex.Set
	summary *regret.LinearSummary
	loss    *loss.Linear
}

func (g *clock) Set() convex.Set         { return g.set }
func (g *clock) Features() []float64     { return nil }
func (g *clock) Summary() regret.Summary { return g.summary }

func (g *clock) Next([]float64) (loss.Function, error) {
	g.loss.C[0] = -g.loss.C[0]
	return g.loss, nil
}

func (g *clock) Restart() {
	g.loss.C[0] = -1
	g.summary.Reset()
}

func newClock(regret.GameParams, func(string) float64) (regret.Game, regret.Facts, error) {
	facts := regret.Unknown()
	facts.Lipschitz, facts.LipschitzInf, facts.Smoothness = 1, 1, 0
	set, err := convex.NewCube(1, -1, 1)
	if err != nil {
		return nil, facts, err
	}
	return &clock{set: set, summary: regret.NewLinearSummary(1), loss: &loss.Linear{C: []float64{-1}}}, facts, nil
}

// A user-defined learner and a user-defined game are passed by their constructors and play against
// those of the catalogues.
func ExampleRun_ownEntries() {
	mine := oco.Entry{
		Name: "center", Kind: "convex", Bound: "none", Knows: "the set",
		Options: []oco.Option{{Name: "at", Default: 0.5, Help: "the value of every coordinate"}},
		Make: func(p oco.Problem, option func(name string) float64) (oco.Learner, error) {
			x := make([]float64, p.Set.Dim())
			for i := range x {
				x[i] = option("at")
			}
			p.Set.Project(x, x)
			return center{x}, nil
		},
	}
	alternating := regret.GameEntry{Name: "clock", Kind: "convex", Dim: 1, FixedDim: true, Make: newClock}
	for _, game := range []string{"clock", "leader-trap"} {
		results, err := play.Run(context.Background(), play.Options{
			Learners: []string{"center", "ogd-adaptive"}, Game: game, Rounds: 1001, Seed: 1, Runs: 1,
			LearnerEntries: []oco.Entry{mine}, GameEntries: []regret.GameEntry{alternating},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, r := range results {
			promise := "promises nothing"
			if !math.IsInf(r.Bound, 1) {
				promise = fmt.Sprintf("promises %.2f at most", r.Bound)
			}
			fmt.Printf("%s: %s has regret %.2f and %s\n", r.Game, r.Learner, r.Regret, promise)
		}
	}
	// Output:
	// clock: center has regret 1.50 and promises nothing
	// clock: ogd-adaptive has regret 44.28 and promises 89.49 at most
	// leader-trap: center has regret 0.25 and promises nothing
	// leader-trap: ogd-adaptive has regret 44.35 and promises 89.45 at most
}

// A sweep plays a learner with several values of an option. The summary combines the runs.
func ExampleSummarize() {
	results, err := play.Run(context.Background(), play.Options{
		Learners: []string{"ogd-fixed:eta=0.01..1:3"}, Game: "linear-ball", Rounds: 1000, Seed: 1, Runs: 20,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range play.Summarize(results) {
		fmt.Printf("%s: regret %.1f ± %.1f, at worst %.0f %% of the bound\n", s.Learner, s.Regret.Mean,
			s.Regret.StandardError, 100*s.WorstRatio)
	}
	// Output:
	// ogd-fixed:eta=0.01: regret 51.4 ± 0.0, at worst 100 % of the bound
	// ogd-fixed:eta=0.1: regret 12.5 ± 0.2, at worst 73 % of the bound
	// ogd-fixed:eta=1: regret 47.4 ± 0.7, at worst 38 % of the bound
}

func ExampleParseSweep() {
	specs, err := play.ParseSweep("learner", "ftrl-proximal:a=0.01..1:3:beta=1")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range specs {
		fmt.Println(s)
	}
	// Output:
	// ftrl-proximal:a=0.01:beta=1
	// ftrl-proximal:a=0.1:beta=1
	// ftrl-proximal:a=1:beta=1
}

// Bandit algorithms by name: the mean pseudo-regret of 20 runs beside the theorem's bound.
func ExampleRunBandits() {
	results, err := play.RunBandits(context.Background(), play.BanditOptions{
		Learners: []string{"ucb", "kl-ucb", "tsallis-inf"}, Game: "bernoulli", Means: []float64{0.1, 0.5, 0.9},
		Rounds: 1000, Runs: 20, Seed: 1,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		v := r.Regret()
		fmt.Printf("%-11s  regret %4.1f ± %.1f  bound %5.1f\n", r.Learner, v.Mean, v.StandardError, r.Bound)
	}
	fmt.Printf("the bound of Lai and Robbins: %.1f\n", results[0].LowerBound)
	// Output:
	// ucb          regret 26.7 ± 1.1  bound 159.0
	// kl-ucb       regret  6.8 ± 0.6  bound   NaN
	// tsallis-inf  regret 24.4 ± 1.0  bound 220.1
	// the bound of Lai and Robbins: 8.6
}
