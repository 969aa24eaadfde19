package classify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/forget"
)

// StreamOptions are the options of [FitStream]. The zero value is refused: Fit.Measure is required.
type StreamOptions struct {
	// Fit holds the options of the learner: Measure, Algorithm, Config, DualScale, LevelPositives,
	// FirstEpoch, Growth, PriorPositives, Unscaled, Calibration and AllowDegenerate. A stream has
	// one pass and no held-out part, so options that need more are refused.
	Fit Options
	// Positive names the positive label; all others are negative. If it is empty, 1 is positive and
	// the only other labels allowed are -1 and 0.
	Positive string
	// SaveEvery is the number of rows between two calls of Save with the model of the rows so
	// far, at least 0. The first call is after both classes have occurred. With 0 Save is not
	// called.
	SaveEvery int64
	Save      func(*Model) error
	// Started, if not nil, is called once, after the first rows are read.
	Started func(dataset.Info)
	// Progress, if not nil, is called after every block.
	Progress func(Progress)
}

// FitStream trains on a stream in one pass and keeps none of its rows, so the stream may be endless
// or larger than the disk. Rows must come in random order. There is no shuffling and no held-out
// part, and the algorithm must be an online learner, whose threshold is 0: stamp, spade or one of
// sgd-*. [Auto] without options of a learner compares two of them by what they predict before they
// learn, with a threshold by these predictions, at two to three times the cost; the Search of the
// model has the values. These predictions give the model its Figures and its Calibration, too; one
// learner makes them only if Fit.Calibration asks for platt or isotonic. FitStream reads s to its
// end; the caller closes it. Memory is O(number of features).
//
// Errors: usage for options that need more than a pass or an algorithm that cannot learn from a
// stream (the error's Place is then "algorithm") or a label of unknown sign (Place "positive"),
// bad_input for a row without a label or a stream with one class only, diverged, those of the
// stream, and ctx's error.
func FitStream(ctx context.Context, s *dataset.Stream, opt StreamOptions) (*Model, error) {
	f, err := newStreamFit(s, opt)
	if err != nil {
		return nil, err
	}
	if err := f.read(ctx); err != nil {
		return nil, err
	}
	return f.model()
}

// Validate makes the checks that [FitStream] makes before it reads the stream.
func (o StreamOptions) Validate() error {
	_, err := newStreamFit(nil, o)
	return err
}

// streamFit is one run of [FitStream].
type streamFit struct {
	opt     StreamOptions
	fit     resolved
	stream  *dataset.Stream
	learner Learner
	observe func(x Example) error // of the learner, for rows of a data set
	labels  streamLabels
	auto    *streamAuto // nil for one learner
	// scores are those of the only learner, nil if no probabilities are asked for.
	scores *scoreWindow
	// counts has the rows and weights of the labels so far; the stream has read further.
	counts []dataset.Label
	rising rising
}

func newStreamFit(s *dataset.Stream, opt StreamOptions) (*streamFit, error) {
	if err := paramSaveEvery.check(float64(opt.SaveEvery)); err != nil {
		return nil, err
	}
	if opt.SaveEvery > 0 && opt.Save == nil {
		return nil, usage("models are wanted every %d rows, but Save is nil", opt.SaveEvery)
	}
	f := &streamFit{opt: opt, stream: s, labels: newStreamLabels(opt.Positive)}
	if opt.Fit.compares() {
		var err error
		if f.auto, err = newStreamAuto(opt.Fit); err != nil {
			return nil, err
		}
		f.use(f.auto.learners[0].fit, f.auto.learners[0].learner, false)
		return f, nil
	}
	r, l, err := streamLearner(opt.Fit)
	if err != nil {
		return nil, err
	}
	f.use(r, l, false)
	f.observe = observeOf(l)
	if opt.Fit.Calibration.asked() {
		f.scores = newScoreWindow()
	}
	return f, nil
}

// use takes a learner with its resolved options.
func (f *streamFit) use(r *resolved, l Learner, tuned bool) {
	// The model file states the options that a stream implies.
	f.fit, f.learner = *r, l
	o := &f.fit.Options
	o.Seed, o.Holdout, o.Threshold = 0, new(0.0), ThresholdZero
	if tuned {
		o.Threshold = ThresholdTuned
	}
}

// observeOf is the learner's Observe, for rows of a data set.
func observeOf(l Learner) func(Example) error {
	if l, ok := l.(interface{ observeRow(x Example) error }); ok {
		return l.observeRow
	}
	return l.Observe
}

