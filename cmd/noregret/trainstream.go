package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/loss"
)

// streamExcludes are the flags that --stream excludes.
var streamExcludes = []string{"passes", "holdout", "valid", "tune-steps", "threshold", "cache", "temp-dir", "seed"}

// runStream is train --stream.
func (t *trainCommand) runStream(cmd *cobra.Command, a *app, inputs []string, opt classify.Options) (err error) {
	for _, f := range streamExcludes {
		if cmd.Flags().Changed(f) {
			return noregret.Errorf(noregret.Usage, "--"+f,
				"it has no meaning with --stream, which goes through the data once and keeps none")
		}
	}
	if t.saveEvery < 0 {
		return outOfRange("--save-every", t.saveEvery, "at least 0")
	}
	l, name, err := newStreamLearner(opt)
	if err != nil {
		return err
	}
	opt.Seed, opt.NoHoldout, opt.Threshold = 0, true, classify.ThresholdZero
	p, err := a.progress()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	s, err := dataset.Open(ctx, inputs, t.data.options(ctx, a, nil))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r := &streamRun{
		command: t, app: a, stream: s, learner: l, name: name, opt: opt,
		labels: labelRule{positive: t.data.positive, strict: t.data.positive == ""},
	}
	p.Start("train "+name, 0)
	err = r.observe(ctx, func(rows int64) {
		p.Metric(opt.Measure.Name(), opt.Measure.Value(l.Progressive()))
		p.Update(rows)
	})
	p.Finish()
	if err != nil {
		return err
	}
	a.skipped(s.Info())
	m, err := r.model()
	if err != nil {
		return err
	}
	return t.save(a, m)
}

// newStreamLearner makes the online learner that the options ask for and returns its name.
func newStreamLearner(o classify.Options) (classify.Learner, string, error) {
	name := o.Algorithm
	if name == "auto" || name == "" {
		name = classify.DefaultAlgorithm(o.Measure)
	}
	if err := classify.CheckOptions(classify.Options{
		Algorithm: name, Measure: o.Measure, AllowDegenerate: o.AllowDegenerate, Config: o.Config,
	}); err != nil {
		return nil, "", err
	}
	cfg := o.Config
	cfg.Steps = classify.DefaultSteps(name, cfg)
	if o.Unscaled {
		cfg.Scaling = classify.Identity(0)
	}
	var l classify.Learner
	var err error
	switch name {
	case "spade":
		l,
			err = classify.NewSPADE(classify.SPADEConfig{
			Config: cfg, Measure: o.Measure.(measure.Concave),
			DualScale: o.DualScale,
		})
	case "stamp":
		l, err = classify.NewSTAMP(classify.STAMPConfig{
			Config: cfg, Measure: o.Measure.(measure.Ratio), LevelPositives: o.StageEnd(),
			PriorPositives: o.PriorPositives, AllowDegenerate: o.AllowDegenerate,
		})
	case "sgd-logistic":
		cfg.Reward = loss.Logistic{}
		l, err = classify.NewSGD(classify.SGDConfig{Config: cfg})
	case "sgd-hinge":
		cfg.Reward = loss.Hinge{}
		l, err = classify.NewSGD(classify.SGDConfig{Config: cfg})
	case "sgd-balanced":
		l, err = classify.NewSGD(classify.SGDConfig{Config: cfg, Balanced: true})
	default:
		err = noregret.Errorf(noregret.Usage, "--algorithm",
			"%s cannot learn from a stream; use stamp, spade, sgd-logistic, sgd-hinge or sgd-balanced", name)
	}
	return l, name, err
}

// labelRule decides which labels of a stream are positive, as they turn up.
type labelRule struct {
	positive string // as the user named it, "" for 1
	strict   bool   // only 1, -1 and 0 are allowed
	classes  []bool // class number to label
	names    []string
}

// learn takes over the labels that have come up since.
func (r *labelRule) learn(labels []dataset.Label) error {
	for _, l := range labels[len(r.classes):] {
		positive := l.Name == "1"
		if r.strict && !positive && l.Name != "-1" && l.Name != "0" {
			return noregret.Errorf(noregret.Usage, "--positive",
				"the data have the label %q: a stream cannot be looked through for the positive label, name it", l.Name)
		}
		if !r.strict {
			positive = sameLabel(l.Name, r.positive)
		}
		r.classes = append(r.classes, positive)
		r.names = append(r.names, l.Name)
	}
	if r.strict && len(r.names) > 2 {
		return noregret.Errorf(noregret.Usage, "--positive", "the data have the labels %s: name the positive one",
			strings.Join(r.names, ", "))
	}
	return nil
}

