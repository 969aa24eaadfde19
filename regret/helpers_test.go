package regret_test

import (
	"context"
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// near fails unless got is want to 1e-9 relative.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*(1+math.Abs(want))) {
		t.Errorf("%s = %.12g, want %.12g", what, got, want)
	}
}

func play(t *testing.T, p regret.Player, g regret.Game, rounds int) *regret.Certificate {
	t.Helper()
	c, err := regret.Play(context.Background(), p, g, rounds, regret.Options{})
	if err != nil {
		t.Fatalf("%T in %T: %v", p, g, err)
	}
	return c
}

// problem is what a learner knows of a game.
func problem(set convex.Set, rounds int, f regret.Facts) oco.Problem {
	return oco.Problem{Set: set, Rounds: rounds, Facts: f.Facts}
}

// linearFacts returns the facts of linear losses.
func linearFacts(lipschitz, inf float64) regret.Facts {
	return regret.Facts{Facts: loss.Facts{Lipschitz: lipschitz, LipschitzInf: inf}}
}

func interval() convex.Set { return must(convex.NewCube(1, -1, 1)) }

func descent(set convex.Set, rate oco.Rate) oco.Learner {
	return must(oco.NewSubgradientDescent(set, nil, rate))
}
