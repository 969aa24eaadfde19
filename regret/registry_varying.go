package regret

import (
	"math"

	"github.com/noregret/noregret/loss"
)

// varyingFacts are the facts of a [Varying] game whose slopes lie in [low, high].
func (g *Varying) facts(low, high, variation float64) Facts {
	s := g.f.Shape
	steepest := max(math.Abs(s.Derivative(g.ends[0])+low), math.Abs(s.Derivative(g.ends[1])+high))
	// g²·μ ≤ H with |g| at most the steepest.
	f := factsOf(loss.Facts{
		Lipschitz: steepest, LipschitzInf: steepest, StrongConvexity: s.Curvature, Smoothness: s.Curvature + 2*s.Wall,
		ExpConcavity: s.Curvature / (steepest * steepest),
	})
	if g.noise > 0 {
		f.Lipschitz, f.LipschitzInf, f.ExpConcavity, f.Steepest = math.Inf(1), math.Inf(1), 0, steepest
	}
	f.Noise, f.Variation = g.noise, variation
	return f
}

// Options of the games whose losses vary.
var (
	noiseOption = GameOption{
		Name: "noise", High: maxNoise, Help: "the standard deviation of the noise in the feedback",
	}
	variationOption = GameOption{
		Name: "variation", Default: 1, Low: 1e-6, High: 1e6, Help: "the budget V of the variation",
	}
	trapNoiseOption = GameOption{
		Name: "noise", Default: 1, Low: 1e-3, High: maxNoise,
		Help: "the standard deviation of the noise in the feedback",
	}
)

// varyingGames are the entries of [Varying] games.
func varyingGames() []GameEntry {
	return []GameEntry{
		{
			Name: "target", Help: "½x² − b·x + 1 with b from 1 to 0 at once, exponentially or linearly",
			Kind: "convex", Dim: 1, FixedDim: true, NeedsRounds: true,
			Options: []GameOption{
				{
					Name: "pattern", Default: 1, Low: 1, High: 3, Integer: true,
					Help: "1 a jump, 2 exponential decay, 3 a linear ramp",
				},
				{
					Name: "start", High: 1 << 30, Integer: true,
					Help: "the round of the change, 0 for 1.5 to 1.75 batches",
				},
				noiseOption,
			},
			Make: func(p GameParams, o func(string) float64) (Game, Facts, error) {
				g, err := NewTarget(Pattern(o("pattern")), p.Rounds, int(o("start")), o("noise"), p.Seed)
				if err != nil {
					return nil, Facts{}, err
				}
				return g, g.facts(-1, 0, 1), nil
			},
		},
		{
			Name: "alternating", Help: "x² and (x − 1)² on [−1, 2] in turn, a block of rounds each", Kind: "convex",
			Dim: 1, FixedDim: true, NeedsRounds: true,
			Options: []GameOption{
				{Name: "block", High: 1 << 30, Integer: true, Help: "the rounds of a block, 0 for √T"},
				{Name: "first", High: 1, Integer: true, Help: "the minimizer of the first block, 0 or 1"},
				{Name: "offset", Low: -1e6, High: 1e6, Help: "a constant added to (x − 1)²"},
			},
			Make: func(p GameParams, o func(string) float64) (Game, Facts, error) {
				block := int(o("block"))
				if block == 0 {
					block = int(math.Sqrt(float64(p.Rounds)))
				}
				g, err := NewAlternating(block, int(o("first")), o("offset"))
				if err != nil {
					return nil, Facts{}, err
				}
				// On the hull [0, 1] a change is |1 + offset − 2x| at most.
				change := max(math.Abs(1+o("offset")), math.Abs(o("offset")-1))
				return g, g.facts(-2, 0, change*float64((p.Rounds-1)/block)), nil
			},
		},
		trapEntry("gradient-trap",
			"two convex losses on [0, 1] that noisy gradients hardly tell apart, drawn for each "+
				"batch: dynamic regret of order V^⅓·T^⅔", GradientTrap, NewGradientTrap),
		trapEntry("curved-trap",
			"two strongly convex losses on [0, 1] that noisy gradients hardly tell apart: dynamic "+
				"regret of order √(VT)", CurvedTrap, NewCurvedTrap),
		trapEntry("cost-trap", "two strongly convex losses on [−1, 2] that noisy costs hardly tell apart: dynamic "+
			"regret "+
			"of order V^⅓·T^⅔", CostTrap, NewCostTrap),
		{
			Name: "restless",
			Help: "two strongly convex losses on [0, 1] drawn anew in every round: dynamic regret of " +
				"order T", Kind: "convex", Dim: 1, FixedDim: true,
			Options: []GameOption{
				{Name: "delta", Default: 0.5, Low: 1e-6, High: 1, Help: "twice the distance of the minimizers"},
				noiseOption,
			},
			Make: func(p GameParams, o func(string) float64) (Game, Facts, error) {
				d := o("delta")
				g, err := NewRestless(d, o("noise"), p.Seed)
				if err != nil {
					return nil, Facts{}, err
				}
				f := g.facts(-1-d, -1, math.NaN())
				if p.Rounds > 0 {
					square := float64(d * d)
					f.Variation = float64(square / 2 * float64(p.Rounds-1))
					f.DynamicFloor = float64(square / 16 * float64(p.Rounds))
				}
				return g, f, nil
			},
		},
	}
}

// trapEntry is the entry of a lower bound's family.
func trapEntry(name, help string, instance func(rounds int, variation, noise float64) (Trap, error),
	game func(trap Trap, noise float64, seed uint64) (*Varying, error),
) GameEntry {
	return GameEntry{
		Name: name, Help: help, Kind: "convex", Dim: 1, FixedDim: true, NeedsRounds: true,
		Options: []GameOption{variationOption, trapNoiseOption},
		Make: func(p GameParams, o func(string) float64) (Game, Facts, error) {
			trap, err := instance(p.Rounds, o("variation"), o("noise"))
			if err != nil {
				return nil, Facts{}, err
			}
			g, err := game(trap, o("noise"), p.Seed)
			if err != nil {
				return nil, Facts{}, err
			}
			slopes := g.next.(*coins).slope
			f := g.facts(min(slopes[0], slopes[1]), max(slopes[0], slopes[1]), o("variation"))
			f.DynamicFloor = trap.Floor
			return g, f, nil
		},
	}
}
