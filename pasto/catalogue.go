package pasto

import (
	"strings"

	"github.com/noregret/noregret"
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
	New func(f Objective, arms, rounds int, start []float64) (Learner, error)
}

// Algorithms lists all algorithms by name, the default first.
func Algorithms() []Entry {
	paper := func(change func(o *Options, arms, rounds int)) func(Objective, int, int, []float64) (Learner, error) {
		return func(f Objective, arms, rounds int, start []float64) (Learner, error) {
			o := PaperOptions(max(arms, 1))
			o.Start = start
			change(&o, arms, rounds)
			return New(f, arms, o)
		}
	}
	single := func(rule Rule) func(Objective, int, int, []float64) (Learner, error) {
		return func(f Objective, arms, _ int, start []float64) (Learner, error) {
			if err := noStart(start); err != nil {
				return nil, err
			}
			return NewSingle(f, arms, rule)
		}
	}
	confident := func(o ConfidentOptions) func(Objective, int, int, []float64) (Learner, error) {
		return func(f Objective, arms, _ int, start []float64) (Learner, error) {
			if err := noStart(start); err != nil {
				return nil, err
			}
			return NewConfident(f, arms, o)
		}
	}
	return []Entry{
		{Name: "default", Doc: "arm means with confidence: an optimistic mixture to learn, a cautious one to deploy, " +
			"changes detected", New: confident(ConfidentOptions{})},
		{Name: "default-floor", Doc: "the default with 5 % of the groups spread over all arms for ever, for arms " +
			"that may become good unseen", New: confident(ConfidentOptions{Floor: 0.05})},
		{
			Name: "paper", Doc: "Algorithm 1 with the settings of the paper's experiments, average of what was served",
			New: paper(func(*Options, int, int) {}),
		},
		{Name: "paper-last", Doc: "the same, the last serving distribution", New: paper(func(o *Options, _, _ int) {
			o.Ship = ShipServing
		})},
		{
			Name: "theorem", Doc: "Algorithm 1 with the settings of Theorem 1 for G = 1 and the given horizon",
			New: func(f Objective, arms, rounds int, start []float64) (Learner, error) {
				if rounds < 1 {
					return nil, noregret.BadInputf("rounds",
						"%d: this algorithm's step is 1/√T: want a horizon T of at least 1 round",
						rounds)
				}
				o := TheoremOptions(1, rounds)
				o.Start = start
				return New(f, arms, o)
			},
		},
		{
			Name: "practical", Doc: "Algorithm 1 with the specification's rule for production: discounted arm means, " +
				"exploration floor, step clip, windowed average",
			New: func(f Objective, arms, _ int, start []float64) (Learner, error) {
				o := PracticalOptions(max(arms, 1))
				o.Start = start
				return New(f, arms, o)
			},
		},
		{Name: "paper-step-clip", Doc: "Algorithm 1 with |γg| clipped at 0.1", New: paper(func(o *Options, _, _ int) {
			o.StepClip = 0.1
		})},
		{
			Name: "paper-weight-clip",
			Doc:  "Algorithm 1 with weights clipped at 10·K, γ = 0.01 and |γg| clipped at 0.1",
			New: paper(func(o *Options, arms, _ int) {
				o.Estimator, o.Step, o.StepClip = Clipped(10*float64(max(arms, 1))), Constant(0.01), 0.1
			}),
		},
		{
			Name: "arm-means", Doc: "Algorithm 1 with arm means in place of importance weights",
			New: paper(func(o *Options, _, _ int) { o.Estimator, o.Pseudo = ArmMeans(), 0 }),
		},
		{Name: "discounted", Doc: "Algorithm 1 with discounted arm means (ρ = 0.002), exploration of 0.1, |γg| " +
			"clipped at 0.1, last exploit distribution", New: paper(func(o *Options, _, _ int) {
			o.Estimator, o.Pseudo, o.MinExploration, o.StepClip, o.Ship = DiscountedMeans(0.002), 0, 0.1, 0.1,
				ShipExploit
		})},
		{
			Name: "doubly-robust", Doc: "Algorithm 1 with the doubly robust estimate",
			New: paper(func(o *Options, _, _ int) { o.Estimator, o.Pseudo = DoublyRobust(), 0 }),
		},
		{Name: "snips", Doc: "Algorithm 1 with self-normalized weights", New: paper(func(o *Options, _, _ int) {
			o.Estimator, o.Pseudo = SelfNormalized(), 0
		})},
		{
			Name: "s-scgd", Doc: "stochastic compositional gradient descent, the paper's baseline",
			New: func(f Objective, arms, _ int, start []float64) (Learner, error) {
				return NewSCGD(f, arms, SCGDOptions{Start: start})
			},
		},
		{Name: "successive-elimination", Doc: "the best single arm by successive elimination", New: single(Eliminate)},
		{Name: "ucb", Doc: "the best single arm by upper confidence bounds on the penalised score", New: single(UCB)},
		{
			Name: "thompson", Doc: "the best single arm by Thompson sampling on the penalised score",
			New: single(Thompson),
		},
	}
}

func noStart(start []float64) error {
	if start == nil {
		return nil
	}
	return noregret.BadInputf("start", "this algorithm has no starting mixture: it serves every arm first; leave it "+
		"out, or take "+
		"Algorithm 1 or s-scgd")
}

// NewByName makes the algorithm of that name; "" is the default.
func NewByName(name string, f Objective, arms, rounds int, start []float64) (Learner, error) {
	if name == "" {
		name = "default"
	}
	var names []string
	for _, e := range Algorithms() {
		if e.Name == name {
			return e.New(f, arms, rounds, start)
		}
		names = append(names, e.Name)
	}
	return nil, noregret.BadInputf("algorithm", "%q is unknown: want one of %s", name, strings.Join(names, ", "))
}
