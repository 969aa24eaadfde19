package bandit_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/experts"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/oco"
)

// maskedWorld is a world of arms that are not always allowed and of losses that do not always come.
type maskedWorld struct {
	name string
	// mean are those of the losses of 0 or 1.
	mean []float64
	// allow returns the probability that an arm is allowed in a round, given its loss.
	allow func(k int, loss float64) float64
	// lost are the probabilities by arm that a loss does not come.
	lost []float64
}

// maskedWorlds are of four arms, of which the first is the best and the last the worst.
func maskedWorlds() []maskedWorld {
	mean, none := []float64{.2, .5, .5, .9}, []float64{0, 0, 0, 0}
	always := func(int, float64) float64 { return 1 }
	half := func(int, float64) float64 { return .5 }
	return []maskedWorld{
		{"the worst arm half the time", []float64{.5, .6, .6, .9}, func(k int, _ float64) float64 {
			if k == 3 {
				return .5
			}
			return 1
		}, none},
		{"the best arm a fifth of the time", mean, func(k int, _ float64) float64 {
			if k == 0 {
				return .2
			}
			return 1
		}, none},
		{"each arm half the time", mean, half, none},
		{"an arm more often where it loses", mean, func(_ int, loss float64) float64 { return .3 + .5*loss }, none},
		{"an arm more often where it does not lose", mean, func(_ int, loss float64) float64 {
			return .8 - .5*loss
		}, none},
		{"lost losses of the worst arm", mean, always, []float64{0, .1, .2, .8}},
		{"lost losses of the best arm", mean, always, []float64{.6, .2, .1, 0}},
		{"both", mean, half, []float64{.1, .2, .4, .8}},
	}
}

