package classify

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/classify/measure"
)

// The runs of the algorithms for two classes.

// runPasses proposes the learner's model after every pass.
func runPasses(t *training) error {
	l, err := t.alg.learner(&t.opt, t.config)
	if err != nil {
		return err
	}
	return t.perPass(l)
}

// runSTAMP proposes the model of each epoch.
func runSTAMP(t *training) error {
	learner, err := t.alg.learner(&t.opt, t.config)
	if err != nil {
		return err
	}
	l := learner.(*STAMP)
	if err := t.learn(l, t.passes, func(int) (bool, error) { return true, nil }); err != nil {
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
func (t *training) isCandidate(i, n int, examples int64) bool {
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
func runAMP(t *training) error {
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
			all, err := Evaluate(t.ctx, t.train, model.Classifier())
			if err != nil {
				return 0, 0, err
			}
			counts := all.Two
			pr, nr = counts.Rates()
			value := coef.Of(pr, nr)
			t.report(i, 0, t.steps, -1, value)
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

func runLogistic(t *training) error { return t.batchLogistic(1, 1) }

func runBalancedLogistic(t *training) error {
	p := t.classes.Share()
	return t.batchLogistic(1/(2*p), 1/(2*(1-p)))
}

func (t *training) batchLogistic(kPos, kNeg float64) error {
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
func runCostSearch(t *training) error {
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
		if err := t.learn(l, passes, func(int) (bool, error) { return true, nil }); err != nil {
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
