package regret_test

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/experts"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

func TestLeaderTrap(t *testing.T) {
	g := regret.NewLeaderTrap()
	for _, start := range []float64{0, 1, -0.5} {
		l := must(oco.NewLinearLeader(g.Set(), []float64{start}))
		c := play(t, l, g, 10)
		near(t, "the leader's loss", c.LearnerLoss, 9-start/2)
		near(t, "LeaderLoss", g.LeaderLoss(10, start), c.LearnerLoss)
		near(t, "the best point's loss", c.ComparatorLoss, -0.5)
		near(t, "the regret", c.Regret, 9.5-start/2)
	}
	zero := must(regret.Play(context.Background(), must(oco.NewLinearLeader(g.Set(), nil)), g, 10,
		regret.Options{Comparator: []float64{0}}))
	near(t, "the regret against 0", zero.Regret, 9)
	c := play(t, descent(g.Set(), oco.Adaptive(2*math.Sqrt2/2)), g, 1000)
	if !c.Holds() || c.Regret > 2*math.Sqrt2*math.Sqrt(1000) {
		t.Errorf("adaptive descent: regret %v, bound %v", c.Regret, c.Bound)
	}
}

func TestExpertTrap(t *testing.T) {
	g := must(regret.NewExpertTrap(2))
	hedge := must(oco.NewAdaHedge(2, 0))
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
	// Who draws, or plays inside the simplex, is refused.
	r := must(experts.NewRandomized(must(oco.NewAdaHedge(2, 0)), experts.Options{}))
	if _, err := regret.Play(context.Background(), r, g, 10, regret.Options{}); err == nil ||
		!strings.Contains(err.Error(), "may not see") {
		t.Errorf("a randomized player: %v", err)
	}
	if _, err := regret.NewDeterministic(r); err == nil {
		t.Error("a randomized player was made deterministic")
	}
	if _, err := regret.Play(context.Background(), must(oco.NewAdaHedge(2, 0)), g, 10, regret.Options{}); err == nil {
		t.Error("a player inside the simplex was let in")
	}
}

// likeliest is the form of the expert trap that sees only the weights: the expert of the largest
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
func (g *likeliest) Restart()                { g.s.Reset() }

