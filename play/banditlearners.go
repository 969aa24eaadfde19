package play

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// BanditProblem is what is known about a bandit game before its first round.
type BanditProblem struct {
	// Arms is the number of arms d, and Rounds the horizon T.
	Arms, Rounds int
	// Limit is L if all losses are in [0, L], and +Inf if they are not.
	Limit float64
	// Binary reports that all losses are 0 or L.
	Binary bool
	// Independent reports that the losses are independent with fixed means, and Deviation is then
	// σ: the losses minus their means are σ-subgaussian. Deviation is L/2 for other losses.
	Independent bool
	Deviation   float64
	// Gaps are the mean losses above the lowest, the same in all rounds, nil if they change or are
	// unknown. Bounds use them; of the algorithms only explore-then-commit does, for two arms.
	Gaps []float64
}

// BanditEntry describes a bandit algorithm that [RunBandits] makes by name.
type BanditEntry struct {
	// Name is the algorithm's name.
	Name string
	// Bound is the order of its regret, Knows what it requires, and Cost the time of a round.
	Bound, Knows, Cost string
	// Options are what can be set, all with defaults.
	Options []oco.Option
	// Source is where the algorithm comes from.
	Source string
	// Make prepares the algorithm for a game. It returns an error if the algorithm cannot play it.
	// The function gives options their values, as for [oco.Entry].
	Make func(p BanditProblem, option func(name string) float64) (Contender, error)
}

// Contender is a bandit algorithm prepared for a game.
type Contender struct {
	// New makes the player of a run.
	New func() (regret.BanditPlayer, error)
	// Bound bounds the expected regret after some rounds, at most the horizon; nil if the theory
	// gives no bound for the game.
	Bound func(rounds int) float64
}

// prepare makes the contender for a game, and a player to see that it can be made.
func (e *BanditEntry) prepare(p BanditProblem, options map[string]float64) (Contender, error) {
	err := named.CheckOptions(e.Name, options, e.Options, func(o *oco.Option) string { return o.Name },
		func(o *oco.Option, v float64) error {
			if !vec.IsFinite(v) {
				return noregret.Errorf(noregret.Usage, e.Name+":"+o.Name, "%v: want a finite number", v)
			}
			return nil
		})
	if err != nil {
		return Contender{}, err
	}
	c, err := e.Make(p, oco.Values(e.Options, options))
	if err != nil {
		return Contender{}, err
	}
	if c.New == nil {
		return Contender{}, noregret.Errorf(noregret.Usage, "learner", "%q: its constructor made no player", e.Name)
	}
	_, err = c.New()
	return c, err
}

// banditLearners are the algorithms of package bandit.
func banditLearners() []BanditEntry {
	return append(adversarialLearners(), stochasticLearners()...)
}

// FindBandit returns the bandit algorithm with the given name.
func FindBandit(name string) (*BanditEntry, error) {
	return named.Find("learner", name, banditLearners(), func(e *BanditEntry) string { return e.Name })
}

// bounded returns an error for games whose losses are not in [0, L].
func bounded(p BanditProblem) error {
	if math.IsInf(p.Limit, 1) {
		return noregret.Errorf(noregret.Usage, "losses", "the losses have no range [0, L], which this learner needs")
	}
	return nil
}

// rateOption is the learning rate of an algorithm that tunes it to the horizon.
func rateOption() oco.Option {
	return oco.Option{Name: "rate", Derived: "tuned to T", Help: "the learning rate η"}
}

