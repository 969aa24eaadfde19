package play

import (
	"context"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// TestOwnEntries checks that the names of a caller's entries must be new and valid in a spec, and
// that their constructors must not be nil.
func TestOwnEntries(t *testing.T) {
	good := oco.Entry{
		Name: "mine", Kind: "experts",
		Make: func(p oco.Problem, _ map[string]float64) (oco.Learner, error) {
			return oco.NewAdaHedge(p.Set.Dim(), oco.DefaultAdaHedgeAlpha(p.Set.Dim()))
		},
	}
	with := func(learner string, change func(*oco.Entry, *regret.GameEntry)) error {
		e, g := good, regret.GameEntry{Name: "ours", Kind: "experts", Dim: 3}
		g.Make = func(p regret.GameParams, _ func(string) float64) (regret.Game, regret.Facts, error) {
			game, err := regret.NewExpertGame(p.Dim, .1, p.Seed)
			facts := regret.Unknown()
			facts.LipschitzInf = 1
			return game, facts, err
		}
		change(&e, &g)
		results, err := Run(context.Background(), Options{
			Learners: []string{learner}, Game: "ours", Rounds: 50, Runs: 2,
			LearnerEntries: []oco.Entry{e}, GameEntries: []regret.GameEntry{g},
		})
		if err == nil && (len(results) != 2 || !results[0].Holds() || results[0].Game != "ours") {
			t.Errorf("%s: %+v", learner, results)
		}
		return err
	}
	for _, learner := range []string{"mine", "randomized-mine", "adahedge"} {
		if err := with(learner, func(*oco.Entry, *regret.GameEntry) {}); err != nil {
			t.Errorf("%s: %v", learner, err)
		}
	}
	for what, change := range map[string]func(*oco.Entry, *regret.GameEntry){
		"no name":           func(e *oco.Entry, _ *regret.GameEntry) { e.Name = "" },
		"a colon":           func(e *oco.Entry, _ *regret.GameEntry) { e.Name = "a:b" },
		"a known name":      func(e *oco.Entry, _ *regret.GameEntry) { e.Name = "adagrad" },
		"a randomized name": func(e *oco.Entry, _ *regret.GameEntry) { e.Name = "randomized-eg" },
		"a known game":      func(_ *oco.Entry, g *regret.GameEntry) { g.Name = "guess" },
		"a comma":           func(_ *oco.Entry, g *regret.GameEntry) { g.Name = "a,b" },
		"no game":           func(_ *oco.Entry, g *regret.GameEntry) { g.Make = nil },
		"no learner":        func(e *oco.Entry, _ *regret.GameEntry) { e.Make = nil },
		"a nil learner": func(e *oco.Entry, _ *regret.GameEntry) {
			e.Make = func(oco.Problem, map[string]float64) (oco.Learner, error) { return nil, nil }
		},
	} {
		if err := with("mine", change); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("%s: %v", what, err)
		}
	}
}
