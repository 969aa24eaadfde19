package classify

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/loss"
)

// Algorithm is a way to train a linear classifier that [Fit] knows by name.
type Algorithm struct {
	// Name is the name of the algorithm in options and commands.
	Name string
	// Description is one line on what it does.
	Description string
	// TunesThreshold reports whether the algorithm tunes the threshold on held-out data by default.
	TunesThreshold bool

	// trains reports whether the measure can be the objective. It is nil for algorithms that have
	// an objective of their own, for which the measure only chooses models and thresholds.
	trains       func(m measure.Measure) bool
	wants        string // the family that trains accepts, for the error
	online       bool   // whether it has step scales
	selects      bool   // whether it proposes several models to choose from
	needsHoldout bool
	sharesModel  bool // whether the model, except for its threshold, is the same for all measures
	// adaptive says what adaptive steps change.
	adaptive adaptiveRule
	// learner returns the online learner. It is nil for algorithms that are not online. cfg is
	// the learner's Config.
	learner func(r *resolved, cfg Config) (Learner, error)
	run     func(t *task) error
}

// adaptiveRule says what an algorithm does with adaptive steps ([StepsAdaptive]). The zero value
// treats them as a schedule like any other.
type adaptiveRule struct {
	preferred bool      // whether adaptive steps are the default, unless an option excludes them
	crossFits bool      // whether few positives are cross-fitted by default
	positives int64     // the least number of positives visited in the default number of passes
	scales    []float64 // the step scales to try on held-out data
}

// Trains reports whether m can be the objective of the algorithm.
func (a Algorithm) Trains(m measure.Measure) bool { return a.trains == nil || a.trains(m) }

func isConcave(m measure.Measure) bool {
	_, ok := m.(measure.Concave)
	return ok
}

func isRatio(m measure.Measure) bool {
	_, ok := m.(measure.Ratio)
	return ok
}

func isEither(m measure.Measure) bool { return isConcave(m) || isRatio(m) }

const wantsRatio = "a pseudo-linear measure (f1, fbeta:B, jaccard, tversky:S,T, kappa, accuracy, ...)"

// algorithms is the table of all algorithms. Everything specific to an algorithm is in its entry:
// no code compares names.
var algorithms = []Algorithm{
	{
		Name: "spade", Description: "SPADE: stochastic primal-dual ascent on a concave measure",
		trains: isConcave, wants: "a concave measure (min, hmean, qmean, gmean, balanced_accuracy, youden, " +
			"recalls:C1,C2)",
		online: true, learner: newFittedSPADE, run: runPasses,
	},
	{
		Name: "stamp", Description: "STAMP: stochastic alternating maximization of a pseudo-linear measure, model " +
			"and threshold chosen on held-out data",
		TunesThreshold: true, trains: isRatio, wants: wantsRatio, online: true, selects: true,
		// Nearly separable data need longer steps than others, so two scales are tried.
		adaptive: adaptiveRule{preferred: true, crossFits: true, positives: 30_000, scales: []float64{1, 3}},
		learner:  newFittedSTAMP, run: runSTAMP,
	},
	{
		Name: "amp", Description: "AMP: batch alternating maximization of a pseudo-linear measure, logistic model " +
			"steps by L-BFGS",
		TunesThreshold: true, trains: isRatio, wants: wantsRatio, selects: true, run: runAMP,
	},
	{
		Name: "plugin", Description: "plug-in: logistic regression by L-BFGS, threshold tuned on held-out data for " +
			"any measure",
		TunesThreshold: true, needsHoldout: true, sharesModel: true, run: runLogistic,
	},
	{
		Name: "logistic", Description: "logistic regression by L-BFGS, threshold 0",
		sharesModel: true, run: runLogistic,
	},
	{
		Name: "logistic-balanced", Description: "logistic regression by L-BFGS with both classes weighing the same, " +
			"threshold 0",
		sharesModel: true, run: runBalancedLogistic,
	},
	{
		Name: "cost-search", Description: "class-weighted search: 19 class weights, hinge SGD each, best model and " +
			"threshold on held-out data",
		TunesThreshold: true, trains: isEither, wants: "a concave or pseudo-linear measure", online: true,
		selects: true, needsHoldout: true, run: runCostSearch,
	},
	{
		Name: "sgd-logistic", Description: "logistic regression by averaged stochastic gradient, threshold 0",
		online: true, sharesModel: true, learner: newFittedSGD(loss.Logistic{}, false), run: runPasses,
	},
	{
		Name: "sgd-hinge", Description: "linear support vector machine by averaged stochastic gradient, threshold 0",
		online: true, sharesModel: true, learner: newFittedSGD(loss.Hinge{}, false), run: runPasses,
	},
	{
		Name: "sgd-balanced", Description: "hinge SGD with both classes weighing the same (SPADE with its dual held " +
			"at (½, ½))",
		online: true, sharesModel: true, learner: newFittedSGD(nil, true), run: runPasses,
	},
}