// streamLearner returns the online learner of the options and the options resolved, or an error for
// options that need more than one pass over a stream.
func streamLearner(opt Options) (*resolved, Learner, error) {
	if err := opt.ClassWeights.refuse("a stream's labels are not known before its rows"); err != nil {
		return nil, nil, err
	}
	r, err := opt.resolve(Binary)
	if err != nil {
		return nil, nil, err
	}
	o := &r.Options
	switch {
	case r.alg.learner == nil:
		return nil, nil, noregret.Errorf(noregret.Usage, "algorithm", "%s cannot learn from a stream; use %s",
			r.alg.Name,
			streamLearners())
	case o.Calibration.asked() && o.Drift.Kind != forget.None:
		return nil, nil, noregret.Errorf(noregret.Usage, "calibration", "a stream that changes (--drift) has none: "+
			"it would be of rows that the model has forgotten")
	case openNumber(o.Passes) > 1 || o.holdout() > 0 || o.Valid != nil || openNumber(o.Folds) > 1 || o.TuneSteps ||
		o.Threshold == ThresholdTuned:
		return nil, nil,
			usage("several passes, held-out data, folds and choices on them need data that are kept: a stream " +
				"is read once")
	}
	cfg := r.learner
	if o.Unscaled {
		cfg.Scaling = Identity(0)
	}
	l, err := newDriftLearner(&r, cfg)
	return &r, l, err
}

