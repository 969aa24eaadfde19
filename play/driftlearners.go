package play

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/drift"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// Options of the learners for losses that change. The defaults of variation and lipschitz are those
// of the game; see withDefaults.
var (
	everyOption     = oco.Option{Name: "every", Derived: "from T and V", Help: "the rounds between restarts"}
	variationOption = oco.Option{Name: "variation", Derived: "the game's, or 1", Help: "the budget V of the variation"}
	lipschitzOption = oco.Option{
		Name: "lipschitz", Derived: "the game's", Help: "the size G of the subgradients that the learner sees",
	}
	baselineOption = oco.Option{
		Name: "baseline", Default: 0.95, Help: "the discount of the mean cost that is subtracted from costs",
	}
	costOption = oco.Option{Name: "bound", Derived: "L·D", Help: "the largest size of a cost"}
)

// driftLearners are the learners of package drift, for losses that change.
func driftLearners() []oco.Entry {
	return []oco.Entry{
		{
			Name: "restarted-ogd", Kind: "convex", Bound: "dynamic: V^⅓·T^⅔, or √(V·T·ln T) for strongly convex losses",
			Knows: "T, V, L, D", Cost: "O(d)+proj",
			Options: []oco.Option{everyOption, variationOption, lipschitzOption},
			Source:  "Besbes, Gur and Zeevi 2015, Theorems 3 and 4", Make: restartedDescent,
		},
		{
			Name: "retuned-ogd", Kind: "convex", Bound: "dynamic: V^⅓·T^⅔", Knows: "T, V, L, D", Cost: "O(d)+proj",
			Options: []oco.Option{variationOption, lipschitzOption},
			Source:  "Besbes, Gur and Zeevi 2015, Proposition 3",
			Make: func(p oco.Problem, o func(string) float64) (oco.Learner, error) {
				g, err := gradientOptions(p, o)
				if err != nil {
					return nil, err
				}
				return drift.NewRetuned(g)
			},
		},
		{
			Name: "ader", Kind: "convex", Bound: "dynamic: √(T(1+P)) for a path of length P", Knows: "T, L, D",
			Cost: "O(log T) descents", Options: []oco.Option{lipschitzOption}, Source: "Zhang, Lu and Zhou 2018",
			Make: func(p oco.Problem, o func(string) float64) (oco.Learner, error) {
				return drift.NewAder(drift.HedgeOptions{Set: p.Set, Lipschitz: lipschitzOf(p, o), Rounds: p.Rounds})
			},
		},
		{
			Name: "dyadic", Kind: "convex", Bound: "dynamic: V^⅓·T^⅔ + √(T·ln ln T)", Knows: "T, L, D",
			Cost: "O(log T) descents", Options: []oco.Option{lipschitzOption},
			Source: "Besbes, Gur and Zeevi 2015, with exponential weights over the batch sizes",
			Make: func(p oco.Problem, o func(string) float64) (oco.Learner, error) {
				return drift.NewDyadic(drift.HedgeOptions{Set: p.Set, Lipschitz: lipschitzOf(p, o), Rounds: p.Rounds})
			},
		},
		{
			Name: "adaptive", Kind: "convex", Bound: "√(n·log T) on every interval of n rounds", Knows: "L, D",
			Cost: "O(log t) descents", Options: []oco.Option{lipschitzOption},
			Source: "Daniely, Gonen and Shalev-Shwartz 2015; Jun et al. 2017",
			Make: func(p oco.Problem, o func(string) float64) (oco.Learner, error) {
				return drift.NewAdaptive(drift.AdaptiveOptions{
					Set: p.Set, Lipschitz: lipschitzOf(p, o), Curvature: p.StrongConvexity,
				})
			},
		},
		{
			Name: "egs", Kind: "convex", Bound: "dynamic: V^⅓·T^⅔, from costs alone", Knows: "T, V, strong convexity",
			Cost: "O(d)+proj", Options: []oco.Option{everyOption, variationOption, baselineOption},
			Source: "Besbes, Gur and Zeevi 2015, Theorem 5", Make: estimatedStep,
		},
		{
			Name: "bgd", Kind: "convex", Bound: "dynamic: V^⅕·T^⅘, from costs alone", Knows: "T, V, L, D",
			Cost:    "O(d)+proj",
			Options: []oco.Option{everyOption, variationOption, lipschitzOption, costOption, baselineOption},
			Source:  "Flaxman, Kalai and McMahan 2005", Make: banditDescent,
		},
	}
}

