package classify

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/internal/memory"
)

// MultiOptions are the options of [FitMulti]. Measure is required.
type MultiOptions struct {
	// Measure is the measure to maximize.
	Measure measure.Multi
	// Algorithm is the name of an algorithm as [MultiAlgorithms] lists them; "" or "auto" is the
	// first that can train for the measure.
	Algorithm string
	// Fit holds the other options, which have the same meaning as for [Fit]: Passes, Seed, Holdout,
	// TuneSteps, Config, LevelPositives, DualScale, Unscaled, FirstEpoch, Growth,
	// AllowDegenerate, Patience and Progress. Options that do not apply (Folds, Threshold,
	// PriorPositives, AllEpochs, Valid) must be left out.
	Fit Options
	// Valid, if not nil, is separate held-out data for the same labels ([MultiData.Of]).
	Valid *MultiData
}

// MultiResult is the result of [FitMulti].
type MultiResult struct {
	// Model is the chosen classifier, on raw features.
	Model MultiLinear
	// Algorithm is the name of the algorithm.
	Algorithm string
	// Chosen is the index of the model in History.
	Chosen int
	// History lists the candidates in the order of training. Their thresholds are 0, as each
	// model has its own.
	History []HistoryEntry
	// Train and Holdout count the rows of each label in the two parts, TrainRows and HoldoutRows
	// all rows.
	Train, Holdout         []LabelCount
	TrainRows, HoldoutRows int64
	// Scaling is the standardisation of the features.
	Scaling *Scaling
	// Passes is the number of passes over the training part, for all models and step scales
	// together, and Steps the number of examples visited in them.
	Passes int
	Steps  int64
	// Schedule is that of the step sizes, StepsDefault where there are none, and StepScales the
	// step scales tried.
	Schedule   Steps
	StepScales []float64
	// Warnings are messages for the user, in full sentences.
	Warnings []string
}

// multiTask is one run of FitMulti.
type multiTask struct {
	ctx            context.Context
	opt            MultiOptions
	alg            MultiAlgorithm
	data, train    MultiData
	valid          *MultiData // nil without a held-out part
	validRows      []LabelsExample
	counts         []LabelCount // of the training part
	config         Config
	levelPositives int
	passes         int
	steps          int64

	choice
	models []Linear
	result MultiResult
}

// Validate makes the checks that [FitMulti] makes before it reads data. The error is of code usage.
func (o MultiOptions) Validate(task Task) error {
	_, err := o.resolve(task)
	return err
}

// resolve checks the options and fills in the defaults.
func (o MultiOptions) resolve(task Task) (*multiTask, error) {
	alg, err := findMultiAlgorithm(o.Algorithm, task, o.Measure, o.Fit.AllowDegenerate)
	if err != nil {
		return nil, err
	}
	o.Fit = o.Fit.EnsureDefaults()
	if err := o.Fit.checkRanges(); err != nil {
		return nil, err
	}
	f := &o.Fit
	switch {
	case openNumber(f.Folds) > 1, f.Threshold != ThresholdDefault, f.PriorPositives > 0, f.AllEpochs, f.Valid != nil:
		return nil,
			usage("folds, a rule for the threshold, a prior share of positives and the choice among all epochs "+
				"are for two classes; %s data have none of them", task)
	case f.Drift.Kind != forget.None || f.Config.Window > 0:
		return nil, usage("drift and windows are for two classes and a stream")
	case o.Valid != nil && f.Holdout != nil:
		return nil, usage("separate held-out data exclude the other holdout options")
	case f.noHoldout() && f.TuneSteps:
		return nil, usage("choosing the step scale needs held-out data")
	case f.TuneSteps && f.Config.Step > 0:
		return nil, usage("an absolute step of %v and the choice of a step scale exclude each other", f.Config.Step)
	case f.Config.Steps == StepsBetting && f.TuneSteps:
		return nil, usage("coin betting chooses the steps itself: there is no step scale to choose on held-out data")
	case (f.Config.Steps != StepsDefault || f.Config.Step > 0) && !alg.online:
		return nil, usage("algorithm %s takes no steps of its own, and so no rate", alg.Name)
	case f.Config.Steps == StepsAdaptive && alg.schedule(Config{}, o.Measure) != StepsAdaptive:
		return nil, usage("adaptive steps are for learners of one model: %s for %s needs StepsSqrt", alg.Name,
			o.Measure.Name())
	}
	t := &multiTask{opt: o, alg: alg, config: f.Config, levelPositives: defaultLevelPositives, choice: noChoice}
	t.config.Steps = alg.schedule(f.Config, o.Measure)
	if f.LevelPositives != nil {
		t.levelPositives = *f.LevelPositives
	}
	cfg := t.config
	if _, err := cfg.withDefaults(); err != nil {
		return nil, err
	}
	return t, nil
}