// streamLearners names the algorithms that can learn from a stream.
func streamLearners() string {
	var names []string
	for _, a := range algorithms {
		if a.learner != nil {
			names = append(names, a.Name)
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// read passes every row to the learner, until the stream or ctx ends.
func (f *streamFit) read(ctx context.Context) error {
	err := f.labels.read(ctx, f.stream, f.opt.Started, f.row, func() error {
		if f.auto != nil { // the rows are those of a block, which is read anew
			if err := f.auto.learn(); err != nil {
				return err
			}
		}
		if f.opt.Progress != nil {
			m := f.fit.two
			f.opt.Progress(Progress{
				Algorithm: f.fit.alg.Name, Pass: 1, Passes: 1, Examples: f.labels.rows, Total: -1, Measure: m.Name(),
				Value: m.Value(f.learner.Progressive()),
			})
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case f.auto != nil:
		return f.auto.finish()
	}
	return f.learner.Finish()
}

// row passes a row to the learner and saves the model when it is due.
func (f *streamFit) row(x Example, class uint16) error {
	f.rising.observe(x.Index, x.Value)
	if f.auto != nil {
		f.auto.rows = append(f.auto.rows, x)
	} else {
		if f.scores != nil {
			_, _ = f.scores.predict(f.learner, x) // it is counted there
		}
		if err := f.observe(x); err != nil {
			return err
		}
	}
	for len(f.counts) < len(f.labels.names) {
		f.counts = append(f.counts, dataset.Label{Name: f.labels.names[len(f.counts)]})
	}
	f.counts[class].Rows++
	f.counts[class].Weight += x.Weight
	if every := f.opt.SaveEvery; every > 0 && f.labels.rows%every == 0 {
		if f.auto != nil {
			if err := f.auto.learn(); err != nil {
				return err
			}
		}
		return f.save()
	}
	return nil
}

// save saves the model of the rows so far, if both classes have occurred.
func (f *streamFit) save() error {
	if pos, neg := f.learner.Seen(); pos == 0 || neg == 0 {
		return nil
	}
	m, err := f.model()
	if err != nil {
		return err
	}
	return f.opt.Save(m)
}

// model returns the model of the rows so far.
func (f *streamFit) model() (*Model, error) {
	info := f.stream.Info()
	info.Rows, info.Labels = f.labels.rows, f.counts
	positive := -1
	train := Classes{}
	for c, l := range info.Labels {
		if f.labels.classes[c] {
			positive = c
			train.Positives, train.PositiveWeight = l.Rows, l.Weight
		} else {
			train.Negatives += l.Rows
			train.NegativeWeight += l.Weight
		}
	}
	if train.PositiveWeight == 0 || train.NegativeWeight == 0 {
		name := f.labels.positive
		if f.labels.strict {
			name = "1"
		}
		return nil, noregret.BadInputf(strings.Join(info.Inputs, ", "),
			"need both classes: %d rows are positive (label %q) and %d are negative", train.Positives, name,
			train.Negatives)
	}
	threshold, scores := 0.0, f.scores
	var choice streamChoice
	if f.auto != nil {
		choice = f.auto.choose()
		f.use(choice.fit, choice.learner, streamCandidates[choice.chosen].tuned)
		threshold, scores = choice.thresholds[choice.chosen], choice.scores
	}
	lin := f.learner.Model()
	lin.Threshold = threshold
	if len(lin.Weights) > info.Dim {
		lin.Weights = lin.Weights[:info.Dim]
	}
	value := f.fit.two.Value(f.learner.Progressive())
	result := &Result{
		Models: []Linear{lin}, Algorithm: f.fit.alg.Name, Train: train.part(), Holdout: Classes{}.part(), Passes: 1,
		Schedule: f.fit.learner.Steps, StepScale: f.fit.learner.StepScale,
		History: []HistoryEntry{{
			Candidate: fmt.Sprintf("row %d", f.labels.rows), Examples: f.labels.rows, Progressive: &value,
			StepScale: f.fit.learner.StepScale,
		}},
	}
	if scores != nil {
		result.Calibration = scores.calibration(f.opt.Fit.Calibration)
		if result.Calibration == nil && f.opt.Fit.Calibration.asked() {
			result.Warnings = append(result.Warnings, "there are no probabilities: no row of each class was scored "+
				"before the learner learned from it")
		}
	}
	if f.auto != nil {
		result.History, result.Chosen = choice.entries, choice.chosen
		result.Search, result.Figures = f.auto.search(&choice), f.auto.figures()
	} else if scores != nil {
		result.Figures = scores.figures(f.fit.two)
	}
	m, err := newModel(result, f.fit.Options, info, positiveFirst(info, positive))
	if err != nil {
		return nil, err
	}
	m.Options.Stream = true
	for _, i := range f.rising.found() {
		m.Warnings = append(m.Warnings, fmt.Sprintf("feature %s rises or falls with the rows, as a time does: a model "+
			"that learns in this order is of little use for later rows; leave the column out (--ignore-columns), or "+
			"train without --stream", m.FeatureName(i)))
	}
	return m, nil
}

// readBlocks passes the blocks of a stream on, until its end, that of ctx or an error. io.EOF of f
// ends it without one.
func readBlocks(ctx context.Context, s *dataset.Stream, f func(b *dataset.Block) error) error {
	var b dataset.Block
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := s.Next(&b)
		if err == nil {
			err = f(&b)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// streamLabels reads the examples of a stream. It decides which labels are positive when they first
// occur.
type streamLabels struct {
	rows     int64  // so far
	positive string // the name given, "" for 1
	strict   bool   // whether 1, -1 and 0 are the only labels allowed
	classes  []bool // by class number: whether it is positive
	names    []string
}

func newStreamLabels(positive string) streamLabels {
	return streamLabels{positive: positive, strict: positive == ""}
}

// read calls started, if it is not nil, once the first rows are read, row for every row with the
// class number of its label, and after for every block.
func (l *streamLabels) read(ctx context.Context, s *dataset.Stream, started func(dataset.Info),
	row func(x Example, class uint16) error, after func() error,
) error {
	return readBlocks(ctx, s, func(b *dataset.Block) error {
		if err := l.extend(s); err != nil {
			return err
		}
		if l.rows == 0 && started != nil {
			started(s.Info())
		}
		for i := range b.Len() {
			index, value := b.Row(i)
			class := b.Class[i]
			if class == dataset.NoClass {
				return noregret.BadInputf(strings.Join(s.Info().Inputs, ", "), "row %d has no label", l.rows+1)
			}
			l.rows++
			x := Example{Index: index, Value: value, Positive: l.classes[class], Weight: b.RowWeight(i)}
			if err := row(x, class); err != nil {
				return err
			}
		}
		return after()
	})
}

// extend adds the labels that have occurred since the last call.
func (l *streamLabels) extend(s *dataset.Stream) error {
	for _, x := range s.Info().Labels[len(l.classes):] {
		positive := x.Name == "1"
		if l.strict && !positive && x.Name != "-1" && x.Name != "0" {
			return noregret.Errorf(noregret.Usage, "positive",
				"%s has the label %q: a stream cannot be searched for the positive label in advance, name it",
				s.LabelPlace(len(l.classes)), x.Name)
		}
		if !l.strict {
			positive = isLabel(x.Name, l.positive)
		}
		l.classes = append(l.classes, positive)
		l.names = append(l.names, x.Name)
	}
	if l.strict && len(l.names) > 2 {
		return noregret.Errorf(noregret.Usage, "positive", "the data have the labels %s: name the positive one",
			strings.Join(l.names, ", "))
	}
	return nil
}

// isLabel reports whether name, as a user wrote it, is the label.
func isLabel(label, name string) bool {
	_, err := dataset.Info{Labels: []dataset.Label{{Name: label}}}.Positive(name)
	return err == nil
}