// derived returns the value of an option, or the one that the problem determines.
func derived(o func(string) float64, name string, otherwise float64) float64 {
	if v := o(name); !math.IsNaN(v) {
		return v
	}
	return otherwise
}

func lipschitzOf(p oco.Problem, o func(string) float64) float64 {
	return derived(o, "lipschitz", p.Lipschitz)
}

// budgetOf returns the budget of a problem, and the rounds between restarts.
func budgetOf(p oco.Problem, o func(string) float64, s drift.Setting) (drift.Budget, int, error) {
	budget, err := drift.NewBudget(p.Rounds, derived(o, "variation", 1))
	if err != nil {
		return budget, 0, err
	}
	every := derived(o, "every", float64(budget.BatchSize(s)))
	if !(every >= 1) || every != math.Floor(every) {
		return budget, 0, noregret.BadInputf("every", "%v: want an integer of at least 1", every)
	}
	return budget, int(min(every, float64(p.Rounds))), nil
}

// gradientOptions are the options of descents.
func gradientOptions(p oco.Problem, o func(string) float64) (drift.GradientOptions, error) {
	budget, _, err := budgetOf(p, o, drift.ConvexGradient)
	g := drift.DefaultGradientOptions(budget, p.Set, lipschitzOf(p, o))
	g.Curvature, g.Mode = p.StrongConvexity, drift.Schedule
	return g, err
}

// restartedDescent makes restarted-ogd. With the option every the steps are D/(G·√Δ), or 1/(H·k). A
// G below the game's would make its bounds untrue.
func restartedDescent(p oco.Problem, o func(string) float64) (oco.Learner, error) {
	g, err := gradientOptions(p, o)
	if err != nil {
		return nil, err
	}
	if g.Lipschitz < p.Lipschitz && !math.IsInf(p.Lipschitz, 1) {
		return nil, noregret.BadInputf("lipschitz", "%v: want at least the game's %v", g.Lipschitz, p.Lipschitz)
	}
	if math.IsNaN(o("every")) {
		return drift.NewRestartedDescent(g)
	}
	_, size, err := budgetOf(p, o, drift.ConvexGradient)
	if err != nil {
		return nil, err
	}
	d, h, l := p.Set.Diameter(), p.StrongConvexity, g.Lipschitz
	root := math.Sqrt(float64(size))
	rate, static := oco.Constant(d/(l*root)), func(n int) float64 {
		return float64(d*l) * (float64(root/2) + float64(n)/(2*root))
	}
	if h > 0 {
		rate, static = oco.StronglyConvex(h), func(n int) float64 { return drift.StronglyConvexBound(h, l, n) }
	}
	trigger, err := forget.Every(size)
	if err != nil {
		return nil, err
	}
	return drift.NewRestarted(drift.RestartedOptions{
		Make: drift.Descent(p.Set, nil, rate), Trigger: trigger, Mode: drift.Schedule, Static: static,
	})
}

// estimatedStep makes egs.
func estimatedStep(p oco.Problem, o func(string) float64) (oco.Learner, error) {
	if !(p.StrongConvexity > 0) {
		return nil, noregret.BadInputf("losses", "they are not strongly convex, which this learner is for")
	}
	_, size, err := budgetOf(p, o, drift.StronglyConvexCost)
	if err != nil {
		return nil, err
	}
	options := drift.DefaultEGSOptions(p.Set, p.StrongConvexity)
	options.Baseline = o("baseline")
	l, err := drift.NewEGS(options)
	if err != nil {
		return nil, err
	}
	return costLearner(l, size)
}

