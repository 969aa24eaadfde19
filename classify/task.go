package classify

import (
	"context"
	"fmt"
	"math"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/classify/measure"
)

// task is one run of Fit: the data, their statistics, and the best candidate so far.
type task struct {
	ctx     context.Context
	opt     resolved
	alg     *Algorithm
	train   Data
	classes Classes
	valid   *Data // nil without a held-out part
	tuned   bool  // whether the threshold is tuned
	config  Config
	passes  int
	steps   int64

	scores [][]Scored
	pool   *pool // collects the candidates of a fold, instead of choosing among them
	model  Linear
	choice
	// negatives is the factor for the weights of held-out negatives that gives the classes the
	// ratio of the population.
	negatives float64
	result    Result
}

func newTask(ctx context.Context, data Data, opt resolved) (*task, error) {
	t := &task{ctx: ctx, opt: opt, alg: opt.alg, config: opt.learner, tuned: opt.tunes, train: data, choice: noChoice}
	t.result.Algorithm = opt.alg.Name
	all, err := data.Classes()
	if err != nil {
		return nil, err
	}
	if err := t.split(all); err != nil {
		return nil, err
	}
	if t.classes, err = t.train.Classes(); err != nil {
		return nil, err
	}
	t.result.Train = t.classes
	t.negatives = t.negativeWeight()
	t.passes = t.passesFor(1)
	if opt.Passes != nil {
		t.passes = *opt.Passes
	}
	return t, t.prepare()
}

// theta is n₋/n₊ of the training part.
func (t *task) theta() float64 { return t.classes.NegativeWeight / t.classes.PositiveWeight }

// negativeWeight is the factor for the weights of negatives that gives the classes the ratio of the
// population.
func (t *task) negativeWeight() float64 {
	if p := t.opt.PriorPositives; p > 0 {
		return ((1 - p) / p) / t.theta()
	}
	return 1
}

// coefficients returns the coefficients of a measure for the population.
func (t *task) coefficients(m measure.Ratio) measure.Coefficients {
	if p := t.opt.PriorPositives; p > 0 {
		return m.Coefficients((1 - p) / p)
	}
	return m.Coefficients(t.theta())
}

// split separates the held-out part from the data, if one is required.
func (t *task) split(all Classes) error {
	if t.opt.Valid != nil {
		c, err := t.opt.Valid.Classes()
		t.valid, t.result.Holdout = t.opt.Valid, c
		return err
	}
	share := t.opt.holdout()
	wanted := share > 0 || t.opt.judges
	if t.opt.noHoldout() || !wanted {
		if t.alg.selects {
			t.warn("nothing is held out: the last of %s's models is returned with threshold 0, which at rare "+
				"positives is a lottery", t.alg.Name)
		}
		return nil
	}
	if share == 0 {
		share = min(max(defaultHoldout, float64(minHoldoutPositives)/float64(all.Positives)), 1.0/3)
		share = min(share, maxHoldoutRows/float64(all.Rows()))
	}
	rest, part, err := t.train.Set.Split(t.opt.Seed, "holdout", share, true)
	if err != nil {
		return err
	}
	valid := Data{Set: part, Positive: t.train.Positive}
	c, err := valid.Classes()
	if err != nil {
		return noregret.BadInputf("", "the held-out share of %.3g leaves no example of one class among %d positives "+
			"and %d "+
			"negatives: give more data, another share, or hold nothing out", share, all.Positives, all.Negatives)
	}
	if c.Positives < minHoldoutPositives {
		t.warn("only %d positives are held out, fewer than %d: the choice of model and threshold is uncertain",
			c.Positives, minHoldoutPositives)
	}
	t.train.Set, t.valid = rest, &valid
	t.result.Holdout = c
	return nil
}

func (t *task) warn(format string, args ...any) {
	t.result.Warnings = append(t.result.Warnings, fmt.Sprintf(format, args...))
}

// prepare computes the statistics of the training part that the algorithms need, in one pass: class
// share, scales, mean square.
func (t *task) prepare() error {
	m, err := t.train.moments(t.ctx)
	if err != nil {
		return err
	}
	if err := t.config.complete(m, t.train.Set.Info().Dim, t.opt.Unscaled); err != nil {
		return err
	}
	t.result.Scaling = t.config.Scaling
	if t.config.Positives == 0 {
		t.config.Positives = t.classes.Share()
	}
	return nil
}

