package classify

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/memory"
	"github.com/noregret/noregret/oco"
)

// training is one run of Fit: the data, their statistics, and the best candidate so far.
type training struct {
	ctx    context.Context
	opt    resolved
	alg    *Algorithm
	data   Data // all rows
	train  Data
	valid  *Data // nil without a held-out part
	config Config
	passes int
	steps  int64

	choice
	models []Linear // of the best candidate
	kept   []Scored // of Binary data: its held-out scores, for the calibration
	result Result

	// Of Binary data: the classes of the training part, whether the threshold is tuned, the factor
	// for the weights of held-out negatives that gives the classes the ratio of the population, and
	// the scores of the candidates.
	classes   Classes
	tuned     bool
	negatives float64
	scores    [][]Scored
	pool      *pool // collects the candidates of a fold, instead of choosing among them
	onlyLast  bool  // whether the model of the last pass is the only candidate

	// Of other data: the held-out rows, once they are needed.
	validRows []LabelsExample
}

// startTraining returns the training on data that are not split.
func startTraining(ctx context.Context, data Data, opt resolved) *training {
	t := &training{
		ctx: ctx, opt: opt, alg: opt.alg, config: opt.learner, tuned: opt.tunes, data: data, train: data,
		choice: noChoice,
	}
	t.result.Algorithm, t.result.Task = opt.alg.Name, data.Task
	return t
}

func newTraining(ctx context.Context, data Data, opt resolved) (*training, error) {
	t := startTraining(ctx, data, opt)
	if err := t.split(); err != nil {
		return nil, err
	}
	if err := t.count(); err != nil {
		return nil, err
	}
	if err := t.weigh(); err != nil {
		return nil, err
	}
	n, err := t.prepare()
	if err != nil {
		return nil, err
	}
	if data.Task == Binary {
		n = t.classes.Rows()
	}
	t.passes = t.passesFor(n, 1)
	if opt.Passes != nil {
		t.passes = *opt.Passes
	}
	return t, nil
}

// theta is n₋/n₊ of the training part.
func (t *training) theta() float64 { return t.classes.NegativeWeight / t.classes.PositiveWeight }

// negativeWeight is the factor for the weights of negatives that gives the classes the ratio of the
// population.
func (t *training) negativeWeight() float64 {
	if p := t.opt.PriorPositives; p > 0 {
		return ((1 - p) / p) / t.theta()
	}
	return 1
}

// coefficients returns the coefficients of a measure for the population.
func (t *training) coefficients(m measure.Ratio) measure.Coefficients {
	if p := t.opt.PriorPositives; p > 0 {
		return m.Coefficients((1 - p) / p)
	}
	return m.Coefficients(t.theta())
}

// split separates the held-out part from the data, if one is required.
func (t *training) split() error {
	var all Classes
	if t.data.Task == Binary {
		var err error
		if all, err = t.data.Classes(); err != nil {
			return err
		}
	}
	share := t.opt.holdout()
	switch {
	case t.opt.Valid != nil:
		t.valid = t.opt.Valid
		return nil
	case t.opt.noHoldout() || share == 0 && !t.opt.judges:
		if t.alg.selects {
			t.warnOfLast()
		}
		return nil
	case share == 0 && t.data.Task == Binary:
		share = min(max(defaultHoldout, float64(minHoldoutPositives)/float64(all.Positives)), 1.0/3)
		share = min(share, maxHoldoutRows/float64(all.Rows()))
	case share == 0:
		share = min(defaultHoldout, maxHoldoutCopies/float64(t.data.Set.Info().Rows))
	}
	// There are too many sets of labels to draw the same share from each.
	rest, part, err := t.data.Set.Split(t.opt.Seed, "holdout", share, t.data.Task != Multilabel)
	if err != nil {
		return err
	}
	valid := t.data.withSet(part)
	if t.data.Task == Binary {
		err = t.checkHeldOut(valid, share, all)
	} else if part.Info().Rows == 0 || rest.Info().Rows == 0 {
		err = noregret.BadInputf("", "a held-out share of %.3g of %d rows leaves nothing on one side: give more "+
			"data, another share, or hold nothing out", share, t.data.Set.Info().Rows)
	}
	t.train, t.valid = t.data.withSet(rest), &valid
	return err
}