// maskedPlayers are all players on four arms, tuned to so many rounds.
func maskedPlayers(t *testing.T, rounds int) []*bandit.Player {
	t.Helper()
	const d = 4
	var out []*bandit.Player
	for _, rule := range []bandit.Rule{
		bandit.ExploringTuning(d, rounds, 1, false), bandit.ExploringTuning(d, rounds, 1, true),
		bandit.Exp3{Rate: bandit.Exp3Rate(d, rounds, 1), Limit: 1},
		bandit.AnytimeExp3{Limit: 1},
		bandit.Exp3IX{Rate: bandit.Exp3IXRate(d, rounds), Limit: 1},
		bandit.INF{Rate: bandit.INFRate(d, rounds, .5, 1), Q: .5, Limit: 1},
		bandit.INF{Rate: bandit.INFRate(d, rounds, .75, 1), Q: .75, Limit: 1},
		bandit.TsallisINF{Limit: 1},
		bandit.TsallisINF{Estimator: bandit.ReducedVariance, Limit: 1},
		bandit.ExploreThenCommit{Turns: 100},
		bandit.AlphaUCB{Alpha: 2.1, Sigma: .5},
		bandit.AlphaUCB{Alpha: 1, Sigma: .5},
		bandit.MOSS{Rounds: rounds, Sigma: .5},
		bandit.KLUCB{Limit: 1},
		bandit.BernoulliThompson{},
		bandit.GaussianThompson{Sigma: .5, Prior: bandit.GaussianPrior{Deviation: math.Inf(1)}},
		bandit.Elimination{},
	} {
		p, err := bandit.NewPlayer(d, rule)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// TestMasksAndLostLosses: a loss that cannot be seen is not zero. For every player, whatever the
// masks and the losses that are lost, the regret over the rounds in which an arm was allowed is
// small against each arm, and the worst arm has less than 2/K of the rounds in which it was.
func TestMasksAndLostLosses(t *testing.T) {
	t.Parallel()
	rounds := testsize.Of(20_000, 8000)
	for _, w := range maskedWorlds() {
		for i, p := range maskedPlayers(t, rounds) {
			d, err := bandit.NewDelayed(p, bandit.DelayedOptions{Window: 100})
			if err != nil {
				t.Fatal(err)
			}
			r := random.New(uint64(i), "masked "+w.name)
			regret, worst, awake := w.play(t, d, r, rounds)
			limit := .06 * float64(rounds)
			switch p.Rule().(type) {
			case bandit.ExploringWeights:
				limit = bandit.ExploringBound(4, rounds, bandit.ExploringTuning(4, rounds, 1, false))
			// arms that are left share evenly, and its intervals hold at all times
			case bandit.Elimination:
				limit = .1 * float64(rounds)
			}
			if !(slices.Max(regret) <= limit) {
				t.Errorf("%s: %v has the regret %.0f in %d rounds", w.name, p, regret, rounds)
			}
			if share := worst / awake; !(share < 2.0/4) {
				t.Errorf("%s: %v gives the worst arm %.3f of the rounds in which it is allowed", w.name, p, share)
			}
		}
	}
}

// play plays rounds and returns the regret against each arm over the rounds in which it was
// allowed, and in how many the worst arm was drawn and allowed.
func (w *maskedWorld) play(t *testing.T, d *bandit.Delayed, r *random.Source, rounds int) (regret []float64, worst,
	awake float64,
) {
	t.Helper()
	arms := len(w.mean)
	regret = make([]float64, arms)
	loss, allowed := make([]float64, arms), make([]bool, arms)
	for range rounds {
		for k := range arms {
			loss[k] = 0
			if r.Float64() < w.mean[k] {
				loss[k] = 1
			}
			allowed[k] = r.Float64() < w.allow(k, loss[k])
		}
		if !slices.Contains(allowed, true) {
			continue
		}
		c, err := d.Choose(r, allowed)
		if err != nil {
			t.Fatal(err)
		}
		for k, ok := range allowed {
			if ok {
				regret[k] += loss[c.Arm] - loss[k]
			}
		}
		if last := arms - 1; allowed[last] {
			awake++
			if c.Arm == last {
				worst++
			}
		}
		if r.Float64() < w.lost[c.Arm] {
			continue // it expires
		}
		if err := d.Learn(c.ID, loss[c.Arm]); err != nil {
			t.Fatal(err)
		}
	}
	return regret, worst, awake
}

// TestAwakeRegretBound: the mean regret over the rounds in which an arm was allowed is within the
// bound of the player for all rounds, where an adversary decides which arms are allowed. One allows
// the arm that is best in a phase in every fourth round of it only. The other allows the worst arm
// in every second round: it has the least losses of all if those of the other rounds do not count.
func TestAwakeRegretBound(t *testing.T) {
	t.Parallel()
	const d, rounds = 3, 3000
	runs := testsize.Of(100, 40)
	rate, inf := bandit.Exp3Rate(d, rounds, 1), bandit.INFRate(d, rounds, .5, 1)
	for name, c := range map[string]struct {
		rule  bandit.Rule
		bound float64
	}{
		"exp3":         {bandit.Exp3{Rate: rate, Limit: 1}, bandit.Exp3Bound(d, rounds, 1, rate)},
		"exp3-anytime": {bandit.AnytimeExp3{Limit: 1}, bandit.AnytimeExp3Bound(d, rounds, 1)},
		"inf":          {bandit.INF{Rate: inf, Q: .5, Limit: 1}, bandit.INFBound(d, rounds, .5, 1, inf)},
		"tsallis-inf":  {bandit.TsallisINF{Limit: 1}, bandit.TsallisINFBound(d, rounds, 1)},
	} {
		for adversary, next := range map[string]func(round int, loss []float64, allowed []bool){
			"the best is rare": func(round int, loss []float64, allowed []bool) {
				best := round * 6 / rounds % d
				for k := range d {
					loss[k], allowed[k] = .5+.4*float64((round/2+k)%2), true
				}
				loss[best], allowed[best] = .1, round%4 == 0
			},
			"the worst is rare": func(round int, loss []float64, allowed []bool) {
				copy(loss, []float64{.5, .6, .9})
				allowed[0], allowed[1], allowed[2] = true, true, round%2 == 0
			},
		} {
			sum, loss, allowed := make([]float64, d), make([]float64, d), make([]bool, d)
			for run := range runs {
				p, err := bandit.NewPlayer(d, c.rule)
				if err != nil {
					t.Fatal(err)
				}
				x, err := bandit.NewDelayed(p, bandit.DefaultDelayedOptions())
				if err != nil {
					t.Fatal(err)
				}
				r := random.New(uint64(run), "awake "+name)
				for round := range rounds {
					next(round, loss, allowed)
					choice, err := x.Choose(r, allowed)
					if err != nil {
						t.Fatal(err)
					}
					if err := x.Learn(choice.ID, loss[choice.Arm]); err != nil {
						t.Fatal(err)
					}
					for k, ok := range allowed {
						if ok {
							sum[k] += loss[choice.Arm] - loss[k]
						}
					}
				}
			}
			for k := range sum {
				if mean := sum[k] / float64(runs); !(mean <= c.bound) {
					t.Errorf("%s, %s: the mean regret against arm %d is %.1f, the bound is %.1f", name, adversary, k,
						mean, c.bound)
				}
			}
		}
	}
}

// TestEstimatesWithMasks computes the expectation of the estimates of a round over all draws: it is
// the loss of each arm that is allowed, and what the player loses for each arm that is not. The
// mean of the estimates over the weights of all arms is then that of the draw: the identity of
// sleeping experts.
func TestEstimatesWithMasks(t *testing.T) {
	t.Parallel()
	const d = 4
	loss := []float64{.3, .8, .1, .6}
	allowed := []bool{true, false, true, true}
	for i := range 7 {
		start := func() *bandit.Delayed {
			x, err := bandit.NewDelayed(maskedPlayers(t, 50)[2:9][i], bandit.DefaultDelayedOptions())
			if err != nil {
				t.Fatal(err)
			}
			r := random.New(1, "start")
			for range 20 {
				c, err := x.Choose(r, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := x.Learn(c.ID, loss[c.Arm]); err != nil {
					t.Fatal(err)
				}
			}
			return x
		}
		of := func(x *bandit.Delayed) []float64 {
			return slices.Clone(x.Player().(*bandit.Player).Estimates())
		}
		x := start()
		if _, ok := x.Player().(*bandit.Player).Rule().(bandit.Exp3IX); ok {
			continue // its estimates are too small on purpose
		}
		before := of(x)
		p, _, err := x.Distribution(allowed)
		if err != nil {
			t.Fatal(err)
		}
		p = slices.Clone(p)
		want, mean := slices.Clone(loss), make([]float64, d)
		want[1] = 0
		for k, v := range p {
			want[1] += v * loss[k]
		}
		for arm, v := range p {
			if v == 0 {
				continue
			}
			x := start()
			u := v / 2
			for _, q := range p[:arm] {
				u += q
			}
			c, err := x.Choose(number(u), allowed)
			if err != nil || c.Arm != arm || c.Propensity != v {
				t.Fatalf("%v: %+v, %v: want arm %d", x, c, err, arm)
			}
			if err := x.Learn(c.ID, loss[arm]); err != nil {
				t.Fatal(err)
			}
			for k, g := range of(x) {
				mean[k] += v * (g - before[k])
			}
		}
		for k := range want {
			if math.Abs(mean[k]-want[k]) > 1e-12 {
				t.Errorf("%v: the estimates are %v in the mean, want %v", x, mean, want)
				break
			}
		}
	}
}

// number is a source with one number.
type number float64

func (n number) Float64() float64 { return float64(n) }

// TestReplacedLosses: a loss that does not come counts as the mean of those that came, in the
// middle of the range before the first, for players on estimates, and the count says so.
func TestReplacedLosses(t *testing.T) {
	t.Parallel()
	p, err := bandit.NewPlayer(2, bandit.Exp3{Rate: 1e-9, Limit: 1}) // the propensities stay ½
	if err != nil {
		t.Fatal(err)
	}
	d, err := bandit.NewDelayed(p, bandit.DelayedOptions{Window: 2})
	if err != nil {
		t.Fatal(err)
	}
	pull := func(u number) uint64 {
		t.Helper()
		c, err := d.Choose(u, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c.ID
	}
	check := func(what string, want ...float64) {
		t.Helper()
		for k, g := range p.Estimates() {
			if math.Abs(g-want[k]) > 1e-6 {
				t.Errorf("%s: the estimates are %v, want %v", what, p.Estimates(), want)
			}
		}
	}
	if err := d.Forget(pull(.1)); err != nil {
		t.Fatal(err)
	}
	check("before the first loss", 1, 0)
	if err := d.Learn(pull(.1), .25); err != nil {
		t.Fatal(err)
	}
	check("a loss", 1.5, 0)
	pull(.9)
	pull(.9)
	check("waiting", 1.5, 0)
	pull(.9) // the first of the three expires
	check("expired", 1.5, .5)
	if d.Lost() != 2 || d.Replaced() != 2 || p.Rounds() != 3 {
		t.Errorf("%d lost, %d replaced, %d rounds", d.Lost(), d.Replaced(), p.Rounds())
	}
	u, err := bandit.NewPlayer(2, bandit.AlphaUCB{Alpha: 3, Sigma: 1})
	if err != nil {
		t.Fatal(err)
	}
	if d, err = bandit.NewDelayed(u, bandit.DelayedOptions{Window: 2}); err != nil {
		t.Fatal(err)
	}
	if err := d.Forget(pull(0)); err != nil {
		t.Fatal(err)
	}
	if d.Lost() != 1 || d.Replaced() != 0 || u.Rounds() != 0 {
		t.Errorf("%v: %d lost, %d replaced", d, d.Lost(), d.Replaced())
	}
}

// TestMasksAndSpecialists: with estimates of ⟨p, g̃⟩ = g_A the propensities are those of
// experts.Specialists on the estimates; with those of Exp3IX they are not.
func TestMasksAndSpecialists(t *testing.T) {
	t.Parallel()
	const d, rate, limit = 4, .1, 2
	hedge := func() experts.Learner { return must(oco.NewExponentiatedGradient(d, nil, rate)) }
	for _, c := range []struct {
		rule    bandit.Rule
		learner experts.Learner
		bias    float64 // γ of the estimate g/(p + γ)
		same    bool
	}{
		{bandit.Exp3{Rate: rate, Limit: limit}, hedge(), 0, true},
		{bandit.INF{Rate: rate, Q: .5, Limit: limit}, must(oco.NewFTRL(
			must(convex.Restrict(must(convex.NewTsallis(d, .5)), must(convex.NewSimplex(d)))), nil,
			oco.ConstantWeight(1/rate))), 0, true},
		{bandit.Exp3IX{Rate: rate * limit, Limit: limit}, hedge(), rate * limit / 2, false},
	} {
		delayed := must(bandit.NewDelayed(must(bandit.NewPlayer(d, c.rule)), bandit.DelayedOptions{Window: 1}))
		specialists := must(experts.NewSpecialists(c.learner))
		r, apart := random.New(5, "specialists"), 0.0
		for range 200 {
			allowed, awake := make([]bool, d), make([]float64, d)
			allowed[r.IntN(d)] = true
			for k := range allowed {
				if allowed[k] = allowed[k] || r.IntN(2) == 0; allowed[k] {
					awake[k] = 1
				}
			}
			if err := specialists.Confidence(awake); err != nil {
				t.Fatal(err)
			}
			p, _, err := delayed.Distribution(allowed)
			if err != nil {
				t.Fatal(err)
			}
			for k, x := range specialists.Predict() {
				apart = max(apart, math.Abs(x-p[k]))
			}
			choice := must(delayed.Choose(r, allowed))
			loss, estimates := limit*r.Float64(), make([]float64, d)
			estimates[choice.Arm] = loss / (choice.Propensity + c.bias)
			if err := errors.Join(delayed.Learn(choice.ID, loss), specialists.Update(estimates)); err != nil {
				t.Fatal(err)
			}
		}
		if (apart < 1e-9) != c.same {
			t.Errorf("%v: the propensities are %v apart", delayed, apart)
		}
	}
}

// must returns v, or panics with the error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