func TestExpertTrapAndRandomization(t *testing.T) {
	const rounds, runs = 1000, 200
	var sum, square float64
	for seed := range uint64(runs) {
		base := must(regret.NewExpertGame(2, 0, 1)) // for its set
		g := &likeliest{base, loss.Linear{C: make([]float64, 2)}, regret.NewLinearSummary(2)}
		eg := must(oco.NewExponentiatedGradient(2, nil, math.Sqrt(8*math.Ln2/rounds)))
		c := play(t, must(experts.NewRandomized(eg, experts.Options{Seed: seed})), g, rounds)
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

func TestRademacherFloor(t *testing.T) {
	set := must(convex.NewCenteredBall(2, 1))
	g := must(regret.NewRademacher(set, nil, nil, 1, 1)) // D = 2, so that the floor is E|S_T|
	for rounds, want := range map[int]float64{
		1: 1, 2: 1, 3: 1.5, 4: 1.5, 5: 1.875, 10: 2.4609375, 16: 3.1420898438, 64: 6.3581922399, 100: 7.9589237387,
		1000: 25.2250181784,
	} {
		if got := g.Floor(rounds); math.Abs(got-want) > 6e-11 {
			t.Errorf("E|S_%d| = %.12g, want %.12g", rounds, got, want)
		}
		if g.Floor(rounds) < math.Sqrt(float64(rounds)/2) {
			t.Errorf("E|S_%d| is below √(T/2)", rounds)
		}
	}
	// Against exact binomials.
	for _, n := range []int{2, 81, 82, 83, 84, 999, 5000, 20001} {
		c := new(big.Int).Binomial(int64(n-1), int64((n-1)/2))
		want, _ := new(big.Float).SetMantExp(new(big.Float).SetInt(c.Mul(c, big.NewInt(int64(n)))), -(n - 1)).Float64()
		if got := g.Floor(n); math.Abs(got/want-1) > 2e-15 {
			t.Errorf("E|S_%d| = %.17g, want %.17g", n, got, want)
		}
	}
}

// signs plays given signs.
type signs struct {
	*regret.Rademacher
	s string
	t int
}

func (g *signs) Next(x []float64) (loss.Function, error) {
	f, err := g.Rademacher.Next(x)
	if err != nil {
		return nil, err
	}
	v, w := g.Ends()
	n := 0.0
	for i := range v {
		n += (v[i] - w[i]) * (v[i] - w[i])
	}
	c := f.(*loss.Linear).C
	for i := range c {
		c[i] = (v[i] - w[i]) / math.Sqrt(n)
		if g.s[g.t] == '-' {
			c[i] = -c[i]
		}
	}
	g.t++
	return f, nil
}
func (g *signs) Restart() { g.t = 0; g.Rademacher.Restart() }

func TestRademacherExample(t *testing.T) {
	set := must(convex.NewCenteredBall(2, 1))
	g := &signs{must(regret.NewRademacher(set, nil, nil, 1, 1)), "+-++-+-+", 0}
	near(t, "regret", play(t, descent(set, oco.FixedHorizon(2, 1, 8)), g, 8).Regret, 3.4142135624)
}

// signedSum records Σ ε_t ⟨z, x_t − m⟩ of a game of signs.
type signedSum struct {
	*regret.Rademacher
	z, m []float64
	sum  float64
}

func (g *signedSum) Next(x []float64) (loss.Function, error) {
	before := g.Sum()
	f, err := g.Rademacher.Next(x)
	for i := range x {
		g.sum += float64(g.Sum()-before) * g.z[i] * (x[i] - g.m[i])
	}
	return f, err
}

func TestRademacherRegretAndMean(t *testing.T) {
	const rounds, l = 40, 1.5
	seeds := testsize.Of(2000, 150)
	for _, set := range []convex.Set{
		must(convex.NewBall([]float64{1, 2}, 0.5)), must(convex.NewBox([]float64{-1, 0, 2}, []float64{0, 2, 2})),
		must(convex.NewSimplex(3)),
	} {
		for _, name := range []string{
			"ogd-fixed", "ogd-adaptive", "adahedge", "ftrl", "eg", "scale-free-hedge",
			"linear-leader", "adagrad",
		} {
			e := must(oco.Find(name))
			if _, err := e.New(problem(set, rounds, linearFacts(l, l)), nil); err != nil {
				continue
			}
			t.Run(fmt.Sprintf("%s on %v", name, set), func(t *testing.T) {
				var mean, square, floor float64
				for seed := range uint64(seeds) {
					g := &signedSum{Rademacher: must(regret.NewRademacher(set, nil, nil, l, seed))}
					v, w := g.Ends()
					d := 0.0
					for i := range v {
						d += (v[i] - w[i]) * (v[i] - w[i])
					}
					d = math.Sqrt(d)
					for i := range v {
						g.z, g.m = append(g.z, (v[i]-w[i])/d), append(g.m, (v[i]+w[i])/2)
					}
					if !g.Extreme() {
						t.Fatal("v and w are not extreme")
					}
					learner := must(e.New(problem(set, rounds, linearFacts(l, l)), nil))
					c := play(t, learner, g, rounds)
					want := l*g.sum + l*d/2*math.Abs(float64(g.Sum()))
					if math.Abs(c.Regret-want) > 1e-12*rounds {
						t.Fatalf("seed %d: regret %v, by the signed sum %v", seed, c.Regret, want)
					}
					mean += c.Regret / float64(seeds)
					square += c.Regret * c.Regret / float64(seeds)
					floor = g.Floor(rounds)
				}
				sd := math.Sqrt(max(square-mean*mean, 0) / float64(seeds))
				if math.Abs(mean-floor) > 4*sd+1e-9 {
					t.Errorf("mean regret %v ± %v, the exact expectation is %v", mean, sd, floor)
				}
			})
		}
	}
}

// TestConstantOfExponentiatedGradient shows that the book's constant √2/2 of exponentiated gradient
// cannot be: the floor is above it.
func TestConstantOfExponentiatedGradient(t *testing.T) {
	for _, rounds := range []int{10, 100, 10000} {
		set := must(convex.NewSimplex(2))
		g := must(regret.NewRademacher(set, nil, nil, math.Sqrt2, 1)) // g = ε·(1, −1), L∞ = 1
		floor, order := g.Floor(rounds), math.Sqrt(float64(rounds)*math.Ln2)
		near(t, "floor", floor,
			must(regret.NewRademacher(must(convex.NewCenteredBall(1, 1)), nil, nil, 1, 1)).Floor(rounds))
		if printed := math.Sqrt2 / 2 * order; floor <= printed {
			t.Errorf("T = %d: the floor %v does not refute the printed bound %v", rounds, floor, printed)
		}
		if mended := math.Sqrt2 * order; floor > mended {
			t.Errorf("T = %d: the floor %v is above the mended bound %v", rounds, floor, mended)
		}
		// The tuned learner against the derandomized game stays above the printed bound and below
		// the mended one.
		eg := must(must(oco.Find("eg")).New(problem(set, rounds, linearFacts(math.Sqrt2, 1)),
			nil))
		c := play(t, eg, must(regret.NewMinimax(set, nil, nil, math.Sqrt2, rounds)), rounds)
		if c.Regret <= math.Sqrt2/2*order || !c.Holds() {
			t.Errorf("T = %d: regret %v of bound %v, printed %v", rounds, c.Regret, c.Bound, math.Sqrt2/2*order)
		}
	}
}

func TestMinimaxTable(t *testing.T) {
	for _, row := range []struct {
		rounds                   int
		floor, s1, s7, s3, bound float64
	}{
		{4, 1.5, 2.0, 2.1835034191, 2.6737265864, 4},
		{16, 3.1420898438, 4.5, 5.7600243468, 6.6657992240, 8},
		{100, 7.9589237387, 12.0, 15.7375069055, 19.9781597677, 20},
	} {
		set := interval()
		g := must(regret.NewMinimax(set, nil, nil, 1, row.rounds))
		if math.Abs(g.Floor()-row.floor) > 6e-11 {
			t.Errorf("T = %d: floor %v, want %v", row.rounds, g.Floor(), row.floor)
		}
		for _, c := range []struct {
			name string
			rate oco.Rate
			want float64
		}{
			{"fixed horizon", oco.FixedHorizon(2, 1, row.rounds), row.s1},
			{"adaptive", oco.Adaptive(2 * math.Sqrt2 / 2), row.s7},
			{"1/√t", oco.InverseSqrt(2, 1), row.s3},
		} {
			got := play(t, descent(set, c.rate), g, row.rounds)
			near(t, fmt.Sprintf("regret of %s, T = %d", c.name, row.rounds), got.Regret, c.want)
			if !got.Holds() || got.Regret < g.Floor() {
				t.Errorf("%s: regret %v, floor %v, bound %v", c.name, got.Regret, g.Floor(), got.Bound)
			}
			if c.name == "fixed horizon" {
				near(t, "DL√T", 2*math.Sqrt(float64(row.rounds)), row.bound)
			}
		}
	}
}

func TestMinimaxSigns(t *testing.T) {
	for _, rate := range []oco.Rate{oco.FixedHorizon(2, 1, 4), oco.Adaptive(math.Sqrt2)} {
		g := must(regret.NewMinimax(interval(), nil, nil, 1, 4))
		l := descent(interval(), rate)
		var signs string
		for range 4 {
			f := must(g.Next(l.Predict())).(*loss.Linear)
			signs += map[float64]string{1: "+", -1: "-"}[f.C[0]]
			if err := l.Update(f.C); err != nil {
				t.Fatal(err)
			}
		}
		if signs != "+-++" {
			t.Errorf("%v: signs %s, want +-++", rate, signs)
		}
	}
}

func TestMinimaxPlayer(t *testing.T) {
	r := random.New(1, "l4")
	for _, set := range []convex.Set{
		interval(), must(convex.NewBall([]float64{1, 2, 3}, 2)),
		must(convex.NewSimplex(4)),
	} {
		for _, rounds := range []int{1, 2, 7, 50, 301} {
			p := must(regret.NewMinimaxPlayer(set, nil, nil, rounds))
			g := must(regret.NewRademacher(set, nil, nil, 3, r.Uint64()))
			c := play(t, p, g, rounds)
			near(t, fmt.Sprintf("minimax regret on random signs, %v, T = %d", set, rounds), c.Regret, g.Floor(rounds))
			if !c.Holds() {
				t.Errorf("regret %v above the bound %v", c.Regret, c.Bound)
			}
			p = must(regret.NewMinimaxPlayer(set, nil, nil, rounds))
			m := must(regret.NewMinimax(set, nil, nil, 3, rounds))
			near(t, "minimax regret against the adversary", play(t, p, m, rounds).Regret, m.Floor())
			if err := p.Update(make([]float64, p.Dim())); err == nil {
				t.Error("a round after the last was taken")
			}
		}
	}
}

// TestMinimaxLong: 10^5 rounds, exact to rounding.
func TestMinimaxLong(t *testing.T) {
	const rounds = 100000
	p := must(regret.NewMinimaxPlayer(interval(), nil, nil, rounds))
	m := must(regret.NewMinimax(interval(), nil, nil, 1, rounds))
	c := play(t, p, m, rounds)
	if math.Abs(c.Regret/m.Floor()-1) > 1e-10 {
		t.Errorf("regret %.15g of the minimax player, floor %.15g", c.Regret, m.Floor())
	}
	c = play(t, descent(interval(), oco.Adaptive(math.Sqrt2)), m, rounds)
	if c.Regret < m.Floor() {
		t.Errorf("regret %v of adaptive descent is below the floor %v", c.Regret, m.Floor())
	}
	if _, err := m.Next([]float64{0}); err == nil {
		t.Error("a round after the last was played")
	}
}

// TestFloors: every learner that can play a game with a deterministic floor stays above it.
func TestFloors(t *testing.T) {
	played := 0
	for _, e := range regret.Games() {
		for _, d := range []int{0, 1, 2, 5} {
			for _, rounds := range []int{4, 33, 400} {
				g, f, err := e.New(regret.GameParams{Dim: d, Rounds: rounds, Seed: 3})
				if err != nil || math.IsNaN(f.Floor) || f.ExpectedFloor {
					continue
				}
				for _, le := range oco.Learners() {
					l, err := le.New(problem(g.Set(), rounds, f), nil)
					if err != nil {
						continue
					}
					var p regret.Player = l
					if f.Vertices {
						p = must(regret.NewDeterministic(l))
					}
					played++
					if c := play(t, p, g, rounds); c.Regret < f.Floor-1e-9 {
						t.Errorf("%s in %s, d = %d, T = %d: regret %v is below the floor %v", le.Name, e.Name, d,
							rounds, c.Regret, f.Floor)
					}
				}
			}
		}
	}
	if played < 300 {
		t.Errorf("only %d games were played", played)
	}
}

func TestDecreasingRate(t *testing.T) {
	for rounds, want := range map[int][3]float64{
		400:  {168.9995331993, 5.8189832352, 33.3021844463},
		1600: {733.6063452867, 5.8326300477, 66.6043688926},
		6400: {3062.7433750435, 5.8326361736, 133.2087377852},
	} {
		g := must(regret.NewDecreasingRate(rounds))
		set := must(convex.NewSimplex(2))
		reg := must(convex.Restrict(must(convex.NewNegativeEntropy(2)), set))
		rate := oco.RateFunc("√(ln2/t)", func(t int) float64 { return math.Sqrt(math.Ln2 / float64(t)) })
		near(t, fmt.Sprintf("mirror descent, T = %d", rounds),
			play(t, must(oco.NewMirrorDescent(reg, nil, rate, 0)), g, rounds).Regret, want[0])
		c := play(t, must(oco.NewEntropicFTRL(2, 1, 1/math.Sqrt(math.Ln2))), g, rounds)
		near(t, fmt.Sprintf("FTRL, T = %d", rounds), c.Regret, want[1])
		near(t, "2L√(T ln d)", 2*math.Sqrt(float64(rounds)*math.Ln2), want[2])
		if !c.Holds() || c.Bound > want[2]*(1+1e-12) {
			t.Errorf("T = %d: regret %v, bound %v", rounds, c.Regret, c.Bound)
		}
	}
}
