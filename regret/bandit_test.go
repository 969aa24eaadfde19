package regret_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/regret"
)

// replicate runs a replication, which must not fail.
func replicate(t testing.TB, o regret.Replication) *regret.BanditReport {
	t.Helper()
	c, err := regret.Replicate(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// arms is the result of a constructor, which must not fail.
func arms(game regret.Arms, err error) regret.Arms {
	if err != nil {
		panic(err)
	}
	return game
}

// entrant is a bandit player with its bound in a game of d arms with losses in [0, 1].
type entrant struct {
	name  string
	make  func() (regret.BanditPlayer, error)
	bound func(rounds int) float64
}

// player returns what makes the players of a rule.
func player(arms int, rule bandit.Rule) func() (regret.BanditPlayer, error) {
	return func() (regret.BanditPlayer, error) { return bandit.NewPlayer(arms, rule) }
}

// adversarial are the players whose bounds hold against an adversary.
func adversarial(d, rounds int) []entrant {
	explore := bandit.ExploringTuning(d, rounds, 1, false)
	exp3, inf, ix := bandit.Exp3Rate(d, rounds, 1), bandit.INFRate(d, rounds, .5, 1), bandit.Exp3IXRate(d, rounds)
	return []entrant{
		{
			"exploring", player(d, explore),
			func(n int) float64 { return bandit.ExploringBound(d, n, explore) },
		},
		{
			"exp3", player(d, bandit.Exp3{Rate: exp3, Limit: 1}),
			func(n int) float64 { return bandit.Exp3Bound(d, n, 1, exp3) },
		},
		{
			"exp3-anytime", player(d, bandit.AnytimeExp3{Limit: 1}),
			func(n int) float64 { return bandit.AnytimeExp3Bound(d, n, 1) },
		},
		{
			"exp3-ix", player(d, bandit.Exp3IX{Rate: ix, Limit: 1}),
			func(int) float64 { return bandit.Exp3IXBound(d, rounds, 1, .01) },
		},
		{
			"inf", player(d, bandit.INF{Rate: inf, Q: .5, Limit: 1}),
			func(n int) float64 { return bandit.INFBound(d, n, .5, 1, inf) },
		},
		{
			"tsallis-inf",
			player(d, bandit.TsallisINF{Limit: 1}),
			func(n int) float64 { return bandit.TsallisINFBound(d, n, 1) },
		},
	}
}

// check fails if the mean regret is above the bound by more than 4 standard errors anywhere.
func (e entrant) check(t *testing.T, game regret.Arms, rounds, runs int) {
	t.Helper()
	c := replicate(t, regret.Replication{
		Player: func(int) (regret.BanditPlayer, error) { return e.make() }, Game: game,
		Rounds: rounds, Runs: runs, Seed: 1, Checkpoints: 6, Theory: e.bound,
	})
	for _, p := range c.Curve {
		if !(p.Regret.Mean-4*p.Regret.StandardError <= p.Theory) {
			t.Errorf("%s: regret %v in round %d, bound %v", e.name, p.Regret, p.Round, p.Theory)
		}
	}
	if p := c.Curve[len(c.Curve)-1]; p.Round != rounds {
		t.Errorf("%s: the curve ends in round %d", e.name, p.Round)
	}
}

// Measured regret is within the bound on random losses and against an adversary.
func TestBanditBoundsOfAdversarialPlayers(t *testing.T) {
	rounds, runs := testsize.Of(5000, 1000), testsize.Of(1000, 30)
	for _, means := range [][]float64{{.1, .5, .9}, {.5, .45}, {.5, .5, .5, .5, .5, .5, .5, .5, .5, .4}} {
		for _, e := range adversarial(len(means), rounds) {
			e.check(t, arms(regret.BernoulliArms(means)), rounds, runs)
		}
	}
	for _, e := range adversarial(4, rounds) {
		e.check(t, arms(regret.SwitchingArms(4, rounds/10)), rounds, runs)
	}
}

func TestBanditBoundsOfStochasticPlayers(t *testing.T) {
	rounds, runs := testsize.Of(10000, 1000), testsize.Of(1000, 50)
	means, gaps := []float64{.2, .5, .4}, []float64{0, .3, .2}
	ucb := func(sigma float64) entrant {
		return entrant{
			"ucb", player(3, bandit.AlphaUCB{Alpha: 3, Sigma: sigma}),
			func(n int) float64 {
				return min(bandit.AlphaUCBBound(gaps, n, 3, sigma), bandit.AlphaUCBGapFreeBound(gaps, n, 3, sigma))
			},
		}
	}
	ucb(.5).check(t, arms(regret.BernoulliArms(means)), rounds, runs)
	ucb(1).check(t, arms(regret.GaussianArms(means, 1)), rounds, runs)
	turns := rounds / 50
	commit := entrant{
		"explore-then-commit", player(3, bandit.ExploreThenCommit{Turns: turns}),
		func(n int) float64 { return bandit.ExploreThenCommitBound(gaps, turns, max(n, 3*turns), 1) },
	}
	commit.check(t, arms(regret.GaussianArms(means, 1)), rounds, runs)
}

// KL-UCB and Thompson sampling attain the lower bound as T grows: after 10,000 rounds their regret
// is within a factor of 2 of it, and below that of UCB with the constants of its theorem.
func TestAsymptoticallyOptimalPlayers(t *testing.T) {
	testsize.NoRace(t)
	rounds, runs, means := 10000, testsize.Of(400, 20), []float64{.2, .5, .4}
	run := func(make func() (regret.BanditPlayer, error)) float64 {
		return replicate(t, regret.Replication{
			Player: func(int) (regret.BanditPlayer, error) { return make() },
			Game:   arms(regret.BernoulliArms(means)), Rounds: rounds, Runs: runs,
		}).Pseudo.Mean
	}
	ucb := run(player(3, bandit.AlphaUCB{Alpha: 3, Sigma: .5}))
	kl := run(player(3, bandit.KLUCB{Limit: 1}))
	thompson := run(player(3, bandit.BernoulliThompson{}))
	gauss := run(player(3, bandit.GaussianThompson{Sigma: .5, Prior: bandit.GaussianPrior{Deviation: math.Inf(1)}}))
	least := bandit.BernoulliLowerBound(means) * math.Log(float64(rounds))
	for name, r := range map[string]float64{"kl-ucb": kl, "thompson": thompson, "gaussian": gauss} {
		if r > 2*least || r > ucb/1.5 || r < least/4 {
			t.Errorf("%s: regret %v, lower bound %v, UCB %v", name, r, least, ucb)
		}
	}
}

// The regret of explore-then-commit on two normal arms is the exact one, within 4 standard errors:
// that of the regret is (T − 2m)·Δ times that of the share of wrong commitments.
func TestExploreThenCommitIsExact(t *testing.T) {
	testsize.NoRace(t)
	for _, turns := range []int{10, 67} {
		wrong, want := bandit.ExploreThenCommitGaussian(.5, turns, 1000, 1)
		runs := testsize.Of(10000, 1000)
		se := float64(1000-2*turns) * .5 * math.Sqrt(wrong*(1-wrong)/float64(runs))
		c := replicate(t, regret.Replication{
			Player: func(int) (regret.BanditPlayer, error) {
				return bandit.NewPlayer(2, bandit.ExploreThenCommit{Turns: turns})
			},
			Game: arms(regret.GaussianArms([]float64{1, .5}, 1)), Rounds: 1000, Runs: runs,
		})
		if math.Abs(c.Pseudo.Mean-want) > 4*se {
			t.Errorf("%d turns: %v, want %v ± %v", turns, c.Pseudo, want, se)
		}
		if sum := c.Pulls[0].Mean + c.Pulls[1].Mean; math.Abs(sum-1000) > 1e-9 {
			t.Errorf("%v pulls", sum)
		}
		if got := c.Pulls[0].Mean * .5; math.Abs(got-c.Pseudo.Mean) > 1e-9 {
			t.Errorf("pulls %v, pseudo-regret %v", c.Pulls, c.Pseudo)
		}
	}
}

// The number of workers does not change a bit of the report.
func TestBanditWorkersDoNotMatter(t *testing.T) {
	report := func(workers int) string {
		return fmt.Sprintf("%#v", *replicate(t, regret.Replication{
			Player: func(int) (regret.BanditPlayer, error) { return player(3, bandit.BernoulliThompson{})() },
			Game:   arms(regret.BernoulliArms([]float64{.1, .5, .9})), Rounds: 300, Runs: 17, Seed: 5, Workers: workers,
			Checkpoints: 5,
		}))
	}
	want := report(1)
	for _, workers := range []int{2, 5, 40} {
		if got := report(workers); got != want {
			t.Errorf("%d workers: %s, want %s", workers, got, want)
		}
	}
}

// fixed pulls one arm always and fails in round fail.
type fixed struct{ arms, arm, fail, round int }

func (f *fixed) Arms() int               { return f.arms }
func (f *fixed) Draw(regret.Uniform) int { return f.arm }

func (f *fixed) Update(int, float64) error {
	if f.round++; f.round == f.fail {
		return noregret.BadInputf("loss", "refused")
	}
	return nil
}

// On losses that are known the realized regret is exact; there is no pseudo-regret without means.
func TestRealizedRegret(t *testing.T) {
	c := replicate(t, regret.Replication{
		Player: func(int) (regret.BanditPlayer, error) { return &fixed{arms: 2, arm: 1}, nil },
		Game:   arms(regret.SwitchingArms(2, 4)), Rounds: 10, Runs: 1, Checkpoints: 1,
	})
	// Arm 0 is best in rounds 1 to 4, 9 and 10: it loses 4, arm 1 loses 6.
	if !math.IsNaN(c.Pseudo.Mean) || c.Realized.Mean != 2 || !math.IsNaN(c.Realized.StandardError) {
		t.Errorf("pseudo %v, realized %v", c.Pseudo, c.Realized)
	}
	if p := c.Curve[0]; p.Round != 10 || p.Regret.Mean != 2 || !math.IsNaN(p.Theory) {
		t.Errorf("curve %v", c.Curve)
	}
	if got := regret.PseudoRegret([]float64{.5, .2, .9}, []float64{10, 100, 1}); math.Abs(got-3.7) > 1e-12 {
		t.Errorf("pseudo-regret %v", got)
	}
}

func TestReplicateRefuses(t *testing.T) {
	game := arms(regret.BernoulliArms([]float64{.1, .5}))
	good := regret.Replication{
		Player: func(int) (regret.BanditPlayer, error) { return &fixed{arms: 2}, nil }, Game: game, Rounds: 5, Runs: 3,
	}
	for what, change := range map[string]func(o *regret.Replication){
		"no player": func(o *regret.Replication) { o.Player = nil },
		"no game":   func(o *regret.Replication) { o.Game = nil },
		"no rounds": func(o *regret.Replication) { o.Rounds = 0 },
		"no runs":   func(o *regret.Replication) { o.Runs = 0 },
		"curve":     func(o *regret.Replication) { o.Checkpoints = -1 },
		"arms": func(o *regret.Replication) {
			o.Player = func(int) (regret.BanditPlayer, error) { return &fixed{arms: 3}, nil }
		},
		"arm": func(o *regret.Replication) {
			o.Player = func(int) (regret.BanditPlayer, error) { return &fixed{arms: 2, arm: 2}, nil }
		},
		"loss": func(o *regret.Replication) {
			o.Player = func(run int) (regret.BanditPlayer, error) { return &fixed{arms: 2, fail: 3 * run}, nil }
		},
	} {
		o := good
		change(&o)
		if _, err := regret.Replicate(context.Background(), o); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := regret.Replicate(ctx, good); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