// warnOfLast warns that the last of several models is returned as it is.
func (t *training) warnOfLast() {
	if t.data.Task == Binary {
		t.warn("nothing is held out: the last of %s's models is returned with threshold 0, which at rare "+
			"positives is a lottery", t.alg.Name)
		return
	}
	t.warn("nothing is held out: the last of %s's models are returned with thresholds of 0", t.alg.Name)
}

// checkHeldOut returns an error for a held-out part of Binary data without one of the classes, and
// warns of few positives.
func (t *training) checkHeldOut(valid Data, share float64, all Classes) error {
	c, err := valid.Classes()
	if err != nil {
		return noregret.BadInputf("", "the held-out share of %.3g leaves no example of one class among %d positives "+
			"and %d negatives: give more data, another share, or hold nothing out", share, all.Positives, all.Negatives)
	}
	if c.Positives < minHoldoutPositives {
		t.warn("only %d positives are held out, fewer than %d: the choice of model and threshold is uncertain",
			c.Positives, minHoldoutPositives)
	}
	return nil
}

// count counts the labels of the two parts.
func (t *training) count() error {
	r := &t.result
	if t.data.Task != Binary {
		r.Train, r.Holdout = t.train.part(), Part{Labels: make([]LabelCount, len(t.data.Labels))}
		if t.valid != nil {
			r.Holdout = t.valid.part()
		}
		t.warnOfRare()
		return nil
	}
	var held Classes
	var err error
	if t.valid != nil {
		if held, err = t.valid.Classes(); err != nil {
			return err
		}
	}
	if t.classes, err = t.train.Classes(); err != nil {
		return err
	}
	r.Train, r.Holdout, t.negatives = t.classes.part(), held.part(), t.negativeWeight()
	return nil
}

// warnOfRare warns of labels without examples to train on or to evaluate with.
func (t *training) warnOfRare() {
	var untrained, unjudged []string
	for k, l := range t.data.Labels {
		if t.result.Train.Labels[k].Rows == 0 {
			untrained = append(untrained, l)
		}
		if t.valid != nil && t.result.Holdout.Labels[k].Rows == 0 {
			unjudged = append(unjudged, l)
		}
	}
	if len(untrained) > 0 {
		t.warn("no example to train on has the label %s", shortList(untrained))
	}
	if len(unjudged) > 0 {
		t.warn("no held-out example has the label %s: nothing is chosen for it", shortList(unjudged))
	}
}

// shortList names at most five labels.
func shortList(names []string) string {
	const most = 5
	if len(names) <= most {
		return fmt.Sprintf("%q", names)
	}
	return fmt.Sprintf("%q and %d more", names[:most], len(names)-most)
}

func (t *training) warn(format string, args ...any) {
	if w := fmt.Sprintf(format, args...); !slices.Contains(t.result.Warnings, w) {
		t.result.Warnings = append(t.result.Warnings, w)
	}
}

// prepare computes the statistics of the training part that the algorithms need, in one pass: class
// share, scales, mean square. It returns the number of rows of positive weight.
func (t *training) prepare() (rows int64, err error) {
	info := t.train.Set.Info()
	if t.data.Task != Binary {
		if info.Weight == 0 {
			return 0, noregret.BadInputf("", "the weights of all %d rows add up to 0", info.Rows)
		}
		if err := t.checkMemory(max(t.config.Dim, info.Dim)); err != nil {
			return 0, err
		}
	}
	m, err := t.train.moments(t.ctx)
	if err != nil {
		return 0, err
	}
	if t.config.MeanWeight == 0 {
		t.config.MeanWeight = m.total / float64(m.rows) * t.meanFactor()
	}
	if err := t.config.complete(m, info.Dim, t.opt.Unscaled); err != nil {
		return 0, err
	}
	t.result.Scaling = t.config.Scaling
	if t.data.Task == Binary && t.config.Positives == 0 {
		t.config.Positives = t.classes.Share()
	}
	return m.rows, nil
}