// Algorithms lists the algorithms, the project's own first.
func Algorithms() []Algorithm { return algorithms[:len(algorithms):len(algorithms)] }

// AlgorithmNames lists their names.
func AlgorithmNames() []string {
	names := make([]string, len(algorithms))
	for i, a := range algorithms {
		names[i] = a.Name
	}
	return names
}

// DefaultAlgorithm returns the algorithm that "auto" stands for: the first in the table that can
// maximize the measure, which is spade for concave measures and stamp for pseudo-linear ones. For a
// measure that no algorithm can maximize it is stamp, the first that tunes a threshold.
func DefaultAlgorithm(m measure.Measure) string {
	for _, a := range algorithms {
		if a.trains != nil && a.trains(m) {
			return a.Name
		}
	}
	i := slices.IndexFunc(algorithms, func(a Algorithm) bool { return a.TunesThreshold })
	return algorithms[i].Name
}

// schedule returns the schedule of steps for a configuration: the one that the options name, or
// else adaptive steps if the algorithm prefers them and the options have no ball, regularisation or
// absolute step. STAMP prefers them because it chooses its model on held-out data, so that progress
// in few passes counts. SPADE does not, because its certificate is for StepsSqrt.
func (a *Algorithm) schedule(c Config) Steps {
	if c.Steps != StepsDefault {
		return c.Steps
	}
	plain := (c.Radius == 0 || math.IsInf(c.Radius, 1)) && c.Lambda == 0 && c.Step == 0
	if a.adaptive.preferred && plain {
		return StepsAdaptive
	}
	return StepsSqrt
}

// DefaultSteps returns the schedule that [StepsDefault] stands for in a [Fit] by the named
// algorithm: adaptive steps for STAMP, unless the options have a ball, regularisation or an
// absolute step; otherwise StepsSqrt, also for an unknown name.
func DefaultSteps(algorithm string, c Config) Steps {
	i := slices.IndexFunc(algorithms, func(a Algorithm) bool { return a.Name == algorithm })
	if i < 0 {
		return new(Algorithm).schedule(c)
	}
	return algorithms[i].schedule(c)
}

// findAlgorithm returns the algorithm of the given name and checks that it can train for the
// measure.
func findAlgorithm(name string, m measure.Measure, allowDegenerate bool) (*Algorithm, error) {
	if m == nil {
		return nil, usage("no measure is given; there are %s", strings.Join(measure.Names(), ", "))
	}
	auto := name == "" || name == "auto"
	if auto {
		name = DefaultAlgorithm(m)
	}
	for i := range algorithms {
		a := &algorithms[i]
		if a.Name != name {
			continue
		}
		if a.trains == nil {
			return a, nil
		}
		if err := measure.Trainable(m); err != nil && !(allowDegenerate && isEither(m)) {
			return nil, err
		}
		if !a.trains(m) {
			return nil, usage("algorithm %s cannot maximize %s: it needs %s; try %s", a.Name, m.Name(), a.wants,
				DefaultAlgorithm(m))
		}
		return a, nil
	}
	return nil, usage("no algorithm is named %q; %sthere are %s", name, named.DidYouMean(name, AlgorithmNames()),
		strings.Join(AlgorithmNames(), ", "))
}

func newFittedSPADE(r *resolved, cfg Config) (Learner, error) {
	return NewSPADE(SPADEConfig{Config: cfg, Measure: r.Measure.(measure.Concave), DualScale: r.DualScale})
}

func newFittedSTAMP(r *resolved, cfg Config) (Learner, error) {
	return NewSTAMP(STAMPConfig{
		Config: cfg, LevelPositives: r.levelPositives, Measure: r.Measure.(measure.Ratio),
		FirstEpoch: r.FirstEpoch, Growth: r.Growth, PriorPositives: r.PriorPositives,
		AllowDegenerate: r.AllowDegenerate,
	})
}

// newFittedSGD returns the constructor of an SGD with the given reward; nil takes the reward of the
// options.
func newFittedSGD(reward loss.Reward, balanced bool) func(*resolved, Config) (Learner, error) {
	return func(_ *resolved, cfg Config) (Learner, error) {
		if reward != nil {
			cfg.Reward = reward
		}
		return NewSGD(SGDConfig{Config: cfg, Balanced: balanced})
	}
}

// runPasses proposes the learner's model after every pass.
func runPasses(t *task) error {
	l, err := t.alg.learner(&t.opt, t.config)
	if err != nil {
		return err
	}
	return t.perPass(l)
}

