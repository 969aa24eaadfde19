package play

import (
	"context"
	"math"
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
		Make: func(p oco.Problem, _ func(string) float64) (oco.Learner, error) {
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
			e.Make = func(oco.Problem, func(string) float64) (oco.Learner, error) { return nil, nil }
		},
	} {
		if err := with("mine", change); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestOwnDefaults: a learner and an algorithm of the caller's own get the defaults of the options
// that they have registered, NaN for one that the problem determines, and given values in their
// place.
func TestOwnDefaults(t *testing.T) {
	options := []oco.Option{
		{Name: "step", Default: 0.25}, {Name: "zero"}, {Name: "tuned", Default: 3, Derived: "from T"},
	}
	var got [4]float64
	see := func(option func(string) float64) {
		got = [4]float64{option("step"), option("zero"), option("tuned"), option("stop")}
	}
	check := func(what string, want [4]float64) {
		t.Helper()
		for i := range want {
			if got[i] != want[i] && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
				t.Errorf("%s: the options are %v, want %v", what, got, want)
				return
			}
		}
	}
	nan := math.NaN()
	learner := oco.Entry{
		Name: "mine", Kind: "experts", Options: options,
		Make: func(p oco.Problem, option func(string) float64) (oco.Learner, error) {
			see(option)
			return oco.NewAdaHedge(p.Set.Dim(), oco.DefaultAdaHedgeAlpha(p.Set.Dim()))
		},
	}
	bandits := BanditEntry{
		Name: "first", Options: options,
		Make: func(p BanditProblem, option func(string) float64) (Contender, error) {
			see(option)
			return Contender{New: func() (regret.BanditPlayer, error) { return alwaysFirst{p.Arms}, nil }}, nil
		},
	}
	for given, want := range map[string][4]float64{
		"": {0.25, 0, nan, nan}, ":step=2:tuned=1": {2, 0, 1, nan},
	} {
		if _, err := Run(context.Background(), Options{
			Learners: []string{"mine" + given}, Game: "experts", Rounds: 2, Runs: 1,
			LearnerEntries: []oco.Entry{learner},
		}); err != nil {
			t.Fatal(err)
		}
		check("learner"+given, want)
		got = [4]float64{}
		if _, err := RunBandits(context.Background(), BanditOptions{
			Learners: []string{"first" + given}, Game: "bernoulli", Rounds: 2, Runs: 1,
			LearnerEntries: []BanditEntry{bandits},
		}); err != nil {
			t.Fatal(err)
		}
		check("bandit"+given, want)
	}
	if text := options[0].DefaultText() + ", " + options[2].DefaultText(); text != "0.25, from T" {
		t.Errorf("the defaults are %s", text)
	}
}