// checkMemory returns an error if there are more labels than memory, as for a column of
// identifiers. It counts what every algorithm needs at least: five numbers for each label and
// feature and, for classes, three confusion matrices.
func (t *training) checkMemory(dim int) error {
	n := float64(len(t.data.Labels))
	numbers := float64(5 * n * float64(dim))
	if t.data.Task == Multiclass {
		numbers += float64(3 * float64(n*n))
	}
	return memory.Check("", fmt.Sprintf("training for %d labels of %d features", len(t.data.Labels), dim), numbers)
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
func (t *training) propose(m Linear, e HistoryEntry) (goOn bool, err error) {
	return t.proposeAll([]candidate{{model: m, entry: e}})
}

// scoredAtOnce is the largest number of candidates that are scored in one pass over the held-out
// part. It is fewer if the part is large, so that at most maxHoldoutRows scores are in memory.
const scoredAtOnce = 4

// proposeAll adds several candidates, with fewer passes over the held-out part than single calls of
// propose.
func (t *training) proposeAll(all []candidate) (goOn bool, err error) {
	for len(all) > 0 {
		most := scoredAtOnce
		if t.valid != nil {
			most = int(max(1, min(scoredAtOnce, maxHoldoutRows/t.result.Holdout.Rows)))
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
	return t.mayImprove(), nil
}

// mayImprove reports whether the run should continue after its candidates so far.
func (t *training) mayImprove() bool { return t.valid == nil || t.stale < t.opt.Patience }

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
func (t *training) consider(c candidate, i int) {
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
		t.models = []Linear{c.model}
		if t.valid != nil && t.opt.Calibration != CalibrationNone {
			t.kept = append(t.kept[:0], t.scores[i]...)
		}
	}
}

// holdoutValue is the held-out measure of the scores at 0 or at the tuned threshold, which it puts
// in e.
func (t *training) holdoutValue(e *HistoryEntry, scores []Scored) float64 {
	if t.negatives != 1 {
		for i := range scores {
			if !scores[i].Positive {
				scores[i].Weight *= t.negatives
			}
		}
	}
	if t.tuned {
		threshold, value := TuneThreshold(scores, t.opt.two)
		e.Threshold = threshold
		return value
	}
	var c measure.Confusion
	for _, s := range scores {
		c.Add(s.Positive, s.Score > 0, s.Weight)
	}
	return t.opt.two.Value(c)
}

// drive runs an online learner over the passes, to which observe passes the rows, and calls after
// at the end of each, until that returns false. value is the measure for reports of the progress.
func (t *training) drive(l interface {
	NextPass()
	Finish() error
}, passes int, observe visitor, value func() float64, after func(pass int) (goOn bool, err error),
) error {
	total := int64(passes) * t.train.Set.Info().Rows
	var done int64
	for pass := range passes {
		before := done
		err := t.train.shuffled(t.ctx, t.opt.Seed, pass,
			func(index []uint32, x []float32, class uint16, weight float64) error {
				done++
				if t.opt.Progress != nil && done%4096 == 0 {
					t.report(pass+1, passes, done, total, value())
				}
				return observe(index, x, class, weight)
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
		// Learners of several models keep what the last pass has counted.
		if t.data.Task == Binary || pass+1 < passes {
			l.NextPass()
		}
	}
	return nil
}

// learn is drive for a learner of Binary data.
func (t *training) learn(l Learner, passes int, after func(pass int) (goOn bool, err error)) error {
	observe := l.Observe
	if l, ok := l.(interface{ trusted() func(Example) error }); ok {
		observe = l.trusted()
	}
	row := t.train.examples(observe)
	if t.config.Averaging == AverageLastHalf {
		half, done := int64(passes)*t.classes.Rows()/2, int64(0)
		row = t.train.examples(func(x Example) error {
			if done == half {
				l.ResetAverage()
			}
			done++
			return observe(x)
		})
	}
	return t.drive(l, passes, row, func() float64 { return t.opt.two.Value(l.Progressive()) }, after)
}

// report reports the progress, if somebody listens.
func (t *training) report(pass, passes int, done, total int64, value float64) {
	if t.opt.Progress == nil {
		return
	}
	t.opt.Progress(Progress{
		Algorithm: t.alg.Name, Pass: pass, Passes: passes, Examples: done, Total: total, Measure: t.opt.Measure.Name(),
		Value: value,
	})
}

// perPass runs an online learner. It proposes its model after every pass if there is held-out data
// to choose by, otherwise after the last pass.
func (t *training) perPass(l Learner) error {
	return t.learn(l, t.passes, func(pass int) (bool, error) {
		if (t.valid == nil || t.onlyLast) && pass < t.passes {
			return true, nil
		}
		return t.propose(l.Model(), HistoryEntry{
			Candidate: fmt.Sprintf("pass %d", pass), Examples: int64(pass) * t.classes.Rows(),
			Progressive: t.progressive(l),
		})
	})
}

// progressive is the measure of a learner's predictions, nil if its rows have the weights of their
// labels.
func (t *training) progressive(l Learner) *float64 {
	if t.train.factors != nil {
		return nil
	}
	return t.value(l.Progressive())
}

// value is the measure of counts, nil where it is undefined.
func (t *training) value(c measure.Confusion) *float64 {
	v := t.opt.two.Value(c)
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// logistic returns the batch problem on the training part with the given class weights.
func (t *training) logistic(kPos, kNeg float64) *logisticProblem {
	return &logisticProblem{
		ctx: t.ctx, data: t.train, lin: t.standardised(), kPos: kPos, kNeg: kNeg, lambda: t.batchLambda(),
	}
}

// standardised holds the standardisation for a batch problem.
func (t *training) standardised() *oco.LinearDescent {
	lin := newDescent(&Config{Dim: t.config.Dim, BiasFeature: t.config.BiasFeature, Radius: math.Inf(1)})
	lin.Standardize(t.config.Scaling.Center, t.config.Scaling.Inverse)
	return lin
}

// batchLambda is the strength of regularisation of batch problems.
func (t *training) batchLambda() float64 { return cmp.Or(t.config.Lambda, 1e-6) }

// solve runs a batch logistic regression and returns its model.
func (t *training) solve(p *logisticProblem, start []float64, maxIterations int) (Linear, lbfgsResult, error) {
	d := t.config.Dim
	if start == nil {
		start = make([]float64, d+1)
	}
	r, err := t.minimize(p.batch(), start, maxIterations)
	if err != nil {
		return Linear{}, r, err
	}
	return rawModel(p.lin, r.w[:d], r.w[d]), r, nil
}

// minimize minimises a batch problem on the training part.
func (t *training) minimize(p *batch, start []float64, maxIterations int) (lbfgsResult, error) {
	rows := t.result.Train.Rows
	if t.opt.Progress != nil {
		p.afterPass = func(passes int) {
			t.report(passes, 0, t.steps+int64(passes)*rows, -1, math.NaN())
		}
	}
	precision := 1e-6
	if n := t.opt.most; n > 0 {
		maxIterations, precision = min(maxIterations, n), 1e-4
	}
	r, err := p.solve(start, maxIterations, precision)
	if err != nil {
		return r, err
	}
	t.result.Passes += r.passes
	t.steps += int64(r.passes) * rows
	if !r.converged && maxIterations == logisticIterations {
		t.warn("L-BFGS ended after %d iterations with a gradient of %.2g, above its tolerance", r.iterations,
			r.gradient)
	}
	return r, nil
}
