package bandit

import (
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// The turns begin with the second arm, the commitment is to the lowest mean, the first of several,
// and later losses do not change it.
func TestExploreThenCommit(t *testing.T) {
	e := made(NewPlayer(3, ExploreThenCommit{Turns: 2}))
	losses, arms := []float64{.5, .2, .2}, []int{}
	for round := range 12 {
		k := e.Draw(nil)
		arms = append(arms, k)
		loss := losses[k]
		if round >= 6 {
			loss = 100
		}
		pull(t, e, k, loss)
	}
	if want := []int{1, 2, 0, 1, 2, 0, 1, 1, 1, 1, 1, 1}; !slices.Equal(arms, want) {
		t.Errorf("arms %v, want %v", arms, want)
	}
	if e.Pulls(1) != 8 || e.Mean(0) != .5 || e.Rounds() != 12 {
		t.Errorf("%d pulls, mean %v, %d rounds", e.Pulls(1), e.Mean(0), e.Rounds())
	}
}

func TestExploreThenCommitBounds(t *testing.T) {
	for _, c := range []struct {
		gap           float64
		rounds, turns int
		bound, two    float64
	}{
		{.5, 1000, 67, 40.07475772, 41.58133245},
		{.5, 10000, 104, 59.36083829, 60.0020132},
		{.1, 1000, 367, 47.32714116, 76.75162927},
		{.05, 1000, 1, 49.91882224, 50},
	} {
		if m := ExploreThenCommitTurns(c.gap, c.rounds, 1); m != c.turns {
			t.Errorf("gap %v, %d rounds: %d turns, want %d", c.gap, c.rounds, m, c.turns)
		}
		near(t, "bound", ExploreThenCommitBound([]float64{0, c.gap}, c.turns, c.rounds, 1), c.bound)
		near(t, "bound of two arms", ExploreThenCommitTwoArmBound(c.gap, c.rounds, 1), c.two)
		near(t, "scaled", ExploreThenCommitTwoArmBound(3*c.gap, c.rounds, 3), 3*c.two)
	}
	near(t, "three arms", ExploreThenCommitBound([]float64{0, .3, .2}, 50, 10000, 1), 2179.213441)
	if b := ExploreThenCommitBound([]float64{0, .5}, 10, 1000, 1); !(b > 267.27805 && b < 267.27815) {
		t.Errorf("ten turns: %v, want 267.2781", b)
	}
	if m := ExploreThenCommitTurns(1e-3, 10, 1e-9) + ExploreThenCommitTurns(.5, 20, 1); m > 11 {
		t.Errorf("%d turns", m)
	}
	wrong, regret := ExploreThenCommitGaussian(.5, 67, 1000, 1)
	near(t, "P of the wrong arm", wrong, 0.001902087791)
	near(t, "regret", regret, 34.32360401)
	wrong, regret = ExploreThenCommitGaussian(.5, 10, 1000, 1)
	near(t, "P of the wrong arm", wrong, 0.1317762386)
	near(t, "regret", regret, 69.57035693)
}

// The share of wrong commitments is the exact one, within 4 standard errors.
func TestExploreThenCommitGaussian(t *testing.T) {
	runs, wrong := testsize.Of(20000, 2000), 0.0
	for run := range runs {
		e, r := made(NewPlayer(2, ExploreThenCommit{Turns: 10})), random.New(uint64(run), "commit")
		for range 20 {
			k := e.Draw(r)
			if err := e.Update(k, .5*float64(k)+r.NormFloat64()); err != nil {
				t.Fatal(err)
			}
		}
		wrong += float64(e.Draw(r))
	}
	withinErrors(t, wrong/float64(runs), 0.1317762386, runs)
}