// adversarialLearners are the algorithms whose bounds hold against an adversary.
func adversarialLearners() []BanditEntry {
	return append([]BanditEntry{
		{
			Name: "exploring", Bound: "3·2^(−1/3)·L·(dT)^(2/3)·(ln d)^(1/3)", Knows: "L, T", Cost: "O(log d)",
			Options: []oco.Option{rateOption(), {
				Name: "explore", Derived: "tuned to T", Help: "the share of uniform draws, above 0, at most 1",
			}},
			Source: "Orabona 2019, Algorithm 10.1", Make: makeExploring,
		},
		{
			Name: "exp3", Bound: "L·√(2dT·ln d)", Knows: "L, T", Cost: "O(log d)", Options: []oco.Option{rateOption()},
			Source: "Auer, Cesa-Bianchi, Freund and Schapire 2002; Orabona 2019, Algorithm 10.2",
			Make: func(p BanditProblem, option func(string) float64) (Contender, error) {
				if err := bounded(p); err != nil {
					return Contender{}, err
				}
				rate := derived(option, "rate", bandit.Exp3Rate(p.Arms, p.Rounds, p.Limit))
				return Contender{
					New:   player(p.Arms, bandit.Exp3{Rate: rate, Limit: p.Limit}),
					Bound: func(n int) float64 { return bandit.Exp3Bound(p.Arms, n, p.Limit, rate) },
				}, nil
			},
		},
		{
			Name: "exp3-anytime", Bound: "2L·√(dT·ln d)", Knows: "L", Cost: "O(d)",
			Source: "Bubeck and Cesa-Bianchi 2012, Theorem 3.1",
			Make: func(p BanditProblem, _ func(string) float64) (Contender, error) {
				if err := bounded(p); err != nil {
					return Contender{}, err
				}
				return Contender{
					New:   player(p.Arms, bandit.AnytimeExp3{Limit: p.Limit}),
					Bound: func(n int) float64 { return bandit.AnytimeExp3Bound(p.Arms, n, p.Limit) },
				}, nil
			},
		},
		{
			Name: "exp3-ix", Bound: "L·(2·√(2dT·ln d) + (√(2dT/ln d) + 1)·ln(2e))", Knows: "L, T", Cost: "O(log d)",
			Options: []oco.Option{rateOption()}, Source: "Neu 2015", Make: makeExp3IX,
		},
	}, tsallisLearners()...)
}

// tsallisLearners are the algorithms with the Tsallis entropy.
func tsallisLearners() []BanditEntry {
	return []BanditEntry{
		{
			Name: "inf", Bound: "2L·√(2dT)", Knows: "L, T", Cost: "O(d)",
			Options: []oco.Option{rateOption(), {
				Name: "q", Default: 0.5, Help: "the exponent of the Tsallis entropy, between 0 and 1",
			}},
			Source: "Audibert and Bubeck 2009; Orabona 2019, Algorithm 10.3",
			Make: func(p BanditProblem, option func(string) float64) (Contender, error) {
				if err := bounded(p); err != nil {
					return Contender{}, err
				}
				q := option("q")
				rate := derived(option, "rate", bandit.INFRate(p.Arms, p.Rounds, q, p.Limit))
				return Contender{
					New:   player(p.Arms, bandit.INF{Rate: rate, Q: q, Limit: p.Limit}),
					Bound: func(n int) float64 { return bandit.INFBound(p.Arms, n, q, p.Limit, rate) },
				}, nil
			},
		},
		{
			Name: "tsallis-inf", Bound: "L·(4·√(dT) + 1), Σ (4·ln T + 16)/Δ + …", Knows: "L", Cost: "O(d)",
			Options: []oco.Option{{
				Name: "reduced",
				Help: "1 for the estimator of reduced variance, 0 for importance weights",
			}},
			Source: "Zimmert and Seldin 2021", Make: makeTsallis,
		},
	}
}

func makeExploring(p BanditProblem, option func(string) float64) (Contender, error) {
	if err := bounded(p); err != nil {
		return Contender{}, err
	}
	o := bandit.ExploringTuning(p.Arms, p.Rounds, p.Limit, false)
	o.Rate, o.Explore = derived(option, "rate", o.Rate), derived(option, "explore", o.Explore)
	return Contender{
		New:   player(p.Arms, o),
		Bound: func(n int) float64 { return bandit.ExploringBound(p.Arms, n, o) },
	}, nil
}

// expectedIX is the δ at which the bound of Exp3-IX bounds the expected regret. The regret exceeds
// a + b·ln(2/δ) with probability at most δ, for every δ at once, so that its expectation is at most
// a + b·∫ min(1, 2·e^(−x)) dx = a + b·(1 + ln 2): the bound at δ = 1/e.
var expectedIX = 1 / math.E

