package regret

import (
	"math"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/loss"
)

// Options that several games have.
var (
	lipschitzOption = GameOption{
		Name: "lipschitz", Default: 1, Low: 1e-100, High: 1e100,
		Help: "the length of the subgradients",
	}
	biasOption = GameOption{
		Name: "bias", Default: 0.1, High: 1,
		Help: "the part of the subgradients that never changes",
	}
	densityOption = GameOption{
		Name: "density", Default: 1, Low: 1e-6, High: 1, Help: "the share of coordinates that are not 0 in a round",
	}
	periodOption = GameOption{Name: "period", Default: 1000, Low: 1, High: 1e15, Help: "the rounds of one turn"}
	radiusOption = GameOption{Name: "radius", Default: 1, Low: 1e-100, High: 1e100, Help: "the radius of the ball"}
)

// noisy makes the entries of [NewNoisy].
func noisy(name, help string, space bool, set func(d int, radius float64) (convex.Set, error)) GameEntry {
	last := radiusOption
	if space {
		last = GameOption{Name: "reach", Default: 10, Low: 1e-100, High: 1e100, Help: "the length of the comparator"}
	}
	return GameEntry{
		Name: name, Help: help, Kind: "convex", Dim: 10,
		Options: []GameOption{lipschitzOption, biasOption, densityOption, last},
		Make: func(p GameParams, o func(string) float64) (Game, Facts, error) {
			options := DefaultNoisyOptions()
			options.Lipschitz, options.Bias, options.Density = o("lipschitz"), o("bias"), o("density")
			if space {
				options.Reach = o("reach")
			}
			v, err := set(p.Dim, o("radius"))
			if err != nil {
				return nil, Facts{}, err
			}
			g, err := NewNoisy(v, options, p.Seed)
			if err != nil {
				return nil, Facts{}, err
			}
			var largest float64
			for _, h := range g.h {
				largest = max(largest, math.Abs(h))
			}
			l, b := options.Lipschitz, options.Bias
			return g, linearFacts(l, l*(float64(b*largest)+(1-b)/math.Sqrt(float64(p.Dim)))), nil
		},
	}
}

// simpleGames returns the linear and one-dimensional games drawn from a seed.
func simpleGames() []GameEntry {
	return []GameEntry{
		{
			Name: "guess", Help: "guess a number in [0, 1], uniform at random: losses (x − y)²", Kind: "convex", Dim: 1,
			FixedDim: true,
			Make: func(p GameParams, _ func(string) float64) (Game, Facts, error) {
				g, err := NewGuess(nil, p.Seed)
				// 4r²α ≤ 2 for r ≤ 1, so that the losses are ½-exp-concave; L = 2, D = 1.
				return g, factsOf(loss.Facts{
					Lipschitz: 2, LipschitzInf: 2, StrongConvexity: 2, Smoothness: 2, ExpConcavity: 0.25,
					SquaredDistance: true,
				}), err
			},
		},
		{
			Name: "absolute", Help: "absolute losses |x − y| on [0, 1]: the best point is a median", Kind: "convex",
			Dim: 1, FixedDim: true,
			Options: []GameOption{{
				Name: "skew", High: 100, Integer: true,
				Help: "targets are powers u^(1+skew) of uniform numbers",
			}},
			Make: func(p GameParams, o func(string) float64) (Game, Facts, error) {
				g, err := NewAbsolute(nil, int(o("skew")), p.Seed)
				return g, factsOf(loss.Facts{Lipschitz: 1, LipschitzInf: 1, Smoothness: math.Inf(1)}), err
			},
		},
		noisy("linear-ball", "linear losses, a bias and noise, on a Euclidean ball", false,
			func(d int, r float64) (convex.Set, error) { return convex.NewCenteredBall(d, r) }),
		noisy("linear-box", "linear losses, a bias and noise, on the cube [−radius, radius]^d", false,
			func(d int, r float64) (convex.Set, error) { return convex.NewCube(d, -r, r) }),
		noisy("linear-space", "linear losses, a bias and noise, on ℝ^d, against the best point of length reach", true,
			func(d int, _ float64) (convex.Set, error) { return convex.NewSpace(d) }),
		{
			Name: "experts", Help: "expert advice: losses 0 or 1 by fair coins, and one expert better by a gap",
			Kind: "experts", Dim: 10,
			Options: []GameOption{{
				Name: "gap", Default: 0.1, High: 0.5,
				Help: "by how much the best expert's mean loss is below ½",
			}},
			Make: func(p GameParams, o func(string) float64) (Game, Facts, error) {
				g, err := NewExpertGame(p.Dim, o("gap"), p.Seed)
				return g, linearFacts(math.Sqrt(float64(p.Dim)), 1), err
			},
		},
	}
}

