package classify

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/classify/measure"
)

// The runs of the algorithms for several classes or labels.

// multiLearner is an online learner of several linear models.
type multiLearner interface {
	Observe(x LabelsExample) error
	NextPass()
	Finish() error
	Model() Classifier
}

// runClasses proposes the model of [MulticlassSPADE] after every pass.
func (t *training) runClasses(fixed bool) error {
	objective, ok := t.opt.Measure.(measure.Multi).Concave()
	if !ok {
		objective = measure.MacroRecall{} // the fixed dual maximizes it for every measure
	}
	shares := t.shares()
	total := 0.0
	for _, p := range shares {
		total += p
	}
	for k := range shares {
		shares[k] /= total
	}
	l, err := NewMulticlassSPADE(MulticlassConfig{
		Config: t.config, Classes: len(shares), Measure: objective, Shares: shares, DualScale: t.opt.DualScale,
		FixedDual: fixed,
	})
	if err != nil {
		return err
	}
	return t.learnLabels(l, func(pass int) (goOn bool, err error) {
		if t.valid == nil && pass < t.passes {
			return true, nil
		}
		e := t.entry(fmt.Sprintf("pass %d", pass), Confusion{Classes: l.Progressive()})
		return t.proposeModels(l.Model().Models, e)
	})
}

// runLabels trains one STAMP per class or label, or one for all pairs of example and label.
func runLabels(t *training) error {
	o := &t.opt
	cfg := MultilabelConfig{
		STAMPConfig: STAMPConfig{
			Config: t.config, Measure: averageOf(o.Measure).Of.(measure.Ratio), LevelPositives: o.levelPositives,
			FirstEpoch: o.FirstEpoch, Growth: o.Growth, AllowDegenerate: o.AllowDegenerate,
		},
		Labels: len(t.data.Labels), Exclusive: t.data.Task == Multiclass,
	}
	shares := t.shares()
	if averageOf(t.opt.Measure).Micro {
		cfg.Average = MicroAverage
		for _, p := range shares {
			cfg.Positives += p / float64(len(shares))
		}
	} else {
		cfg.Shares = shares
	}
	l, err := NewMultilabel(cfg)
	if err != nil {
		return err
	}
	if err := t.learnLabels(l, func(int) (bool, error) { return true, nil }); err != nil {
		return err
	}
	e := t.entry("last epochs", Confusion{Labels: l.Progressive()})
	m := l.Model()
	if t.valid != nil {
		rows, err := t.heldOut()
		if err != nil {
			return err
		}
		if m, _, err = l.Choose(rows); err != nil {
			return err
		}
		for k := range m.Models {
			if !t.tuned {
				m.Models[k].Threshold = 0
			}
		}
		e.Candidate = "chosen epochs"
	}
	_, err = t.proposeModels(m.Models, e)
	return err
}

// runLogistics trains one logistic regression per label.
func runLogistics(t *training) error {
	models := make([]Linear, len(t.data.Labels))
	for k := range models {
		d := t.train.against(k)
		if _, err := d.Classes(); err != nil { // one class only: a constant
			models[k].Intercept = -1
			if t.result.Train.Labels[k].Rows == t.result.Train.Rows {
				models[k].Intercept = 1
			}
			continue
		}
		r, err := t.logisticOf(d)
		if err != nil {
			return fmt.Errorf("label %s: %w", t.data.Labels[k], err)
		}
		models[k] = r.Models[0]
		t.result.Passes += r.Passes
		t.steps += r.Steps
		for _, w := range r.Warnings {
			t.warn("label %s: %s", t.data.Labels[k], w)
		}
		t.report(1, 0, int64(k+1), int64(len(models)), math.NaN())
	}
	e := HistoryEntry{Candidate: "optimum", Examples: t.steps, StepScale: t.config.StepScale}
	switch {
	case !t.tuned || t.valid == nil:
	case t.data.Task == Multilabel:
		rows, err := t.heldOut()
		if err != nil {
			return err
		}
		t.tune(models, rows)
		e.Candidate = "optimum, tuned"
	default: // by proposeModels
		e.Candidate = "optimum, tuned"
	}
	_, err := t.proposeModels(models, e)
	return err
}