// runSTAMP proposes the model of each epoch.
func runSTAMP(t *task) error {
	learner, err := t.alg.learner(&t.opt, t.config)
	if err != nil {
		return err
	}
	l := learner.(*STAMP)
	if err := t.drive(l, t.passes, func(int) (bool, error) { return true, nil }); err != nil {
		return err
	}
	points := l.Checkpoints()
	var examples int64
	var all []candidate
	for i, c := range points {
		examples += int64(c.Stage) + int64(c.LevelStage)
		if !t.isCandidate(i, len(points), examples) {
			continue
		}
		level := c.Level
		e := HistoryEntry{
			Candidate: fmt.Sprintf("epoch %d", i+1),
			Examples:  min(examples, int64(t.result.Passes)*t.classes.Rows()), Level: &level,
		}
		if c.Counts != (measure.Confusion{}) {
			e.Progressive = t.value(c.Counts)
		}
		all = append(all, candidate{model: c.Model, entry: e})
	}
	_, err = t.proposeAll(all)
	return err
}

// isCandidate reports whether epoch i of n, which ended after the given number of examples, is a
// candidate. Without held-out data only the last epoch is. With a threshold of 0, where the level
// decides, all are. For a tuned threshold see [Options.AllEpochs].
func (t *task) isCandidate(i, n int, examples int64) bool {
	switch {
	case i == n-1:
		return true
	case t.valid == nil:
		return false
	case t.tuned && !t.opt.AllEpochs:
		return 16*examples > int64(t.passes)*t.classes.Rows()
	default:
		return true
	}
}

// logisticIterations and ampIterations bound the iterations of L-BFGS in one model: AMP's model
// steps are warm-started and need not be exact.
const (
	logisticIterations = 1000
	ampIterations      = 100
)

// runAMP is alternating maximization with the logistic reward: the model step is a weighted
// logistic regression, started where the last one ended, and the level the 0/1 measure on the
// training part. It starts from the level of the classifier that calls everything positive.
func runAMP(t *task) error {
	m := t.opt.Measure.(measure.Ratio)
	p, coef := t.classes.Share(), t.coefficients(m)
	var start []float64
	i, best := 0, math.Inf(-1)
	const mostModels, tolerance = 20, 1e-6
	_, err := measure.Alternate(coef, coef.Of(1, 0), tolerance, mostModels,
		func(level float64) (pr, nr float64, err error) {
			i++
			kPos, kNeg := coef.StreamWeights(level, t.theta())
			kPos, kNeg = normalizeWeights(max(kPos, 0), max(kNeg, 0), p)
			model, r, err := t.solve(t.logistic(kPos, kNeg), start, ampIterations)
			if err != nil {
				return 0, 0, err
			}
			start = r.w
			counts, err := Evaluate(t.ctx, t.train, &model)
			if err != nil {
				return 0, 0, err
			}
			pr, nr = counts.Rates()
			value := coef.Of(pr, nr)
			if t.opt.Progress != nil {
				t.report(i, 0, t.steps, -1, value)
			}
			if t.valid != nil || value > best { // without held-out data: the better of the last two
				best = value
				_, err = t.propose(model, HistoryEntry{
					Candidate: fmt.Sprintf("iteration %d", i), Examples: t.steps, Level: &level,
					Progressive: t.value(counts),
				})
			}
			return pr, nr, err
		})
	return err
}

func runLogistic(t *task) error { return t.batchLogistic(1, 1) }

func runBalancedLogistic(t *task) error {
	p := t.classes.Share()
	return t.batchLogistic(1/(2*p), 1/(2*(1-p)))
}

func (t *task) batchLogistic(kPos, kNeg float64) error {
	model, r, err := t.solve(t.logistic(kPos, kNeg), nil, logisticIterations)
	if err != nil {
		return err
	}
	e := HistoryEntry{Candidate: fmt.Sprintf("iteration %d", r.iterations), Examples: t.steps}
	_, err = t.proposeAll([]candidate{{model: model, entry: e, key: "optimum"}})
	return err
}

// runCostSearch trains with each of 19 class weights. For pseudo-linear measures they are the
// weights of the levels 0.05, 0.10, ..., 0.95 (Parambath, Usunier and Grandvalet 2014); for concave
// ones c/p : (1-c)/(1-p) for the same c.
func runCostSearch(t *task) error {
	p := t.classes.Share()
	passes := max(1, t.passes/5)
	for i := 1; i <= 19; i++ {
		c := float64(i) / 20
		kPos, kNeg := c/p, (1-c)/(1-p)
		if m, ok := t.opt.Measure.(measure.Ratio); ok {
			kPos, kNeg = t.coefficients(m).StreamWeights(c, t.theta())
			if kPos < 0 || kNeg < 0 {
				continue
			}
		}
		l, err := NewSGD(SGDConfig{Config: t.config, Weights: &ClassWeights{Positive: kPos, Negative: kNeg}})
		if err != nil {
			return err
		}
		if err := t.drive(l, passes, func(int) (bool, error) { return true, nil }); err != nil {
			return err
		}
		level := c
		if _, err := t.propose(l.Model(), HistoryEntry{
			Candidate: fmt.Sprintf("weight %.2f", c), Examples: t.steps, Level: &level,
			Progressive: t.value(l.Progressive()),
		}); err != nil {
			return err
		}
	}
	return nil
}