func makeExp3IX(p BanditProblem, option func(string) float64) (Contender, error) {
	if err := bounded(p); err != nil {
		return Contender{}, err
	}
	tuned := bandit.Exp3IXRate(p.Arms, p.Rounds)
	rate := derived(option, "rate", tuned)
	c := Contender{New: player(p.Arms, bandit.Exp3IX{Rate: rate, Limit: p.Limit})}
	// With the rate of the horizon the bound at the horizon holds in every round before, too.
	if rate == tuned {
		c.Bound = func(int) float64 { return bandit.Exp3IXBound(p.Arms, p.Rounds, p.Limit, expectedIX) }
	}
	return c, nil
}

func makeTsallis(p BanditProblem, option func(string) float64) (Contender, error) {
	if err := bounded(p); err != nil {
		return Contender{}, err
	}
	estimator, reduced := bandit.ImportanceWeighted, option("reduced")
	switch reduced {
	case 0:
	case 1:
		estimator = bandit.ReducedVariance
	default:
		return Contender{}, noregret.Errorf(noregret.Usage, "tsallis-inf:reduced", "%v: want 0 or 1", reduced)
	}
	c := Contender{
		New: player(p.Arms, bandit.TsallisINF{Estimator: estimator, Limit: p.Limit}),
	}
	if estimator == bandit.ImportanceWeighted {
		c.Bound = func(n int) float64 {
			bound := bandit.TsallisINFBound(p.Arms, n, p.Limit)
			if p.Gaps != nil {
				bound = min(bound, bandit.TsallisINFGapBound(p.Gaps, n, p.Limit))
			}
			return bound
		}
	}
	return c, nil
}

// stochasticLearners are the algorithms for independent losses.
func stochasticLearners() []BanditEntry {
	return []BanditEntry{
		{
			Name: "ucb", Bound: "Σ 8ασ²·ln T/Δ", Knows: "σ", Cost: "O(d)",
			Options: []oco.Option{
				{
					Name: "alpha", Default: 3,
					Help: "the width α of the confidence bounds, above 0; the bound needs one above 2",
				},
				{Name: "sigma", Derived: "the game's", Help: "σ: losses minus their means are σ-subgaussian"},
			},
			Source: "Auer, Cesa-Bianchi and Fischer 2002; Orabona 2019, Algorithm 10.5", Make: makeUCB,
		},
		{
			Name: "moss", Bound: "39σ·√(dT) + Σ Δ", Knows: "σ, T", Cost: "O(d)",
			Options: []oco.Option{
				{Name: "sigma", Derived: "the game's", Help: "σ: losses minus their means are σ-subgaussian"},
			},
			Source: "Audibert and Bubeck 2009; Lattimore and Szepesvári 2020, Theorem 9.1", Make: makeMOSS,
		},
		{
			Name: "kl-ucb", Bound: "Σ Δ·ln T/kl + o(ln T)", Knows: "L", Cost: "O(d)",
			Options: []oco.Option{{
				Name: "c", Help: "the weight of ln ln t in the budget, at least 0",
			}},
			Source: "Garivier and Cappé 2011",
			Make: func(p BanditProblem, option func(string) float64) (Contender, error) {
				if err := bounded(p); err != nil {
					return Contender{}, err
				}
				return Contender{New: player(p.Arms, bandit.KLUCB{C: option("c"), Limit: p.Limit})}, nil
			},
		},
		{
			Name: "thompson", Bound: "Σ Δ·ln T/kl + o(ln T) for losses 0 or 1",
			Knows: "σ, or L = 1 and that losses are 0 or 1",
			Cost:  "O(d)", Source: "Thompson 1933; Agrawal and Goyal 2013", Make: makeThompson,
		},
		{
			Name: "thompson-gaussian", Bound: "O(Σ ln T/Δ)", Knows: "σ", Cost: "O(d)",
			Source: "Agrawal and Goyal 2013", Make: makeGaussianThompson,
		},
		{
			Name: "etc", Bound: "(4σ²/Δ)·(1 + ln(T·Δ²/(4σ²))) for two arms", Knows: "T; of two arms σ and Δ",
			Cost: "O(1)",
			Options: []oco.Option{{
				Name: "turns", Derived: "tuned to T",
				Help: "the pulls of each arm before the commitment: of two arms of known gap the best number, else " +
					"(T/d)^(2/3)",
			}},
			Source: "Orabona 2019, Algorithm 10.4", Make: makeExploreThenCommit,
		},
		{
			Name: "elimination", Bound: "O(Σ ln(d·T)/Δ)", Knows: "nothing", Cost: "O(d)",
			Source: "Even-Dar, Mannor and Mansour 2006, with an estimated variance",
			Make: func(p BanditProblem, _ func(string) float64) (Contender, error) {
				return Contender{New: player(p.Arms, bandit.Elimination{})}, nil
			},
		},
	}
}