// logisticOf is a [Fit] of the Binary data d by logistic regression, with the scales of all data.
func (t *training) logisticOf(d Data) (*Result, error) {
	o := Options{
		Measure: measure.FBeta{B: 1}, Holdout: new(0.0), Unscaled: t.opt.Unscaled, Seed: t.opt.Seed,
		Config: Config{
			Lambda: t.config.Lambda, NoIntercept: t.config.NoIntercept, Scaling: t.config.Scaling, Dim: t.config.Dim,
		},
	}.EnsureDefaults()
	if o.Config.NoIntercept {
		o.Config.BiasFeature = 0
	}
	one, err := newTraining(t.ctx, d, resolved{
		Options: o, alg: &Algorithm{Name: "logistic", run: runLogistic}, two: measure.FBeta{B: 1}, learner: o.Config,
	})
	if err != nil {
		return nil, err
	}
	if err := one.run(); err != nil {
		return nil, err
	}
	return one.finished(1), nil
}

// tune tunes the threshold of each label, or one for all labels, on held-out rows.
func (t *training) tune(models []Linear, rows []LabelsExample) {
	a := averageOf(t.opt.Measure)
	var scored []Scored
	for k := range models {
		for _, x := range rows {
			scored = append(scored, Scored{
				Score: models[k].Score(x.Index, x.Value), Weight: x.Weight, Positive: hasLabel(x.Labels, k),
			})
		}
		if a.Micro {
			continue
		}
		if th, v := TuneThreshold(scored, a.Of); v == v {
			models[k].Threshold = th
		}
		scored = scored[:0]
	}
	if !a.Micro {
		return
	}
	if th, v := TuneThreshold(scored, a.Of); v == v {
		for k := range models {
			models[k].Threshold = th
		}
	}
}

// tuneJointly tunes the thresholds of the classes on held-out rows, from those that they have.
func (t *training) tuneJointly(models []Linear) error {
	rows, err := t.heldOut()
	if err != nil {
		return err
	}
	var on classScores
	one := Classifier{Task: Multiclass, Models: models}
	for _, x := range rows {
		on.add(one.Scores(nil, x.Index, x.Value), x.Labels[0], x.Weight)
	}
	for k, v := range jointThresholds(t.opt.Measure.(measure.Multi), &on, len(models)) {
		models[k].Threshold += v
	}
	return nil
}

// entry returns the line of the history for a learner's candidate. Counts of labels are unknown as
// counts of classes.
func (t *training) entry(name string, progressive Confusion) HistoryEntry {
	e := HistoryEntry{Candidate: name, Examples: t.steps, StepScale: t.config.StepScale}
	if t.data.Task == Multilabel || progressive.Labels == nil {
		v := progressive.presentValue(t.opt.Measure)
		e.Progressive = finite(&v)
	}
	return e
}

// learnLabels is [training.learn] for a learner of several models.
func (t *training) learnLabels(l multiLearner, after func(pass int) (goOn bool, err error)) error {
	unknown := func() float64 { return math.NaN() }
	return t.drive(l, t.passes, t.train.labelled(l.Observe), unknown, after)
}

// proposeModels adds a candidate of several models. It reports whether the algorithm should
// continue.
func (t *training) proposeModels(models []Linear, e HistoryEntry) (goOn bool, err error) {
	if t.valid != nil {
		if t.tuned && t.data.Task == Multiclass {
			if err := t.tuneJointly(models); err != nil {
				return false, err
			}
		}
		c, err := Evaluate(t.ctx, *t.valid, &Classifier{Task: t.data.Task, Models: models})
		if err != nil {
			return false, err
		}
		value := c.presentValue(t.opt.Measure)
		e.Holdout = &value
	}
	if t.add(e) {
		t.models = models
	}
	return t.mayImprove(), nil
}

// shares returns the share of the rows that has each label, at least half a row and at most all but
// half a row, so that labels without examples have a share too.
func (t *training) shares() []float64 {
	total := t.train.Set.Info().Weight
	half := float64(0.5 * t.config.MeanWeight)
	out := make([]float64, len(t.data.Labels))
	for k, c := range t.result.Train.Labels {
		out[k] = min(max(c.Weight, half), max(total-half, half)) / max(total, 2*half)
	}
	return out
}

// heldOut returns the held-out rows.
func (t *training) heldOut() (rows []LabelsExample, err error) {
	if t.validRows == nil {
		t.validRows, err = t.valid.rows(t.ctx)
	}
	return t.validRows, err
}
