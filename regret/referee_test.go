package regret_test

import (
	"context"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// TestEveryLearnerInEveryGame: the certificate holds wherever a learner accepts a game.
func TestEveryLearnerInEveryGame(t *testing.T) {
	const rounds = 200
	games := map[string]int{}
	learners := map[string]int{}
	for _, e := range regret.Games() {
		params := []regret.GameParams{{Rounds: rounds, Seed: 1}, {Rounds: rounds, Seed: 2}}
		if !e.FixedDim {
			params[1].Dim = 3
		}
		for _, o := range e.Options { // also a regression on a ball
			if e.Name == "regression" && o.Name == "radius" {
				params = append(params, regret.GameParams{
					Rounds: rounds, Seed: 3,
					Options: map[string]float64{"radius": 2},
				})
			}
		}
		for _, p := range params {
			g, f, err := e.New(p)
			if err != nil {
				t.Fatalf("%s: %v", e.Name, err)
			}
			for _, le := range oco.Learners() {
				options := map[string]float64{}
				if le.Name == "composite-ftrl" {
					options["kappa"] = f.L1
				}
				l, err := le.New(problem(g.Set(), rounds, f), options)
				if err != nil {
					continue
				}
				var player regret.Player = l
				switch {
				case f.Vertices:
					player = must(regret.NewDeterministic(l))
				case le.Name == "composite-ftrl" && f.L1 > 0:
					player = must(regret.NewWithoutL1(l, f.L1))
				}
				c, err := regret.Play(context.Background(), player, g, rounds, regret.Options{Checkpoints: 5})
				if err != nil {
					t.Errorf("%s in %s: %v", le.Name, e.Name, err)
					continue
				}
				games[e.Name]++
				learners[le.Name]++
				if !c.Holds() || math.IsNaN(c.Regret) {
					t.Errorf("%s in %s: regret %v above the bound %v", le.Name, e.Name, c.Regret, c.Bound)
				}
				for _, p := range c.Curve {
					if !c.Noisy && p.Regret > p.Bound*(1+1e-9)+1e-10 {
						t.Errorf("%s in %s, round %d: regret %v above the bound %v", le.Name, e.Name, p.Round, p.Regret,
							p.Bound)
					}
				}
				if c.Comparator == nil || c.Gap > 1e-6*(1+math.Abs(c.ComparatorLoss)) && !math.IsInf(c.Gap, 1) {
					t.Errorf("%s in %s: comparator %v, gap %v", le.Name, e.Name, c.Comparator, c.Gap)
				}
			}
		}
	}
	for _, e := range regret.Games() {
		if games[e.Name] < 2 {
			t.Errorf("%s was played by only %d learners", e.Name, games[e.Name])
		}
	}
	for _, e := range oco.Learners() {
		if learners[e.Name] == 0 {
			t.Errorf("%s plays no game", e.Name)
		}
	}
	t.Logf("played: %v\nby: %v", games, learners)
}

// recorder keeps the data for a big-float sum.
type recorder struct {
	regret.Game
	paid *big.Float
	sum  []*big.Float
}

func (g *recorder) Next(x []float64) (loss.Function, error) {
	f, err := g.Game.Next(x)
	if err != nil {
		return nil, err
	}
	g.paid.Add(g.paid, big.NewFloat(f.Value(x)))
	for i, v := range f.(*loss.Linear).C {
		g.sum[i].Add(g.sum[i], big.NewFloat(v))
	}
	return f, nil
}

// TestExact: the regret of 10^6 linear rounds against sums of 300 bits.
func TestExact(t *testing.T) {
	testsize.NoRace(t)
	if testing.Short() {
		t.Skip("short")
	}
	const rounds = 1000000
	inner, f, err := must(regret.FindGame("linear-box")).New(
		regret.GameParams{Dim: 2, Rounds: rounds, Seed: 4, Options: map[string]float64{"bias": 0, "lipschitz": 1e5}})
	if err != nil {
		t.Fatal(err)
	}
	g := &recorder{
		Game: inner, paid: new(big.Float).SetPrec(300),
		sum: []*big.Float{new(big.Float).SetPrec(300), new(big.Float).SetPrec(300)},
	}
	l := must(must(oco.Find("ogd-adaptive")).New(problem(g.Set(), rounds, f), nil))
	c := play(t, l, g, rounds)
	want := new(big.Float).SetPrec(300).Set(g.paid)
	for _, s := range g.sum {
		want.Add(want, new(big.Float).Abs(s)) // the best point is a corner of [−1, 1]²
	}
	exact, _ := want.Float64()
	paid, _ := g.paid.Float64()
	if c.LearnerLoss != paid || math.Abs(c.Regret-exact) > 4e-16*(math.Abs(exact)+math.Abs(paid)) {
		t.Errorf("loss %.17g of %.17g, regret %.17g, exactly %.17g", c.LearnerLoss, paid, c.Regret, exact)
	}
	if !c.Holds() {
		t.Errorf("regret %v, bound %v", c.Regret, c.Bound)
	}
}

// TestMemory checks that rounds allocate nothing.
func TestMemory(t *testing.T) {
	for _, name := range []string{
		"linear-ball", "linear-space", "linear-box", "experts", "guess", "drift", "gradual",
		"sparse", "rademacher-ball", "minimax-box", "decreasing-rate", "regression",
	} {
		const short, long = 10, 2010
		allocations := func(rounds int) float64 {
			g, f, err := must(regret.FindGame(name)).New(regret.GameParams{Rounds: long, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			var l regret.Player = must(must(oco.Find("ftrl")).New(problem(g.Set(), long, linearFacts(1, 0)),
				nil))
			if f.Features {
				l = must(must(oco.Find("vaw")).New(problem(g.Set(), long, f), nil))
			}
			return testing.AllocsPerRun(3, func() { play(t, l, g, rounds) })
		}
		if a, b := allocations(short), allocations(long); b > a+3 {
			t.Errorf("%s: %v allocations for %d rounds, %v for %d", name, a, short, b, long)
		}
	}
}

func TestComparators(t *testing.T) {
	ys := []float64{.2, .9, .4, .7}
	g := must(regret.NewGuess(ys, 0))
	start := []float64{.5}
	l := func() oco.Learner { return must(oco.NewMeanLeader(g.Set(), start)) }
	c := play(t, l(), g, 4)
	near(t, "loss", c.LearnerLoss, .6425)
	near(t, "regret", c.Regret, .3525)
	near(t, "best constant", c.Comparator[0], .55)
	near(t, "its loss", c.ComparatorLoss, .29)
	c = must(regret.Play(context.Background(), l(), g, 4, regret.Options{
		Comparator: []float64{.25},
		Moving:     func(dst []float64, t int) { dst[0] = ys[t-1] - 0.1 },
	}))
	near(t, "given comparator", c.ComparatorLoss, .05*.05+.65*.65+.15*.15+.45*.45)
	near(t, "dynamic regret", c.DynamicRegret, .6425-.04)
	if c.Gap != 0 || c.Comparator[0] != .25 {
		t.Errorf("gap %v, comparator %v", c.Gap, c.Comparator)
	}
	// A curve ends with the certificate.
	c = must(regret.Play(context.Background(), l(), must(regret.NewGuess(nil, 1)), 1000,
		regret.Options{Checkpoints: 7}))
	last := c.Curve[len(c.Curve)-1]
	if len(c.Curve) != 7 || c.Curve[0].Round != 1 || last.Round != 1000 || last.Regret != c.Regret ||
		last.Bound != c.Bound {
		t.Errorf("curve %v, regret %v", c.Curve, c.Regret)
	}
	if p := c.Tightest(); p == nil || p.Regret/p.Bound < c.Ratio() {
		t.Errorf("tightest %v, ratio %v", p, c.Ratio())
	}
}

// far plays a point far away.
type far struct{ x []float64 }

func (p *far) Dim() int               { return len(p.x) }
func (p *far) Predict() []float64     { return p.x }
func (p *far) Update([]float64) error { return nil }

func TestDiverged(t *testing.T) {
	g := must(regret.NewRegression([]regret.Example{{[]float64{1}, 1}}, math.Inf(1)))
	for x, want := range map[float64]noregret.Code{
		1e200: noregret.Diverged, math.Inf(1): noregret.BadInput,
		math.NaN(): noregret.BadInput,
	} {
		if _, err := regret.Play(context.Background(), &far{[]float64{x}}, g, 3,
			regret.Options{}); noregret.CodeOf(err) != want {
			t.Errorf("at %v: %v, want code %v", x, err, want)
		}
	}
}

// TestHoldsIsRelative: the rounding that Holds allows shrinks with the losses, and grows with
// losses that cancel.
func TestHoldsIsRelative(t *testing.T) {
	for _, c := range []struct {
		cert regret.Certificate
		want bool
	}{
		{regret.Certificate{LearnerLoss: 3e-13, Magnitude: 3e-13, Regret: 3e-13, Bound: 1e-13}, false},
		{regret.Certificate{LearnerLoss: 3e-300, ComparatorLoss: 2e-300, Regret: 1e-300}, false},
		{regret.Certificate{}, true},
		{regret.Certificate{LearnerLoss: 1, Magnitude: 1, Regret: 1 + 1e-11, Bound: 1}, true},
		{regret.Certificate{LearnerLoss: 1, Magnitude: 1, Regret: 1 + 1e-8, Bound: 1}, false},
		{regret.Certificate{LearnerLoss: 1e-9, Magnitude: 1e6, Regret: 1e-9}, true},
		{regret.Certificate{LearnerLoss: 1e-9, Magnitude: 1e-9, Regret: 1e-9}, false},
		{regret.Certificate{Bound: math.Inf(1), Regret: 1e300}, true},
		{regret.Certificate{Bound: math.NaN()}, false},
	} {
		if got := c.cert.Holds(); got != c.want {
			t.Errorf("%+v: %v", c.cert, got)
		}
	}
}

func TestPlayRefuses(t *testing.T) {
	g := must(regret.NewGuess(nil, 1))
	one, two := descent(g.Set(), oco.Constant(.1)), descent(must(convex.NewSpace(2)), oco.Constant(.1))
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := regret.Play(canceled, one, g, 10, regret.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if _, _, _, err := regret.Replay(canceled, g, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	for name, c := range map[string]struct {
		p      regret.Player
		g      regret.Game
		rounds int
		o      regret.Options
		want   noregret.Code
	}{
		"dimension":   {two, g, 10, regret.Options{}, noregret.BadInput},
		"rounds":      {one, g, 0, regret.Options{}, noregret.Usage},
		"nil":         {nil, g, 1, regret.Options{}, noregret.Usage},
		"checkpoints": {one, g, 1, regret.Options{Checkpoints: -1}, noregret.Usage},
		"comparator":  {one, g, 1, regret.Options{Comparator: []float64{2}}, noregret.BadInput},
		"length":      {one, g, 1, regret.Options{Comparator: []float64{.2, .2}}, noregret.BadInput},
		"horizon": {
			descent(interval(), oco.FixedHorizon(1, 1, 3)), regret.NewLeaderTrap(), 4,
			regret.Options{},
			noregret.BadInput,
		},
	} {
		if _, err := regret.Play(context.Background(), c.p, c.g, c.rounds, c.o); noregret.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want code %v", name, err, c.want)
		}
	}
	_, err := regret.Play(context.Background(), descent(interval(), oco.FixedHorizon(1, 1, 3)), regret.NewLeaderTrap(),
		4, regret.Options{})
	if err == nil || !strings.Contains(err.Error(), "round 4") {
		t.Errorf("an error in round 4: %v", err)
	}
	calls := 0
	must(regret.Play(context.Background(), one, g, 1000, regret.Options{Progress: func(n int, mean float64) {
		if calls++; n%256 != 0 || !(mean > 0 && mean < 1) {
			t.Errorf("progress(%d, %v)", n, mean)
		}
	}}))
	if calls != 3 {
		t.Errorf("progress was called %d times", calls)
	}
}

// dense hides all methods of a learner but those of oco.Learner and Bound.
type dense struct{ oco.Learner }

func (p dense) Bound(u []float64) (float64, error) { return p.Learner.(oco.Bounder).Bound(u) }

// counting counts the dense and the sparse subgradients that a learner receives.
type counting struct {
	oco.SparseLearner
	dense, sparse, nonZeros int
}

func (p *counting) Update(g []float64) error {
	p.dense++
	return p.SparseLearner.Update(g)
}

func (p *counting) UpdateSparse(g loss.Sparse) error {
	p.sparse++
	p.nonZeros += len(g.Index)
	return p.SparseLearner.UpdateSparse(g)
}

func (p *counting) Bound(u []float64) (float64, error) { return p.SparseLearner.(oco.Bounder).Bound(u) }

// TestSparseSubgradients: learners that accept sparse subgradients receive those of a sparse game,
// and the certificate is that of dense ones, bit for bit.
func TestSparseSubgradients(t *testing.T) {
	const d, rounds, density = 40, 300, 0.1
	box, space := must(convex.NewCube(d, -1, 1)), must(convex.NewSpace(d))
	for name, c := range map[string]struct {
		set  convex.Set
		make func() oco.Learner
	}{
		"adagrad": {box, func() oco.Learner { return must(oco.NewAdaGrad(box, nil)) }},
		"descent": {box, func() oco.Learner { return descent(box, oco.InverseSqrt(1, 1)) }},
		"ftrl-proximal": {space, func() oco.Learner {
			return must(oco.NewFTRLProximal(d, oco.FTRLProximalOptions{A: 1, Beta: 1}))
		}},
	} {
		options := regret.DefaultNoisyOptions()
		options.Bias, options.Density = .1, density
		game := must(regret.NewNoisy(c.set, options, 3))
		sparse := &counting{SparseLearner: c.make().(oco.SparseLearner)}
		a := play(t, sparse, game, rounds)
		b := play(t, dense{c.make()}, game, rounds)
		if a.LearnerLoss != b.LearnerLoss || a.Regret != b.Regret || a.Bound != b.Bound {
			t.Errorf("%s: sparse %+v, dense %+v", name, a, b)
		}
		if sparse.dense != 0 || sparse.sparse != rounds || sparse.nonZeros > 2*density*d*rounds {
			t.Errorf("%s: %d dense and %d sparse subgradients with %d non-zeros", name, sparse.dense, sparse.sparse,
				sparse.nonZeros)
		}
		options.Density = 1
		full := must(regret.NewNoisy(c.set, options, 3))
		if play(t, sparse, full, rounds); sparse.dense != rounds {
			t.Errorf("%s: %d dense subgradients in a dense game", name, sparse.dense)
		}
	}
}

// TestSparseExamples: rows of a data set with few non-zeros reach the learner as sparse
// subgradients, others as dense ones, and the certificate is that of dense ones, bit for bit.
func TestSparseExamples(t *testing.T) {
	const d, rounds = 24, 90
	r := random.New(6, "sparse examples")
	rows := make([]regret.Example, 30)
	for k := range rows {
		rows[k] = regret.Example{Z: make([]float64, d), Y: 2*r.Float64() - 1}
		few := 3
		if k%3 == 0 {
			few = 12
		}
		for range few {
			rows[k].Z[r.IntN(d)] = 2*r.Float64() - 1
		}
	}
	game := must(regret.NewRegression(rows, math.Inf(1)))
	options := oco.FTRLProximalOptions{A: 1, Beta: 1}
	sparse := &counting{SparseLearner: must(oco.NewFTRLProximal(d, options))}
	a := play(t, sparse, game, rounds)
	b := play(t, dense{must(oco.NewFTRLProximal(d, options))}, game, rounds)
	if a.LearnerLoss != b.LearnerLoss || a.Regret != b.Regret || a.Bound != b.Bound {
		t.Errorf("sparse %+v, dense %+v", a, b)
	}
	if sparse.sparse < rounds*2/3 || sparse.dense < rounds/4 || sparse.nonZeros > 4*sparse.sparse {
		t.Errorf("%d dense and %d sparse subgradients with %d non-zeros", sparse.dense, sparse.sparse, sparse.nonZeros)
	}
}

// TestSparseRoundsDoNotAllocate plays a sparse game in two lengths: rounds allocate nothing.
func TestSparseRoundsDoNotAllocate(t *testing.T) {
	box := must(convex.NewCube(30, -1, 1))
	options := regret.DefaultNoisyOptions()
	options.Density = .2
	game := must(regret.NewNoisy(box, options, 3))
	count := func(rounds int) float64 {
		return testing.AllocsPerRun(3, func() {
			_, err := regret.Play(context.Background(), must(oco.NewAdaGrad(box, nil)), game, rounds, regret.Options{})
			must(0, err)
		})
	}
	// The runtime itself allocates occasionally.
	if short, long := count(10), count(2000); long-short > 50 {
		t.Errorf("%v allocations in 10 rounds, %v in 2,000", short, long)
	}
}
