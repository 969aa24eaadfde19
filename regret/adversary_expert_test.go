package regret_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret/experts"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

func TestExpertTrap(t *testing.T) {
	g := must(regret.NewExpertTrap(2))
	hedge := must(oco.NewAdaHedge(2, oco.DefaultAdaHedgeAlpha(2)))
	c := play(t, must(regret.NewDeterministic(hedge)), g, 10)
	near(t, "loss", c.LearnerLoss, 10)
	near(t, "best", c.ComparatorLoss, 5)
	near(t, "regret", c.Regret, 5)
	for _, d := range []int{2, 3, 7} {
		for _, rounds := range []int{1, 10, 101} {
			g := must(regret.NewExpertTrap(d))
			for _, e := range oco.Learners() {
				f := linearFacts(1, 1)
				l, err := e.New(problem(g.Set(), rounds, f), nil)
				if err != nil {
					continue
				}
				c := play(t, must(regret.NewDeterministic(l)), g, rounds)
				if c.LearnerLoss != float64(rounds) || c.Regret < g.Floor(rounds) ||
					g.Floor(rounds) < float64(rounds)/2 {
					t.Errorf("%s, d = %d, T = %d: loss %v, regret %v, floor %v", e.Name, d, rounds, c.LearnerLoss,
						c.Regret, g.Floor(rounds))
				}
			}
		}
	}
	// A player that randomizes or plays inside the simplex is refused.
	hedge = must(oco.NewAdaHedge(2, oco.DefaultAdaHedgeAlpha(2)))
	r := must(experts.NewRandomized(hedge, experts.DefaultRandomizedOptions(0)))
	if _, err := regret.Play(context.Background(), r, g, 10, regret.Options{}); err == nil ||
		!strings.Contains(err.Error(), "may not see") {
		t.Errorf("a randomized player: %v", err)
	}
	if _, err := regret.NewDeterministic(r); err == nil {
		t.Error("a randomized player was made deterministic")
	}
	inside := must(oco.NewAdaHedge(2, oco.DefaultAdaHedgeAlpha(2)))
	if _, err := regret.Play(context.Background(), inside, g, 10, regret.Options{}); err == nil {
		t.Error("a player inside the simplex was accepted")
	}
}

// likeliest is the form of the expert trap that sees only the weights: the expert with the largest
// weight errs.
type likeliest struct {
	regret.Game
	f loss.Linear
	s *regret.LinearSummary
}

func (g *likeliest) Next(x []float64) (loss.Function, error) {
	best := 0
	for i, v := range x {
		g.f.C[i] = 0
		if v > x[best] {
			best = i
		}
	}
	g.f.C[best] = 1
	return &g.f, nil
}

func (g *likeliest) Summary() regret.Summary { return g.s }

func (g *likeliest) Restart() { g.s.Reset() }

func TestExpertTrapAndRandomization(t *testing.T) {
	const rounds, runs = 1000, 200
	var sum, square float64
	for seed := range uint64(runs) {
		base := must(regret.NewExpertGame(2, 0, 1)) // provides the set
		g := &likeliest{base, loss.Linear{C: make([]float64, 2)}, regret.NewLinearSummary(2)}
		eg := must(oco.NewExponentiatedGradient(2, nil, math.Sqrt(8*math.Ln2/rounds)))
		c := play(t, must(experts.NewRandomized(eg, experts.DefaultRandomizedOptions(seed))), g, rounds)
		sum += c.Regret / runs
		square += c.Regret * c.Regret / runs
	}
	bound, floor := math.Sqrt(rounds*math.Ln2/2), must(regret.NewExpertTrap(2)).Floor(rounds)
	sd := math.Sqrt((square - sum*sum) / runs)
	t.Logf("mean regret %v ± %v, bound √(T ln d/2) = %v, floor of deterministic choices %v", sum, sd, bound, floor)
	if sum > bound+4*sd || sum > floor/4 {
		t.Errorf("mean regret %v of random choices: want at most %v", sum, bound)
	}
}