// player returns what makes the players of a rule.
func player(arms int, rule bandit.Rule) func() (regret.BanditPlayer, error) {
	return func() (regret.BanditPlayer, error) { return bandit.NewPlayer(arms, rule) }
}

func makeUCB(p BanditProblem, option func(string) float64) (Contender, error) {
	alpha, sigma := option("alpha"), derived(option, "sigma", p.Deviation)
	c := Contender{New: player(p.Arms, bandit.AlphaUCB{Alpha: alpha, Sigma: sigma})}
	if p.Independent && p.Gaps != nil && sigma >= p.Deviation && alpha > 2 {
		c.Bound = func(n int) float64 {
			return min(bandit.AlphaUCBBound(p.Gaps, n, alpha, sigma),
				bandit.AlphaUCBGapFreeBound(p.Gaps, n, alpha, sigma))
		}
	}
	return c, nil
}

func makeMOSS(p BanditProblem, option func(string) float64) (Contender, error) {
	sigma := derived(option, "sigma", p.Deviation)
	c := Contender{New: player(p.Arms, bandit.MOSS{Rounds: p.Rounds, Sigma: sigma})}
	// The pseudo-regret rises, so that the bound at the horizon holds in every round before, too.
	if p.Independent && p.Gaps != nil && sigma >= p.Deviation {
		c.Bound = func(int) float64 { return bandit.MOSSBound(p.Gaps, p.Rounds, sigma) }
	}
	return c, nil
}

func makeThompson(p BanditProblem, option func(string) float64) (Contender, error) {
	if p.Binary && p.Limit == 1 {
		return Contender{New: player(p.Arms, bandit.BernoulliThompson{})}, nil
	}
	return makeGaussianThompson(p, option)
}

func makeGaussianThompson(p BanditProblem, _ func(string) float64) (Contender, error) {
	rule := bandit.GaussianThompson{Sigma: p.Deviation, Prior: bandit.GaussianPrior{Deviation: math.Inf(1)}}
	return Contender{New: player(p.Arms, rule)}, nil
}

func makeExploreThenCommit(p BanditProblem, option func(string) float64) (Contender, error) {
	most := max(p.Rounds/p.Arms, 1)
	turns := math.Ceil(portable.Pow(float64(p.Rounds)/float64(p.Arms), 2.0/3))
	if p.Arms == 2 && p.Independent && p.Gaps != nil && max(p.Gaps[0], p.Gaps[1]) > 0 {
		turns = float64(bandit.ExploreThenCommitTurns(max(p.Gaps[0], p.Gaps[1]), p.Rounds, p.Deviation))
	}
	turns = derived(option, "turns", max(min(turns, float64(most)), 1))
	if !(turns >= 1 && turns <= float64(most)) || turns != math.Floor(turns) {
		return Contender{}, noregret.Errorf(noregret.Usage, "etc:turns", "%v: want an integer from 1 to %d, T/d", turns,
			most)
	}
	m := int(turns)
	c := Contender{New: player(p.Arms, bandit.ExploreThenCommit{Turns: m})}
	if p.Independent && p.Gaps != nil {
		c.Bound = func(n int) float64 {
			if n < m*p.Arms { // the turns are not over
				sum := 0.0
				for _, gap := range p.Gaps {
					sum += float64(float64((n+p.Arms-1)/p.Arms) * gap)
				}
				return sum
			}
			return bandit.ExploreThenCommitBound(p.Gaps, m, n, p.Deviation)
		}
	}
	return c, nil
}
