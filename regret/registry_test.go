package regret_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// TestOutlines: an outline has the set of the game, and states the facts that the game states.
func TestOutlines(t *testing.T) {
	outlines := 0
	for _, e := range regret.Games() {
		for _, dim := range []int{1, 2, 5} {
			for _, radius := range []float64{0, .5, 3} {
				p := regret.GameParams{Dim: dim, Rounds: 10, Seed: 1}
				if e.FixedDim {
					p.Dim = 0
				}
				for _, o := range e.Options {
					if o.Name == "radius" && radius >= o.Low && e.Outline != nil {
						p.Options = map[string]float64{"radius": radius}
					}
				}
				set, facts, err := e.Preview(p)
				if err != nil {
					t.Fatalf("%s: %v", e.Name, err)
				}
				if set == nil {
					continue
				}
				outlines++
				game, want, err := e.New(p)
				if err != nil {
					t.Fatal(err)
				}
				if a, b := fmt.Sprint(set), fmt.Sprint(game.Set()); a != b {
					t.Errorf("%s: the outline's set is %s, the game's %s", e.Name, a, b)
				}
				if a, b := stated(facts), stated(want); a != b {
					t.Errorf("%s with %v: the outline states %s, the game %s", e.Name, p.Options, a, b)
				}
				p.Examples = []regret.Example{{Z: make([]float64, dim), Y: 1}}
				if set, _, err := e.Preview(p); set != nil || err != nil {
					t.Errorf("%s: an outline with examples: %v, %v", e.Name, set, err)
				}
			}
		}
		if _, _, err := e.Preview(regret.GameParams{Rounds: 10, Dim: -1}); err == nil {
			t.Errorf("%s: a negative dimension was accepted", e.Name)
		}
	}
	if outlines < 18 {
		t.Errorf("%d outlines were compared", outlines)
	}
}

