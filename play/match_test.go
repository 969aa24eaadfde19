package play

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/regret"
)

// TestFitBeforeData: a learner that does not fit a game's outline is refused before the game is
// made, and one that does is played.
func TestFitBeforeData(t *testing.T) {
	var made atomic.Int64 // runs are made in parallel
	entry := regret.GameEntry{
		Name: "costly", Kind: "convex", Dim: 3,
		Make: func(p regret.GameParams, _ func(string) float64) (regret.Game, regret.Facts, error) {
			made.Add(1)
			ball, err := convex.NewCenteredBall(p.Dim, 1)
			if err != nil {
				return nil, regret.Facts{}, err
			}
			g, err := regret.NewNoisy(ball, regret.DefaultNoisyOptions(), p.Seed)
			facts := regret.Unknown()
			facts.Lipschitz, facts.LipschitzInf = 1, 1
			return g, facts, err
		},
		Outline: func(p regret.GameParams, _ func(string) float64) (convex.Set, regret.Facts, error) {
			ball, err := convex.NewCenteredBall(p.Dim, 1)
			return ball, regret.Unknown(), err
		},
	}
	with := func(learner string) error {
		_, err := Run(context.Background(), Options{
			Learners: []string{"ogd-adaptive", learner}, Game: "costly", Rounds: 5, Runs: 1,
			GameEntries: []regret.GameEntry{entry},
		})
		return err
	}
	err := with("adagrad")
	if noregret.CodeOf(err) != noregret.Usage || !strings.Contains(err.Error(), "; it plays guess, ") {
		t.Errorf("%v, want a usage error that lists games", err)
	}
	if made := made.Load(); made != 1 { // the list of games that fit takes the game's defaults
		t.Errorf("the game was made %d times", made)
	}
	// The outline has no Lipschitz constant.
	if err := with("ftrl:alpha=2"); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("%v, want a usage error", err)
	}
	if made := made.Load(); made != 2 {
		t.Errorf("the game was made %d times", made)
	}
	if err := with("ogd-adaptive"); err != nil || made.Load() < 4 {
		t.Errorf("%v, made %d times", err, made.Load())
	}
}

// TestFitOfGamesOfData checks that games with data refuse a learner that does not fit their set
// before they refuse data that exceed memory.
func TestFitOfGamesOfData(t *testing.T) {
	for game, fits := range map[string]string{
		"regression:examples=1e7": "vaw", "classification:examples=1e7": "ogd-adaptive",
	} {
		o := Options{Learners: []string{"adagrad"}, Game: game, Dim: 200000, Rounds: 5, Runs: 1}
		if _, err := Run(context.Background(), o); noregret.CodeOf(err) != noregret.Usage ||
			!strings.Contains(err.Error(), "adagrad cannot play "+game[:8]) {
			t.Errorf("%s: %v", game, err)
		}
		o.Learners = []string{fits}
		if _, err := Run(context.Background(), o); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s: %v, want an error about memory", game, err)
		}
	}
}

// TestMisfit: a learner that does not fit the game is a usage error that lists the games that it
// fits.
func TestMisfit(t *testing.T) {
	for _, c := range []struct {
		learner, game, want string
	}{
		{"adagrad", "linear-ball", "; it plays guess, absolute, linear-box, "},
		{"adagrad", "linear-ball", "linear-box"},
		{"eg:eta=0.5", "guess", "; it plays experts, "},
		{"vaw", "regression:radius=1", "whole space"},
		{"randomized-eg", "expert-trap", "must hide; it plays experts, "},
		{"ogd-fixed:eta=-1", "guess", "ogd-fixed cannot play guess"},
		{"randomized-ftrl", "experts", "ftrl has no weights of experts"},
	} {
		_, err := Run(context.Background(), Options{Learners: []string{c.learner}, Game: c.game, Rounds: 5, Runs: 1})
		if noregret.CodeOf(err) != noregret.Usage || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s in %s: %v, want a usage error with %q", c.learner, c.game, err, c.want)
		}
	}
}