// FitMulti trains a linear classifier of several classes or labels. It holds a part of the rows out
// if the algorithm chooses models or thresholds on it, or if the options ask for one. Held-out rows
// are in memory then, at most 100,000 unless the options ask for more; otherwise memory is O(C·d).
// The same data, options and seed give the same result, bit for bit.
//
// Errors: usage for options out of range or a measure that the algorithm cannot train for,
// bad_input for data that leave nothing to learn, diverged if the step scale is far too large, and
// ctx's error if ctx ends.
func FitMulti(ctx context.Context, data MultiData, opt MultiOptions) (*MultiResult, error) {
	t, err := opt.resolve(data.Task)
	if err != nil {
		return nil, err
	}
	t.ctx, t.data = ctx, data
	t.result.Algorithm = t.alg.Name
	if err := t.split(); err != nil {
		return nil, err
	}
	if err := t.prepare(); err != nil {
		return nil, err
	}
	base := t.config.StepScale
	for _, scale := range t.stepScales() {
		t.config.StepScale = scale * base
		t.result.StepScales = append(t.result.StepScales, t.config.StepScale)
		t.startRun()
		if err := t.alg.run(t); err != nil {
			return nil, err
		}
	}
	if t.best < 0 {
		return nil, fmt.Errorf("classify: algorithm %s proposed no model", t.alg.Name)
	}
	r := &t.result
	r.History = t.history
	r.Model, r.Chosen, r.Steps = MultiLinear{Task: data.Task, Models: t.models}, t.best, t.steps
	if t.alg.online {
		r.Schedule = t.config.Steps
	}
	return r, nil
}

func (t *multiTask) stepScales() []float64 {
	if t.opt.Fit.TuneSteps && t.alg.online {
		return tunedScales
	}
	return []float64{1}
}

// mostHeldOut bounds the rows held out by default.
const mostHeldOut = 100_000

// split separates the held-out part from the data, if one is required.
func (t *multiTask) split() error {
	o := &t.opt.Fit
	t.train = t.data
	switch {
	case t.opt.Valid != nil:
		t.valid = t.opt.Valid
	case o.noHoldout() && t.alg.selects:
		t.warn("nothing is held out: the last of %s's models are returned with thresholds of 0", t.alg.Name)
	case !o.noHoldout() && (o.Holdout != nil || o.TuneSteps || t.alg.selects):
		share := o.holdout()
		if share == 0 {
			share = min(defaultHoldout, mostHeldOut/float64(t.data.Set.Info().Rows))
		}
		// There are too many sets of labels to draw the same share from each.
		rest, part, err := t.data.Set.Split(o.Seed, "holdout", share, t.data.Task == Multiclass)
		if err != nil {
			return err
		}
		if part.Info().Rows == 0 || rest.Info().Rows == 0 {
			return noregret.BadInputf("", "a held-out share of %.3g of %d rows leaves nothing on one side: give more "+
				"data, another "+
				"share, or hold nothing out", share, t.data.Set.Info().Rows)
		}
		valid := t.data.withSet(part)
		t.train, t.valid = t.data.withSet(rest), &valid
	}
	t.counts = t.train.Counts()
	t.result.Train, t.result.TrainRows = t.counts, t.train.Set.Info().Rows
	t.result.Holdout = make([]LabelCount, len(t.counts))
	if t.valid != nil {
		t.result.Holdout, t.result.HoldoutRows = t.valid.Counts(), t.valid.Set.Info().Rows
	}
	t.warnOfRare()
	return nil
}