// smoothGames returns more games drawn from a seed: squared losses that drift, and composite ones.
func smoothGames() []GameEntry {
	return []GameEntry{
		{
			Name: "drift", Help: "squared distances to a target that goes round slowly, in a ball: strongly convex",
			Kind: "convex", Dim: 2,
			Options: []GameOption{
				radiusOption, periodOption,
				{Name: "noise", Default: 0.2, High: 1, Help: "the part of the target that is noise"},
			},
			Make: func(p GameParams, o func(string) float64) (Game, Facts, error) {
				r := o("radius")
				g, err := NewDrift(p.Dim, r, o("period"), o("noise"), p.Seed)
				// α = 1/(8r²), as 4‖x−c‖²·α ≤ 2 for ‖x−c‖ ≤ 2r; L·D = 8r².
				return g, factsOf(loss.Facts{
					Lipschitz: 4 * r, LipschitzInf: 4 * r, StrongConvexity: 2, Smoothness: 2,
					ExpConcavity:    1 / (16 * r * r),
					SquaredDistance: true,
				}), err
			},
		},
		{
			Name: "gradual", Help: "squared losses of a direction that turns slowly, in the unit ball: smooth, not " +
				"strongly convex",
			Kind: "convex", Dim: 5, Options: []GameOption{periodOption},
			Make: func(p GameParams, o func(string) float64) (Game, Facts, error) {
				g, err := NewGradual(p.Dim, o("period"), p.Seed)
				// |⟨z, x⟩ − ½| ≤ ρ = 1.5, α = 1/ρ², L = ρ, D = 2.
				const rho = 1.5
				return g, factsOf(loss.Facts{
					Lipschitz: rho, LipschitzInf: rho, Smoothness: 1, ExpConcavity: newtonMu(1/(rho*rho), rho, 2),
				}), err
			},
		},
		{
			Name: "sparse", Help: "composite losses ⟨g, x⟩ + λ‖x‖₁ in the unit ball, few coordinates matter",
			Kind: "convex", Dim: 20,
			Options: []GameOption{
				{Name: "lambda", Default: 0.05, High: 1e100, Help: "the weight of ‖x‖₁"},
				{
					Name: "active", Default: 2, High: maxDim, Integer: true,
					Help: "the number of coordinates that matter; fewer by default where the dimension is below it",
				},
			},
			Make: func(p GameParams, o func(string) float64) (Game, Facts, error) {
				l, n := o("lambda"), int(o("active"))
				if _, given := p.Options["active"]; !given {
					n = min(n, p.Dim)
				}
				g, err := NewSparseGame(p.Dim, l, n, p.Seed)
				f := linearFacts(1+float64(l*math.Sqrt(float64(p.Dim))), 1/math.Sqrt(float64(p.Dim))+l)
				f.L1 = l
				if l > 0 {
					f.Smoothness = math.Inf(1)
				}
				return g, f, err
			},
		},
	}
}

// newtonMu is ½·min(α, 1/(L·D)), the μ of the online Newton step for α-exp-concave losses.
func newtonMu(alpha, lipschitz, diameter float64) float64 {
	return min(alpha, 1/(lipschitz*diameter)) / 2
}

// examplesOf returns the given examples, or synthetic ones.
func examplesOf(p GameParams, o func(string) float64, classification bool) ([]Example, error) {
	if p.Examples != nil {
		return p.Examples, nil
	}
	return SyntheticExamples(p.Dim, int(o("examples")), classification, p.Seed)
}