// banditDescent makes bgd.
func banditDescent(p oco.Problem, o func(string) float64) (oco.Learner, error) {
	_, size, err := budgetOf(p, o, drift.ConvexCost)
	if err != nil {
		return nil, err
	}
	lipschitz := lipschitzOf(p, o)
	options := drift.DefaultBGDOptions(p.Set, size, derived(o, "bound", lipschitz*p.Set.Diameter()))
	options.Lipschitz, options.Baseline = lipschitz, o("baseline")
	l, err := drift.NewBGD(options)
	if err != nil {
		return nil, err
	}
	return costLearner(l, size)
}

// costLearner restarts a learner of costs and lets the referee play it. newPlayer seeds it.
func costLearner(l drift.CostLearner, size int) (oco.Learner, error) {
	trigger, err := forget.Every(size)
	if err != nil {
		return nil, err
	}
	r, err := drift.NewRestartedCost(l, trigger, drift.Schedule)
	if err != nil {
		return nil, err
	}
	return NewCostPlayer(r, 0)
}

// withDefaults adds what the game states to the options of a learner that takes it and was not
// given it: the variation, and the size of subgradients with noise, which is their root mean square
// for learners that know the variation and a size that few exceed for the others.
func withDefaults(e *oco.Entry, options map[string]float64, f regret.Facts) map[string]float64 {
	takes := func(name string) bool {
		_, known := options[name]
		return !known && slices.ContainsFunc(e.Options, func(o oco.Option) bool { return o.Name == name })
	}
	all := maps.Clone(options)
	if all == nil {
		all = map[string]float64{}
	}
	if takes("variation") && f.Variation > 0 && !math.IsInf(f.Variation, 1) {
		all["variation"] = f.Variation
	}
	if takes("lipschitz") && f.Noise > 0 {
		if _, budget := all["variation"]; budget {
			all["lipschitz"] = math.Sqrt(float64(f.Steepest*f.Steepest) + float64(f.Noise*f.Noise))
		} else {
			all["lipschitz"] = f.Steepest + float64(3*f.Noise)
		}
	}
	return all
}

// restartedPrefix begins the names of restarted learners: restarted-adagrad is made anew for every
// batch of rounds.
const restartedPrefix = "restarted-"

// restartedEntry is the entry of the restarted form of a learner of the catalogue.
func restartedEntry(e oco.Entry) oco.Entry {
	inner := e
	e.Name = restartedPrefix + inner.Name
	e.Bound = "for each batch: " + inner.Bound
	e.Knows = strings.TrimSuffix("T, V, "+inner.Knows, ", nothing")
	e.Options = append([]oco.Option{everyOption, variationOption}, inner.Options...)
	e.Source = "Besbes, Gur and Zeevi 2015, Proposition 2; " + inner.Source
	e.Make = func(p oco.Problem, o func(string) float64) (oco.Learner, error) {
		setting := drift.ConvexGradient
		if p.StrongConvexity > 0 {
			setting = drift.StronglyConvexGradient
		}
		_, size, err := budgetOf(p, o, setting)
		if err != nil {
			return nil, err
		}
		rest := map[string]float64{}
		for i := range inner.Options {
			name := inner.Options[i].Name
			if name != everyOption.Name && name != variationOption.Name && !math.IsNaN(o(name)) {
				rest[name] = o(name)
			}
		}
		batch := p
		batch.Rounds = size
		trigger, err := forget.Every(size)
		if err != nil {
			return nil, err
		}
		l, err := drift.NewRestarted(drift.RestartedOptions{
			Trigger: trigger, Mode: drift.Full,
			Make: func([]float64) (oco.Learner, error) {
				l, err := inner.New(batch, rest)
				if _, costs := l.(*CostPlayer); costs {
					return nil, noregret.BadInputf("learner", "%s has restarts of its own: want the option every",
						inner.Name)
				}
				return l, err
			},
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", inner.Name, err)
		}
		return l, nil
	}
	return e
}