// stated describes which facts are known.
func stated(f regret.Facts) string {
	known := func(v float64) bool { return v > 0 && !math.IsInf(v, 1) }
	return fmt.Sprint(known(f.Lipschitz), known(f.LipschitzInf), known(f.StrongConvexity), known(f.Smoothness),
		known(f.ExpConcavity), f.SquaredDistance, f.Features, f.L1, f.Vertices)
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

// variants returns parameters with which a game is tested.
func variants(e *regret.GameEntry) []regret.GameParams {
	all := []regret.GameParams{{Rounds: 60, Seed: 1}, {Rounds: 60, Seed: 2}}
	if !e.FixedDim {
		all = append(all, regret.GameParams{Dim: 2, Rounds: 60, Seed: 3},
			regret.GameParams{Dim: 17, Rounds: 60, Seed: 4})
	}
	for _, o := range e.Options { // the ends of the ranges, where they are moderate
		for _, v := range []float64{o.Low, o.High, 2, 0.3} {
			if v >= o.Low && v <= o.High && v <= 30 && v >= 0 && (!o.Integer || v == math.Floor(v)) &&
				(v == 0 || v > 1e-3) &&
				!(o.Name == "active" && v > 2) {
				all = append(all, regret.GameParams{Rounds: 60, Seed: 5, Options: map[string]float64{o.Name: v}})
			}
		}
	}
	return all
}

// point draws a point of a set.
func point(r *random.Source, set convex.Set, vertex bool) []float64 {
	x := make([]float64, set.Dim())
	if vertex {
		x[r.IntN(len(x))] = 1
		return x
	}
	size := math.Ldexp(1, r.IntN(11)-7)
	for i := range x {
		x[i] = size * (2*r.Float64() - 1)
	}
	set.Project(x, x)
	return x
}

// TestFactsAreTrue checks that a game's facts hold for its losses at random points.
func TestFactsAreTrue(t *testing.T) {
	r := random.New(1, "facts")
	for _, e := range regret.Games() {
		for _, p := range variants(&e) {
			g, f, err := e.New(p)
			if err != nil {
				t.Errorf("%s %+v: %v", e.Name, p, err)
				continue
			}
			name := fmt.Sprintf("%s %+v", e.Name, p)
			var longest, steepest float64
			set := g.Set()
			d := set.Dim()
			for range 50 {
				z := g.Features()
				if (z != nil) != f.Features {
					t.Fatalf("%s: features %v", name, z)
				}
				l, err := g.Next(point(r, set, f.Vertices))
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if _, ok := l.(*loss.SquaredDistance); ok != f.SquaredDistance {
					t.Fatalf("%s: losses %T", name, l)
				}
				if c, ok := l.(*loss.Composite); ok && c.Lambda != f.L1 || !ok && f.L1 != 0 {
					t.Fatalf("%s: l1 weight %v", name, f.L1)
				}
				for range 10 {
					x, y := point(r, set, false), point(r, set, false)
					gx, gy := make([]float64, d), make([]float64, d)
					l.Subgradient(gx, x)
					l.Subgradient(gy, y)
					var inner, square, change float64
					for i := range x {
						steepest = max(steepest, math.Abs(gx[i]))
						inner += gx[i] * (y[i] - x[i])
						square += (y[i] - x[i]) * (y[i] - x[i])
						change += (gy[i] - gx[i]) * (gy[i] - gx[i])
					}
					longest = max(longest, vec.Norm2(gx))
					slack := 1e-12 * (1 + math.Abs(l.Value(x)) + math.Abs(l.Value(y)) + math.Abs(inner))
					low := l.Value(x) + inner + max(f.StrongConvexity*square, f.ExpConcavity*inner*inner)/2
					if l.Value(y) < low-slack {
						t.Fatalf("%s: l(y) = %v, below %v by the curvature", name, l.Value(y), low)
					}
					if math.Sqrt(change) > f.Smoothness*math.Sqrt(square)*(1+1e-9)+1e-12 {
						t.Fatalf("%s: gradients %v apart at distance %v", name, math.Sqrt(change), math.Sqrt(square))
					}
					if c, ok := l.(loss.Curvature); ok &&
						(c.Smoothness() > f.Smoothness*(1+1e-12) || c.StrongConvexity() < f.StrongConvexity*(1-1e-12)) {
						t.Fatalf("%s: a loss has smoothness %v and strong convexity %v", name, c.Smoothness(),
							c.StrongConvexity())
					}
				}
			}
			if longest > f.Lipschitz*(1+1e-12) || steepest > f.LipschitzInf*(1+1e-12) {
				t.Errorf("%s: subgradients of length %v > %v or maximum %v > %v", name, longest, f.Lipschitz, steepest,
					f.LipschitzInf)
			}
			if !math.IsInf(f.Lipschitz, 1) && longest < 0.05*f.Lipschitz {
				t.Errorf("%s: subgradients have length %v at most, so a bound of %v is too loose", name, longest,
					f.Lipschitz)
			}
		}
	}
}

// digest is a hash of all bits of a game's first losses at points that depend on the seed alone.
func digest(t *testing.T, g regret.Game, vertices bool) uint64 {
	t.Helper()
	r, h := random.New(7, "digest"), fnv.New64a()
	c := make([]float64, g.Set().Dim())
	for range 60 {
		_ = g.Features()
		x := point(r, g.Set(), vertices)
		f, err := g.Next(x)
		if err != nil {
			t.Fatal(err)
		}
		f.Subgradient(c, x)
		fmt.Fprintf(h, "%x %x", math.Float64bits(f.Value(x)), c)
		if s := g.Summary(); s != nil {
			if err := s.Add(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s := g.Summary(); s != nil {
		fmt.Fprintf(h, "%x", s.Loss(make([]float64, len(c))))
	}
	return h.Sum64()
}

// golden holds digests of games of 60 rounds with seed 1.
var golden = map[string]uint64{
	"guess":              0x3406b0ac851ee831,
	"absolute":           0x29f8f12adab1964b,
	"linear-ball":        0x5716c3ba6507b2ec,
	"linear-box":         0x6d916e861f77b02c,
	"linear-space":       0x8151f7d01883a3bb,
	"experts":            0x4d6be17e0a2898d6,
	"drift":              0xd3fa8367edc6d3fc,
	"gradual":            0xdf672423e80d6819,
	"sparse":             0x6ca3727c43af9757,
	"regression":         0x0501838aad69db7f,
	"classification":     0x288099df9aee7fb6,
	"rademacher-ball":    0x00b23253d3500a61,
	"rademacher-box":     0x16673066d43dbd4f,
	"rademacher-experts": 0x7ca91c20e31ab1a7,
	"minimax-ball":       0xa142bec6c2467d7d,
	"minimax-box":        0x7c95bbb9b2fecf51,
	"minimax-experts":    0x87a5431b8f90f83c,
	"leader-trap":        0x2274b6aef870b531,
	"expert-trap":        0xfd715c105a2cfcf2,
	"betting-trap":       0xd874f11f383c2957,
	"decreasing-rate":    0x4195650c7b53aafa,
	"target":             0x3e84ca9552fd6b9b,
	"alternating":        0xcdf075b45b69ddc4,
	"gradient-trap":      0xf2ee93c2727d5181,
	"curved-trap":        0x6a3d3e099b025edd,
	"cost-trap":          0xedeff29ed8538462,
	"restless":           0xb51aa94329cb94cc,
}

func TestGamesReplay(t *testing.T) {
	for _, e := range regret.Games() {
		g, f, err := e.New(regret.GameParams{Rounds: 60, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		first := digest(t, g, f.Vertices)
		g.Restart()
		if again := digest(t, g, f.Vertices); again != first {
			t.Errorf("%s: a restarted game differs", e.Name)
		}
		other, _, _ := e.New(regret.GameParams{Rounds: 60, Seed: 1})
		if again := digest(t, other, f.Vertices); again != first {
			t.Errorf("%s: another game of the same seed differs", e.Name)
		}
		fixed := []string{"leader-trap", "expert-trap", "betting-trap", "decreasing-rate", "target", "alternating"}
		seeded := !slices.Contains(fixed, e.Name) && !strings.HasPrefix(e.Name, "minimax")
		other, _, _ = e.New(regret.GameParams{Rounds: 60, Seed: 2})
		if again := digest(t, other, f.Vertices); (again != first) != seeded {
			t.Errorf("%s: with another seed it is the same: %v", e.Name, again == first)
		}
		if want := golden[e.Name]; first != want {
			t.Errorf("%s: its digest is %#x, was %#x: games must not change between releases", e.Name, first, want)
		}
	}
}

func TestEntries(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range regret.Games() {
		if seen[e.Name] || e.Help == "" || e.Kind != "convex" && e.Kind != "experts" {
			t.Errorf("entry %+v", e)
		}
		seen[e.Name] = true
		g, _, err := e.New(regret.GameParams{Rounds: 10})
		if err != nil {
			t.Fatal(err)
		}
		if _, simplex := g.Set().(*convex.Simplex); simplex != (e.Kind == "experts") || g.Set().Dim() != e.Dim {
			t.Errorf("%s is of kind %s on %v", e.Name, e.Kind, g.Set())
		}
		for _, o := range e.Options {
			if o.Help == "" || !(o.Default >= o.Low || o.Default == 0) || o.Default > o.High {
				t.Errorf("%s: option %+v", e.Name, o)
			}
		}
		for name, p := range map[string]regret.GameParams{
			"unknown option": {Rounds: 10, Options: map[string]float64{"nonsense": 1}},
			"rounds":         {Rounds: -1},
			"dimension":      {Rounds: 10, Dim: -1},
			"large":          {Rounds: 10, Dim: 1 << 30},
			"no examples":    {Rounds: 10, Examples: []regret.Example{}},
		} {
			if _, _, err := e.New(p); err == nil {
				t.Errorf("%s: %s was accepted", e.Name, name)
			}
		}
		for _, o := range e.Options {
			for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), o.Low - 1, o.High * 2} {
				if _, _,
					err := e.New(regret.GameParams{
					Rounds:  10,
					Options: map[string]float64{o.Name: v},
				}); noregret.CodeOf(err) != noregret.Usage {
					t.Errorf("%s: %s = %v: %v", e.Name, o.Name, v, err)
				}
			}
		}
		// Points of the wrong length and points that are not finite are refused.
		for _, x := range [][]float64{nil, make([]float64, e.Dim+1), append(make([]float64, e.Dim-1), math.NaN())} {
			if _, err := g.Next(x); err == nil {
				t.Errorf("%s played against %v", e.Name, x)
			}
		}
		if e.NeedsRounds {
			if _, _, err := e.New(regret.GameParams{}); err == nil {
				t.Errorf("%s without a horizon", e.Name)
			}
		}
		if e.FixedDim {
			if _, _, err := e.New(regret.GameParams{Rounds: 10, Dim: e.Dim + 1}); err == nil {
				t.Errorf("%s in another dimension", e.Name)
			}
		}
		if f, err := regret.FindGame(e.Name); err != nil || f.Name != e.Name {
			t.Errorf("FindGame(%s): %v", e.Name, err)
		}
	}
	if _, err := regret.FindGame("chess"); err == nil || !strings.Contains(err.Error(), "linear-ball") {
		t.Errorf("chess: %v", err)
	}
}

// TestSmallDimensions makes every game with no option given in the dimensions 1 and 2, where it has
// them: an option's default is never out of range.
func TestSmallDimensions(t *testing.T) {
	for _, e := range regret.Games() {
		for d := 1; d <= 2; d++ {
			if e.FixedDim && d != e.Dim || d == 1 && (e.Kind == "experts" || e.Name == "gradual") {
				continue
			}
			if _, _, err := e.New(regret.GameParams{Dim: d, Rounds: 10, Seed: 1}); err != nil {
				t.Errorf("dimension %d: %v", d, err)
			}
		}
	}
	sparse := must(regret.FindGame("sparse"))
	if _, _, err := sparse.New(regret.GameParams{Dim: 1, Options: map[string]float64{"active": 2}}); err == nil {
		t.Error("two active coordinates in dimension 1")
	}
}

func TestRefusals(t *testing.T) {
	ball, space := must(convex.NewCenteredBall(2, 1)), must(convex.NewSpace(2))
	nan, inf := math.NaN(), math.Inf(1)
	claim := func(v ...float64) func(int) float64 { return func(t int) float64 { return v[t-1] } }
	do := func(_ any, err error) error { return err }
	noisy := func(change func(o *regret.NoisyOptions)) error {
		o := regret.DefaultNoisyOptions()
		change(&o)
		return do(regret.NewNoisy(ball, o, 1))
	}
	for name, err := range map[string]error{
		"guess above 1":     do(regret.NewGuess([]float64{.5, 1.5}, 1)),
		"guess NaN":         do(regret.NewGuess([]float64{nan}, 1)),
		"absolute skew":     do(regret.NewAbsolute(nil, -1, 1)),
		"noisy without set": do(regret.NewNoisy(nil, regret.DefaultNoisyOptions(), 1)),
		"noisy lipschitz":   noisy(func(o *regret.NoisyOptions) { o.Lipschitz = -1 }),
		"noisy lipschitz 0": noisy(func(o *regret.NoisyOptions) { o.Lipschitz = 0 }),
		"noisy bias":        noisy(func(o *regret.NoisyOptions) { o.Bias = 1.1 }),
		"noisy density":     noisy(func(o *regret.NoisyOptions) { o.Density = nan }),
		"noisy density 0":   noisy(func(o *regret.NoisyOptions) { o.Density = 0 }),
		"noisy reach":       noisy(func(o *regret.NoisyOptions) { o.Reach = inf }),
		"noisy reach 0":     noisy(func(o *regret.NoisyOptions) { o.Reach = 0 }),
		"no experts":        do(regret.NewExpertGame(0, .1, 1)),
		"expert gap":        do(regret.NewExpertGame(2, .6, 1)),
		"sparse lambda":     do(regret.NewSparseGame(2, nan, 1, 1)),
		"sparse active":     do(regret.NewSparseGame(2, 1, 3, 1)),
		"drift dimension":   do(regret.NewDrift(0, 1, 1, 0, 1)),
		"drift radius":      do(regret.NewDrift(1, 0, 1, 0, 1)),
		"drift period":      do(regret.NewDrift(1, 1, 0, 0, 1)),
		"drift noise":       do(regret.NewDrift(1, 1, 1, 2, 1)),
		"gradual dimension": do(regret.NewGradual(1, 10, 1)),
		"gradual period":    do(regret.NewGradual(2, nan, 1)),
		"no examples":       do(regret.NewRegression(nil, inf)),
		"no features":       do(regret.NewRegression([]regret.Example{{}}, inf)),
		"ragged examples": do(regret.NewRegression([]regret.Example{{[]float64{1}, 1}, {[]float64{1, 2}, 1}},
			inf)),
		"NaN feature":               do(regret.NewRegression([]regret.Example{{[]float64{nan}, 1}}, inf)),
		"Inf label":                 do(regret.NewRegression([]regret.Example{{[]float64{1}, inf}}, inf)),
		"huge feature":              do(regret.NewRegression([]regret.Example{{[]float64{1e200}, 1}}, inf)),
		"regression radius":         do(regret.NewRegression([]regret.Example{{[]float64{1}, 1}}, -1)),
		"regression radius 0":       do(regret.NewRegression([]regret.Example{{[]float64{1}, 1}}, 0)),
		"class label":               do(regret.NewClassification([]regret.Example{{[]float64{1}, 0}}, 1)),
		"class Inf":                 do(regret.NewClassification([]regret.Example{{[]float64{inf}, 1}}, 1)),
		"class radius":              do(regret.NewClassification([]regret.Example{{[]float64{1}, 1}}, 0)),
		"synthetic number":          do(regret.SyntheticExamples(2, 0, false, 1)),
		"synthetic dimension":       do(regret.SyntheticExamples(0, 1, false, 1)),
		"synthetic size":            do(regret.SyntheticExamples(1<<20, 1<<20, false, 1)),
		"one expert in a trap":      do(regret.NewExpertTrap(1)),
		"deterministic nil":         do(regret.NewDeterministic(nil)),
		"without l1 nil":            do(regret.NewWithoutL1(nil, 1)),
		"rademacher nil":            do(regret.NewRademacher(nil, nil, nil, 1, 1)),
		"rademacher on the space":   do(regret.NewRademacher(space, nil, nil, 1, 1)),
		"rademacher lipschitz":      do(regret.NewRademacher(ball, nil, nil, 0, 1)),
		"rademacher v outside":      do(regret.NewRademacher(ball, []float64{2, 0}, []float64{0, 0}, 1, 1)),
		"rademacher v = w":          do(regret.NewRademacher(ball, []float64{0, 0}, []float64{0, 0}, 1, 1)),
		"rademacher w missing":      do(regret.NewRademacher(ball, []float64{0, 0}, nil, 1, 1)),
		"rademacher on a point":     do(regret.NewRademacher(must(convex.NewSimplex(1)), nil, nil, 1, 1)),
		"rademacher unknown set":    do(regret.NewRademacher(must(convex.NewCappedSimplex(3, .5, 1)), nil, nil, 1, 1)),
		"minimax rounds":            do(regret.NewMinimax(ball, nil, nil, 1, 0)),
		"minimax many rounds":       do(regret.NewMinimax(ball, nil, nil, 1, math.MaxInt)),
		"minimax player rounds":     do(regret.NewMinimaxPlayer(ball, nil, nil, 0)),
		"minimax player on a space": do(regret.NewMinimaxPlayer(space, nil, nil, 1)),
		"coin rounds":               do(regret.NewCoinAdversary(0)),
		"coin many rounds":          do(regret.NewCoinAdversary(regret.MaxCoinRounds + 1)),
		"random coin rounds":        do(regret.NewRandomCoin(0, 1)),
		"coin play":                 do(regret.PlayCoin(nil, nil)),
		"betting dimension":         do(regret.NewBettingTrap(0, 1, claim(1))),
		"betting rounds":            do(regret.NewBettingTrap(1, 0, claim(1))),
		"betting claim nil":         do(regret.NewBettingTrap(1, 1, nil)),
		"betting claim 0":           do(regret.NewBettingTrap(1, 1, claim(0))),
		"betting claim falls":       do(regret.NewBettingTrap(1, 2, claim(2, 1))),
		"betting horizon":           do(regret.NewBettingTrap(1, 1020, func(int) float64 { return 1 })),
		"betting claim NaN":         do(regret.NewBettingTrap(1, 2, claim(1, nan))),
		"decreasing rate rounds":    do(regret.NewDecreasingRate(3)),
		"square summary":            do(regret.NewSquareSummary(0)),
	} {
		if c := noregret.CodeOf(err); c != noregret.BadInput && c != noregret.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
	a := must(regret.NewCoinAdversary(1))
	for _, beta := range []float64{nan, 1.1, -2} {
		if _, err := a.Next(beta); err == nil {
			t.Errorf("a bet of %v", beta)
		}
	}
	must(a.Next(1))
	if _, err := a.Next(0); err == nil {
		t.Error("a round after the last")
	}
	p := must(regret.NewMinimaxPlayer(ball, nil, nil, 5))
	for _, g := range [][]float64{{0, 1}, {0, 0}, {1}, {nan, 0}} {
		if p.Update(g) == nil {
			t.Errorf("the minimax player accepted %v", g)
		}
	}
	must(0, p.Update([]float64{1, 0}))
	if p.Update([]float64{2, 0}) == nil {
		t.Error("the minimax player accepted another L")
	}
	if b := must(p.Bound([]float64{1, 0})); !math.IsInf(b, 1) {
		t.Errorf("a bound of %v before the last round", b)
	}
}

// TestGivenEnds: v and w that are not extreme give a floor that holds.
func TestGivenEnds(t *testing.T) {
	set := must(convex.NewCenteredBall(2, 1))
	g := must(regret.NewMinimax(set, []float64{.5, 0}, []float64{0, .5}, 1, 100))
	if g.Extreme() {
		t.Error("two inner points are reported as extreme")
	}
	l := must(regret.NewMinimaxPlayer(set, []float64{.5, 0}, []float64{0, .5}, 100))
	if c := play(t, l, g, 100); c.Regret <= g.Floor() {
		t.Errorf("regret %v, floor %v", c.Regret, g.Floor())
	}
	if v, w := g.Ends(); v[0] != .5 || w[1] != .5 {
		t.Errorf("ends %v, %v", v, w)
	}
}

// TestGolden pins loss, regret and bound of games of 500 rounds with seed 1. When they were
// recorded, 0 < regret ≤ bound held for each but the gradual game, in which a learner that follows
// the losses beats every fixed point.
func TestGolden(t *testing.T) {
	for _, c := range []struct {
		game, learner       string
		loss, regret, bound float64
	}{
		{"linear-ball", "ogd-adaptive", -46.4495273165, 9.26532244268, 33.475089098},
		{"linear-box", "adagrad", -99.0429222856, 35.9323045126, 105.771160506},
		{"experts", "adahedge", 217.819414933, 11.8194149333, 15.2170295751},
		{"regression", "vaw", 25.6012073281, 3.892125861, 5.43741375604},
		{"classification", "ons", 258.182484552, 22.4229087117, 43.3086994603},
		{"sparse", "composite-ftrl", -38.890779155, 5.67627139547, 19.6408384115},
		{"drift", "mean-leader", 198.693471627, 1.59305277288, 1.59305277288},
		{"gradual", "gradual-ftrl", 0.300111171879, -11.53913034, 0.697885298299},
		{"absolute", "ogd-sqrt", 138.380608684, 12.5660690084, 32.8220208846},
		{"linear-space", "ftrl", -87.292819488, 469.855678104, 1124.22142002},
	} {
		const rounds = 500
		g, f, err := must(regret.FindGame(c.game)).New(regret.GameParams{Rounds: rounds, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		options := map[string]float64{}
		if f.L1 > 0 {
			options["kappa"] = f.L1
		}
		l := must(must(oco.Find(c.learner)).New(problem(g.Set(), rounds, f), options))
		var p regret.Player = l
		if f.L1 > 0 {
			p = must(regret.NewWithoutL1(l, f.L1))
		}
		got := must(regret.Play(context.Background(), p, g, rounds, regret.Options{}))
		near(t, c.game+"/"+c.learner+": loss", got.LearnerLoss, c.loss)
		near(t, c.game+"/"+c.learner+": regret", got.Regret, c.regret)
		near(t, c.game+"/"+c.learner+": bound", got.Bound, c.bound)
	}
}