// checkSpan returns an error if the [SquareSummary] of the examples would take too much memory; of
// the first ones only if there is a horizon.
func checkSpan(examples []Example, rounds int) error {
	if len(examples) == 0 || len(examples[0].Z) <= squareDense {
		return nil
	}
	d := len(examples[0].Z)
	rank := min(len(examples), d)
	if rounds > 0 {
		rank = min(rank, rounds)
	}
	return checkRank(d, rank)
}

// typicalExamples stands for a game of examples in an outline: all its sizes are 1.
func typicalExamples() *ExampleGame { return &ExampleGame{length: 1, inf: 1, label: 1, least: 1} }

// regressionFacts are the facts of d features and a ball of radius u, +Inf for ℝ^d.
func (g *ExampleGame) regressionFacts(d int, u float64) Facts {
	f := Unknown()
	f.Features, f.Smoothness = true, g.length*g.length
	if d == 1 {
		f.StrongConvexity = g.least * g.least
	}
	if !math.IsInf(u, 1) {
		rho := float64(u*g.length) + g.label
		f.Lipschitz, f.LipschitzInf = g.length*rho, g.inf*rho
		if f.Lipschitz > 0 {
			f.ExpConcavity = newtonMu(1/(rho*rho), f.Lipschitz, 2*u)
		}
	}
	return f
}

// classificationFacts are the facts of a ball of radius u.
func (g *ExampleGame) classificationFacts(u float64) Facts {
	f := Unknown()
	f.Lipschitz, f.LipschitzInf, f.Smoothness = g.length, g.inf, g.length*g.length/4
	if g.length > 0 {
		// exp(−|m|)-exp-concave for margins up to m.
		f.ExpConcavity = newtonMu(portable.Exp(-u*g.length), g.length, 2*u)
	}
	return f
}

// regressionRadius is the radius that the option asks for: its 0 is ℝ^d.
func regressionRadius(option float64) float64 {
	if option == 0 {
		return math.Inf(1)
	}
	return option
}

// exampleGames are the games of data sets.
func exampleGames() []GameEntry {
	count := GameOption{
		Name: "examples", Default: 1000, Low: 1, High: 1e7, Integer: true,
		Help: "the number of synthetic examples",
	}
	return []GameEntry{
		{
			Name: "regression", Help: "squared losses ½(⟨z, x⟩ − y)² of examples, features shown first, on ℝ^d or a " +
				"ball", Kind: "convex", Dim: 5,
			TakesExamples: "regression",
			Options: []GameOption{
				{Name: "radius", High: 1e100, Help: "the radius of the ball, 0 for ℝ^d"},
				count,
			},
			Make: func(p GameParams, o func(string) float64) (Game, Facts, error) {
				examples, err := examplesOf(p, o, false)
				if err != nil {
					return nil, Facts{}, err
				}
				if err := checkSpan(examples, p.Rounds); err != nil {
					return nil, Facts{}, err
				}
				u := regressionRadius(o("radius"))
				g, err := NewRegression(examples, u)
				if err != nil {
					return nil, Facts{}, err
				}
				return g, g.regressionFacts(len(examples[0].Z), u), nil
			},
			Outline: func(p GameParams, o func(string) float64) (convex.Set, Facts, error) {
				u := regressionRadius(o("radius"))
				set, err := regressionSet(p.Dim, u)
				return set, typicalExamples().regressionFacts(p.Dim, u), err
			},
		},
		{
			Name: "classification", Help: "logistic losses of examples with labels ±1, features scaled to length 1, " +
				"on a ball", Kind: "convex", Dim: 5,
			TakesExamples: "classification",
			Options: []GameOption{{
				Name: "radius", Default: 5, Low: 1e-9, High: 700,
				Help: "the radius of the ball",
			}, count},
			Make: func(p GameParams, o func(string) float64) (Game, Facts, error) {
				examples, err := examplesOf(p, o, true)
				if err != nil {
					return nil, Facts{}, err
				}
				u := o("radius")
				g, err := NewClassification(examples, u)
				if err != nil {
					return nil, Facts{}, err
				}
				return g, g.classificationFacts(u), nil
			},
			Outline: func(p GameParams, o func(string) float64) (convex.Set, Facts, error) {
				u := o("radius")
				set, err := convex.NewCenteredBall(p.Dim, u)
				return set, typicalExamples().classificationFacts(u), err
			},
		},
	}
}