// complete fills in what the options leave to the data, of which m are the moments and dim is the
// dimension: Dim, Scaling, MeanSquare and MeanWeight.
func (c *Config) complete(m *moments, dim int, unscaled bool) error {
	if c.Dim == 0 {
		c.Dim = max(dim, 1)
	}
	if c.Dim < dim {
		return usage("dimension is %d, the data have %d features", c.Dim, dim)
	}
	bias := c.BiasFeature
	if c.NoIntercept {
		bias = 0
	}
	if c.Scaling == nil {
		c.Scaling = Identity(c.Dim)
		if !unscaled {
			c.Scaling = m.scaling(c.Dim, bias != 0)
		}
	}
	if c.MeanSquare == 0 {
		if c.MeanSquare = m.meanSquare(c.Scaling, bias); c.MeanSquare == 0 {
			c.MeanSquare = 1
		}
	}
	if c.MeanWeight == 0 {
		c.MeanWeight = m.total / float64(m.rows)
	}
	return nil
}

// candidate is a model to choose from.
type candidate struct {
	model Linear
	entry HistoryEntry
	// key, unless it is "", identifies the same candidate in several folds, instead of the
	// entry's name.
	key string
}

// propose adds a candidate model. It reports whether the algorithm should continue.
func (t *task) propose(m Linear, e HistoryEntry) (goOn bool, err error) {
	return t.proposeAll([]candidate{{model: m, entry: e}})
}

// scoredAtOnce is the largest number of candidates that are scored in one pass over the held-out
// part. It is fewer if the part is large, so that at most maxHoldoutRows scores are in memory.
const scoredAtOnce = 4

// proposeAll adds several candidates, with fewer passes over the held-out part than single calls of
// propose.
func (t *task) proposeAll(all []candidate) (goOn bool, err error) {
	for len(all) > 0 {
		most := scoredAtOnce
		if t.valid != nil {
			most = int(max(1, min(scoredAtOnce, maxHoldoutRows/t.result.Holdout.Rows())))
		}
		group := all[:min(len(all), most)]
		all = all[len(group):]
		if t.valid != nil {
			models := make([]*Linear, len(group))
			for i := range group {
				models[i] = &group[i].model
			}
			if t.scores, err = t.valid.scores(t.ctx, models, t.scores); err != nil {
				return false, err
			}
		}
		for i := range group {
			t.consider(group[i], i)
		}
	}
	return t.valid == nil || t.stale < t.opt.Patience, nil
}

// choice is the best candidate of a history so far.
type choice struct {
	history []HistoryEntry
	best    int     // index in the history, -1 if none
	stale   int     // candidates since the best one of this run
	runBest float64 // the best held-out value of this run (of one step scale)
}

// noChoice is the choice before the first candidate.
var noChoice = choice{best: -1, runBest: math.Inf(-1)}

// startRun begins a run with another step scale.
func (c *choice) startRun() { c.stale, c.runBest = 0, math.Inf(-1) }

// add adds a candidate to the history and reports whether it is the best: the one with the largest
// held-out value, or the last one if nothing is held out.
func (c *choice) add(e HistoryEntry) bool {
	better := true
	if e.Holdout != nil {
		value := *e.Holdout
		if value > c.runBest {
			c.runBest, c.stale = value, -1
		}
		if c.best >= 0 {
			best := *c.history[c.best].Holdout
			better = value > best || math.IsNaN(best) && !math.IsNaN(value)
		}
	}
	c.history = append(c.history, e)
	c.stale++
	if better {
		c.best = len(c.history) - 1
	}
	return better
}

// consider adds a candidate, whose scores are the i-th, to the history and keeps it if it is the
// best.
func (t *task) consider(c candidate, i int) {
	c.entry.StepScale = t.config.StepScale
	if t.pool != nil {
		t.pool.add(c, t.scores[i])
		return
	}
	if t.valid != nil {
		value := t.holdoutValue(&c.entry, t.scores[i])
		c.entry.Holdout = &value
	}
	if t.add(c.entry) {
		t.model = c.model
	}
}

