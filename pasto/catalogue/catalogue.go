package catalogue

import (
	"slices"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/ascent"
	"github.com/noregret/noregret/pasto/confident"
	"github.com/noregret/noregret/pasto/single"
)

// Entry is an algorithm with a name.
type Entry struct {
	// Name as in noregret simulate --algorithm.
	Name string
	// Doc is one sentence.
	Doc string
	// New makes it for the objective, K arms and a horizon of T rounds, which only "theorem" uses:
	// it refuses one below 1. Start is π_1, nil for uniform; algorithms that have no starting
	// mixture refuse one.
	New func(f pasto.Objective, arms, rounds int, start []float64) (pasto.Learner, error)
}

// Algorithms lists all algorithms by name, the default first.
func Algorithms() []Entry {
	return slices.Concat(mixtures(), ascents(), trackers(), singles())
}

// mixtures are the default learner and its variant.
func mixtures() []Entry {
	entry := func(name, doc string, o confident.Options) Entry {
		return Entry{name, doc, func(f pasto.Objective, arms, _ int, start []float64) (pasto.Learner, error) {
			if err := noStart(start); err != nil {
				return nil, err
			}
			return confident.New(f, arms, o)
		}}
	}
	floor := confident.DefaultOptions()
	floor.Floor = 0.05
	return []Entry{
		entry("default", "arm means with confidence: an optimistic mixture to learn, a cautious one to deploy, "+
			"changes detected", confident.DefaultOptions()),
		entry("default-floor", "the default with 5 % of the groups spread over all arms for ever, for arms that "+
			"may become good unseen", floor),
	}
}

// algorithm1 makes Algorithm 1 with the paper's options after a change.
func algorithm1(change func(o *ascent.Options, arms, rounds int)) func(pasto.Objective, int, int,
	[]float64) (pasto.Learner, error) {
	return func(f pasto.Objective, arms, rounds int, start []float64) (pasto.Learner, error) {
		o := ascent.PaperOptions(max(arms, 1))
		o.Start = start
		change(&o, arms, rounds)
		return ascent.New(f, arms, o)
	}
}

// ascents are the paper's Algorithm 1 with a choice of options, and its baseline.
func ascents() []Entry {
	return []Entry{
		{
			Name: "paper", Doc: "Algorithm 1 with the settings of the paper's experiments, average of what was served",
			New: algorithm1(func(*ascent.Options, int, int) {}),
		},
		{
			Name: "paper-last", Doc: "the same, the last serving distribution",
			New: algorithm1(func(o *ascent.Options, _, _ int) {
				o.Deploy = ascent.DeployServing
			}),
		},
		{
			Name: "theorem", Doc: "Algorithm 1 with the settings of Theorem 1 for G = 1 and the given horizon",
			New: func(f pasto.Objective, arms, rounds int, start []float64) (pasto.Learner, error) {
				if rounds < 1 {
					return nil, noregret.BadInputf("rounds",
						"%d: this algorithm's step is 1/√T: want a horizon T of at least 1 round",
						rounds)
				}
				o := ascent.TheoremOptions(1, rounds)
				o.Start = start
				return ascent.New(f, arms, o)
			},
		},
		{
			Name: "practical", Doc: "Algorithm 1 with a rule for production: discounted arm means, " +
				"exploration floor, step clip, windowed average",
			New: func(f pasto.Objective, arms, _ int, start []float64) (pasto.Learner, error) {
				o := ascent.PracticalOptions(max(arms, 1))
				o.Start = start
				return ascent.New(f, arms, o)
			},
		},
		{
			Name: "paper-step-clip", Doc: "Algorithm 1 with |γg| clipped at 0.1",
			New: algorithm1(func(o *ascent.Options, _, _ int) {
				o.StepClip = 0.1
			}),
		},
		{
			Name: "paper-weight-clip",
			Doc:  "Algorithm 1 with weights clipped at 10·K, γ = 0.01 and |γg| clipped at 0.1",
			New: algorithm1(func(o *ascent.Options, arms, _ int) {
				o.Estimator, o.Step, o.StepClip = ascent.Clipped(10*float64(max(arms, 1))), ascent.Constant(0.01), 0.1
			}),
		},
		{
			Name: "arm-means", Doc: "Algorithm 1 with arm means in place of importance weights",
			New: algorithm1(func(o *ascent.Options, _, _ int) { o.Estimator, o.Pseudocount = ascent.ArmMeans(), 0 }),
		},
		{Name: "discounted", Doc: "Algorithm 1 with discounted arm means (ρ = 0.002), exploration of 0.1, |γg| " +
			"clipped at 0.1, last exploit distribution", New: algorithm1(func(o *ascent.Options, _, _ int) {
			o.Estimator, o.Pseudocount, o.MinExploration, o.StepClip, o.Deploy = ascent.DiscountedMeans(0.002), 0, 0.1,
				0.1,
				ascent.DeployExploit
		})},
		{
			Name: "doubly-robust", Doc: "Algorithm 1 with the doubly robust estimate",
			New: algorithm1(func(o *ascent.Options, _, _ int) {
				o.Estimator, o.Pseudocount = ascent.DoublyRobust(), 0
			}),
		},
		{
			Name: "snips", Doc: "Algorithm 1 with self-normalized weights",
			New: algorithm1(func(o *ascent.Options, _, _ int) {
				o.Estimator, o.Pseudocount = ascent.SelfNormalized(), 0
			}),
		},
		{
			Name: "s-scgd", Doc: "stochastic compositional gradient descent, the paper's baseline",
			New: func(f pasto.Objective, arms, _ int, start []float64) (pasto.Learner, error) {
				o := ascent.DefaultSCGDOptions()
				o.Start = start
				return ascent.NewSCGD(f, arms, o)
			},
		},
	}
}