// sameLabel reports whether name, as a user wrote it, is the label.
func sameLabel(label, name string) bool {
	_, err := dataset.Info{Labels: []dataset.Label{{Name: label}}}.Positive(name)
	return err == nil
}

// streamRun is a stream going through a learner.
type streamRun struct {
	command *trainCommand
	app     *app
	stream  *dataset.Stream
	learner classify.Learner
	name    string
	opt     classify.Options
	labels  labelRule
	rows    int64
	counts  []dataset.Label // rows and weights by class, of the rows so far; the stream has read further
}

// observe hands every row to the learner, until the stream or ctx ends.
func (r *streamRun) observe(ctx context.Context, progress func(rows int64)) error {
	var b dataset.Block
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := r.stream.Next(&b)
		if errors.Is(err, io.EOF) {
			return r.learner.Finish()
		}
		if err != nil {
			return err
		}
		if err := r.labels.learn(r.stream.Info().Labels); err != nil {
			return err
		}
		if r.rows == 0 {
			r.decisions()
		}
		if err := r.block(&b); err != nil {
			return err
		}
		progress(r.rows)
	}
}

// block hands the rows of a block to the learner and writes the model where it is due.
func (r *streamRun) block(b *dataset.Block) error {
	for len(r.counts) < len(r.labels.names) {
		r.counts = append(r.counts, dataset.Label{Name: r.labels.names[len(r.counts)]})
	}
	every := r.command.saveEvery
	for i := range b.Len() {
		index, value := b.Row(i)
		class, weight := b.Class[i], b.RowWeight(i)
		x := classify.Example{Index: index, Value: value, Positive: r.labels.classes[class], Weight: weight}
		if err := r.learner.Observe(x); err != nil {
			return err
		}
		r.rows++
		r.counts[class].Rows++
		r.counts[class].Weight += weight
		if every > 0 && r.rows%every == 0 {
			if err := r.checkpoint(); err != nil {
				return err
			}
		}
	}
	return nil
}

// decisions says what was decided by rule, once the first rows have come.
func (r *streamRun) decisions() {
	f := r.command.data
	if f.positive == "" {
		r.app.note("the positive label is \"1\", as of +1/-1 and 1/0 (--positive says otherwise)")
	}
	r.app.readDecisions(f, r.stream.Info().Schema, "as a stream cannot look ahead")
}

// checkpoint writes the model of the rows so far, as soon as there is one.
func (r *streamRun) checkpoint() error {
	if pos, neg := r.learner.Seen(); pos == 0 || neg == 0 {
		return nil
	}
	m, err := r.model()
	if err != nil {
		return err
	}
	return classify.SaveModel(r.command.model, m)
}

// model makes the model of the rows so far.
func (r *streamRun) model() (*classify.Model, error) {
	info := r.stream.Info()
	info.Rows, info.Labels = r.rows, r.counts
	positive := -1
	train := classify.Classes{}
	for c, l := range info.Labels {
		if r.labels.classes[c] {
			positive = c
			train.Positives, train.PositiveWeight = l.Rows, l.Weight
		} else {
			train.Negatives += l.Rows
			train.NegativeWeight += l.Weight
		}
	}
	if train.PositiveWeight == 0 || train.NegativeWeight == 0 {
		name := r.labels.positive
		if r.labels.strict {
			name = "1"
		}
		return nil, noregret.BadInputf(strings.Join(info.Inputs, ", "),
			"need both classes: %d rows are positive (label %q) and %d are negative", train.Positives, name,
			train.Negatives)
	}
	lin := r.learner.Model()
	if len(lin.Weights) > info.Dim {
		lin.Weights = lin.Weights[:info.Dim]
	}
	value := r.opt.Measure.Value(r.learner.Progressive())
	result := &classify.Result{
		Model: lin, Algorithm: r.name, Train: train, Passes: 1, Schedule: classify.DefaultSteps(r.name, r.opt.Config),
		StepScale: r.opt.Config.StepScale,
		History: []classify.Entry{{
			Candidate: fmt.Sprintf("row %d", r.rows), Examples: r.rows, Progressive: &value,
			StepScale: r.opt.Config.StepScale,
		}},
	}
	m, err := classify.NewModel(result, r.opt, info, positive)
	if err != nil {
		return nil, err
	}
	m.Options.Stream = true
	return m, nil
}