// holdoutValue is the held-out measure of the scores at 0 or at the tuned threshold, which it puts
// in e.
func (t *task) holdoutValue(e *HistoryEntry, scores []Scored) float64 {
	if t.negatives != 1 {
		for i := range scores {
			if !scores[i].Positive {
				scores[i].Weight *= t.negatives
			}
		}
	}
	if t.tuned {
		threshold, value := TuneThreshold(scores, t.opt.Measure)
		e.Threshold = threshold
		return value
	}
	var c measure.Confusion
	for _, s := range scores {
		c.Add(s.Positive, s.Score > 0, s.Weight)
	}
	return t.opt.Measure.Value(c)
}

// drive runs an online learner over the passes and calls after at the end of each, until that
// returns false.
func (t *task) drive(l Learner, passes int, after func(pass int) (goOn bool, err error)) error {
	total := int64(passes) * t.classes.Rows()
	var done int64
	observe := l.Observe
	if t, ok := l.(interface{ trusted() func(Example) error }); ok {
		observe = t.trusted()
	}
	half := int64(-1)
	if t.config.Averaging == AverageLastHalf {
		half = total / 2
	}
	for pass := range passes {
		before := done
		err := t.train.shuffled(t.ctx, t.opt.Seed, pass, func(x Example) error {
			if done == half {
				l.ResetAverage()
			}
			done++
			if t.opt.Progress != nil && done%4096 == 0 {
				t.report(pass+1, passes, done, total, t.opt.Measure.Value(l.Progressive()))
			}
			return observe(x)
		})
		t.steps += done - before
		t.result.Passes++
		if err == nil {
			err = l.Finish()
		}
		if err != nil {
			return err
		}
		goOn, err := after(pass + 1)
		if err != nil {
			return err
		}
		if !goOn {
			break
		}
		l.NextPass()
	}
	return nil
}

func (t *task) report(pass, passes int, done, total int64, value float64) {
	t.opt.Progress(Progress{
		Algorithm: t.alg.Name, Pass: pass, Passes: passes, Examples: done, Total: total, Measure: t.opt.Measure.Name(),
		Value: value,
	})
}

// perPass runs an online learner. It proposes its model after every pass if there is held-out data
// to evaluate it on, otherwise after the last pass.
func (t *task) perPass(l Learner) error {
	return t.drive(l, t.passes, func(pass int) (bool, error) {
		if t.valid == nil && pass < t.passes {
			return true, nil
		}
		return t.propose(l.Model(), HistoryEntry{
			Candidate: fmt.Sprintf("pass %d", pass), Examples: int64(pass) * t.classes.Rows(),
			Progressive: t.value(l.Progressive()),
		})
	})
}

// value is the measure of counts, nil where it is undefined.
func (t *task) value(c measure.Confusion) *float64 {
	v := t.opt.Measure.Value(c)
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// logistic returns the batch problem on the training part with the given class weights.
func (t *task) logistic(kPos, kNeg float64) *logisticProblem {
	lin := newDescent(&Config{Dim: t.config.Dim, BiasFeature: t.config.BiasFeature, Radius: math.Inf(1)})
	lin.Standardize(t.config.Scaling.Center, t.config.Scaling.Inverse)
	lambda := t.config.Lambda
	if lambda == 0 {
		lambda = 1e-6
	}
	p := &logisticProblem{ctx: t.ctx, data: t.train, lin: lin, kPos: kPos, kNeg: kNeg, lambda: lambda}
	if t.opt.Progress != nil {
		p.afterPass = func(passes int) {
			t.report(passes, 0, t.steps+int64(passes)*t.classes.Rows(), -1, math.NaN())
		}
	}
	return p
}

// solve runs a batch problem and returns its model.
func (t *task) solve(p *logisticProblem, start []float64, maxIterations int) (Linear, lbfgsResult, error) {
	if start == nil {
		start = make([]float64, t.config.Dim+1)
	}
	r, err := p.solve(start, maxIterations, 1e-6)
	if err != nil {
		return Linear{}, r, err
	}
	t.result.Passes += r.passes
	t.steps += int64(r.passes) * t.classes.Rows()
	if !r.converged && maxIterations == logisticIterations {
		t.warn("L-BFGS ended after %d iterations with a gradient of %.2g, above its tolerance", r.iterations,
			r.gradient)
	}
	d := t.config.Dim
	return rawModel(p.lin, r.w[:d], r.w[d]), r, nil
}