// trackers are Algorithm 1 for means that drift.
func trackers() []Entry {
	return []Entry{
		{
			Name: "tracking",
			Doc: "Algorithm 1 for means that drift: discounted arm means (ρ = 0.002), exploration of " +
				"0.1, steps in the metrics' own scale",
			New: func(f pasto.Objective, arms, _ int, start []float64) (pasto.Learner, error) {
				o := ascent.TrackingOptions(ascent.DiscountedMeans(0.002))
				o.Start = start
				return ascent.New(f, arms, o)
			},
		},
	}
}

// singles look for the best single arm.
func singles() []Entry {
	singleArm := func(rule single.Rule) func(pasto.Objective, int, int, []float64) (pasto.Learner, error) {
		return func(f pasto.Objective, arms, _ int, start []float64) (pasto.Learner, error) {
			if err := noStart(start); err != nil {
				return nil, err
			}
			return single.New(f, arms, rule)
		}
	}
	return []Entry{
		{
			Name: "successive-elimination", Doc: "the best single arm by successive elimination",
			New: singleArm(single.Elimination),
		},
		{
			Name: "ucb", Doc: "the best single arm by upper confidence bounds on the penalised score",
			New: singleArm(single.UCB),
		},
		{
			Name: "thompson", Doc: "the best single arm by Thompson sampling on the penalised score",
			New: singleArm(single.Thompson),
		},
	}
}

func noStart(start []float64) error {
	if start == nil {
		return nil
	}
	return noregret.BadInputf("start", "this algorithm has no starting mixture: it serves every arm first; leave it "+
		"out, or "+
		"take "+
		"Algorithm 1 or s-scgd")
}

// New makes the algorithm of that name; "" is the default.
func New(name string, f pasto.Objective, arms, rounds int, start []float64) (pasto.Learner, error) {
	e, err := find(name)
	if err != nil {
		return nil, err
	}
	return e.New(f, arms, rounds, start)
}

// find returns the algorithm of that name; "" is the default.
func find(name string) (*Entry, error) {
	if name == "" {
		name = "default"
	}
	var names []string
	for _, e := range Algorithms() {
		if e.Name == name {
			return &e, nil
		}
		names = append(names, e.Name)
	}
	return nil, noregret.BadInputf("algorithm", "%q is unknown: %swant one of %s", name,
		named.DidYouMean(name, names), strings.Join(names, ", "))
}