// warnOfRare warns of labels without examples to train on or to evaluate with.
func (t *multiTask) warnOfRare() {
	var untrained, unjudged []string
	for k, l := range t.data.Labels {
		if t.counts[k].Rows == 0 {
			untrained = append(untrained, l)
		}
		if t.valid != nil && t.result.Holdout[k].Rows == 0 {
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

func (t *multiTask) warn(format string, args ...any) {
	if w := fmt.Sprintf(format, args...); !slices.Contains(t.result.Warnings, w) {
		t.result.Warnings = append(t.result.Warnings, w)
	}
}

// prepare computes the moments of the training part in one pass.
func (t *multiTask) prepare() error {
	info := t.train.Set.Info()
	if info.Weight == 0 {
		return noregret.BadInputf("", "the weights of all %d rows add up to 0", info.Rows)
	}
	if err := t.checkMemory(max(t.config.Dim, info.Dim)); err != nil {
		return err
	}
	m := new(moments)
	if err := t.train.read(t.ctx, func(x LabelsExample) error {
		m.observe(x.Index, x.Value, x.Weight)
		return nil
	}); err != nil {
		return err
	}
	if err := t.config.complete(m, info.Dim, t.opt.Fit.Unscaled); err != nil {
		return err
	}
	t.result.Scaling = t.config.Scaling
	t.passes = defaultPasses(m.rows, 1)
	if p := t.opt.Fit.Passes; p != nil {
		t.passes = *p
	}
	return nil
}

// checkMemory returns an error if there are more labels than memory, as for a column of
// identifiers. It counts what every algorithm needs at least: five numbers for each label and
// feature and, for classes, three confusion matrices.
func (t *multiTask) checkMemory(dim int) error {
	n := float64(len(t.data.Labels))
	numbers := float64(5 * n * float64(dim))
	if t.data.Task == Multiclass {
		numbers += float64(3 * float64(n*n))
	}
	return memory.Check("", fmt.Sprintf("training for %d labels of %d features", len(t.data.Labels), dim), numbers)
}

// shares returns the share of the rows that has each label, at least half a row and at most all but
// half a row, so that labels without examples have a share too.
func (t *multiTask) shares() []float64 {
	total := t.train.Set.Info().Weight
	half := float64(0.5 * t.config.MeanWeight)
	out := make([]float64, len(t.counts))
	for k, c := range t.counts {
		out[k] = min(max(c.Weight, half), max(total-half, half)) / max(total, 2*half)
	}
	return out
}

// heldOut returns the held-out rows.
func (t *multiTask) heldOut() (rows []LabelsExample, err error) {
	if t.validRows == nil {
		t.validRows, err = t.valid.rows(t.ctx)
	}
	return t.validRows, err
}

// drive runs an online learner over the passes and calls after at the end of each, until that
// returns false.
func (t *multiTask) drive(l multiLearner, after func(pass int) (goOn bool, err error)) error {
	n := t.train.Set.Info().Rows
	total, done := n*int64(t.passes), int64(0)
	for pass := range t.passes {
		err := t.train.shuffled(t.ctx, t.opt.Fit.Seed, pass, func(x LabelsExample) error {
			if done++; done%4096 == 0 {
				t.report(done, total, math.NaN())
			}
			return l.Observe(x)
		})
		t.result.Passes++
		if err == nil {
			err = l.Finish()
		}
		if err != nil {
			return err
		}
		t.steps += n
		goOn, err := after(pass + 1)
		if err != nil || !goOn {
			return err
		}
		if pass+1 < t.passes {
			l.NextPass()
		}
	}
	return nil
}

func (t *multiTask) report(done, total int64, value float64) {
	if t.opt.Fit.Progress == nil {
		return
	}
	t.opt.Fit.Progress(Progress{
		Algorithm: t.alg.Name, Pass: t.result.Passes + 1, Passes: t.passes, Examples: done, Total: total,
		Measure: t.opt.Measure.Name(), Value: value,
	})
}

// entry returns the line of the history for a learner's candidate.
func (t *multiTask) entry(name string, l multiLearner) HistoryEntry {
	e := HistoryEntry{Candidate: name, Examples: t.steps, StepScale: t.config.StepScale}
	if c := l.progressive(); c != nil {
		v := c.presentValue(t.opt.Measure)
		e.Progressive = finite(&v)
	}
	return e
}

// propose adds candidate models. It reports whether the algorithm should continue.
func (t *multiTask) propose(models []Linear, e HistoryEntry) (goOn bool, err error) {
	if t.valid != nil {
		m := &MultiLinear{Task: t.data.Task, Models: models}
		c, err := EvaluateMulti(t.ctx, *t.valid, m)
		if err != nil {
			return false, err
		}
		value := c.presentValue(t.opt.Measure)
		e.Holdout = &value
	}
	if t.add(e) {
		t.models = models
	}
	return t.valid == nil || t.stale < t.opt.Fit.Patience, nil
}
