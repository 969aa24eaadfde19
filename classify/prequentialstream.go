package classify

import (
	"context"
	"errors"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/forget"
)

// PrequentialStreamOptions are the options of [EvaluateStream]. The zero value is refused:
// Fit.Measure and Forms are required.
type PrequentialStreamOptions struct {
	PrequentialOptions
	// Forms are the ways to keep up with the stream that are compared, at least one. Fit.Drift is
	// ignored.
	Forms []forget.Rule
	// Baselines adds two predictors that learn nothing from features: the last label that has come,
	// and the label of most examples so far.
	Baselines bool
	// Positive names the positive label, as [StreamOptions.Positive] does.
	Positive string
	// Started, if not nil, is called once, after the first rows are read.
	Started func(dataset.Info)
	// Progress, if not nil, is called after every block, with the measure of the first form in the
	// window.
	Progress func(Progress)
}

// The names of the baselines.
const (
	LastLabelForm = "last label"
	MajorityForm  = "majority"
)

// PrequentialForm is the result of one form.
type PrequentialForm struct {
	// Name is the text of the Drift, or the name of a baseline.
	Name     string
	Restarts int64
	// Total is the confusion matrix of all predictions.
	Total measure.Confusion
	// Curve has the windows at equal distances: after every Window examples for up to 2,000
	// windows, and for longer streams at twice the distance, or four times, and so on.
	Curve []PrequentialPoint
}

// PrequentialResult is the result of [EvaluateStream].
type PrequentialResult struct {
	Algorithm string
	Info      dataset.Info
	Positives int64
	// Positive is the name of the positive label.
	Positive string
	Forms    []PrequentialForm
}

// EvaluateStream evaluates one or several forms of a learner on a stream by testing first and then
// training (see [Prequential]), in one pass that keeps no rows. The caller closes the stream.
// Errors are those of [FitStream], except that a stream with one class only is accepted.
func EvaluateStream(ctx context.Context, s *dataset.Stream, opt PrequentialStreamOptions) (*PrequentialResult, error) {
	e, err := newStreamEvaluation(opt)
	if err != nil {
		return nil, err
	}
	if err := e.labels.read(ctx, s, opt.Started, e.row, e.report); err != nil {
		return nil, err
	}
	if e.labels.rows == 0 {
		return nil, noregret.BadInputf(strings.Join(s.Info().Inputs, ", "), "the input has no examples")
	}
	return e.result(s.Info()), nil
}

// Validate makes the checks that [EvaluateStream] makes before it reads the stream.
func (o PrequentialStreamOptions) Validate() error {
	_, err := newStreamEvaluation(o)
	return err
}

// streamEvaluation is one run of [EvaluateStream].
type streamEvaluation struct {
	opt       PrequentialStreamOptions
	algorithm string
	names     []string
	forms     []*Prequential
	curves    []curve
	labels    streamLabels
	positives int64
}

func newStreamEvaluation(opt PrequentialStreamOptions) (*streamEvaluation, error) {
	e := &streamEvaluation{opt: opt, labels: newStreamLabels(opt.Positive)}
	if len(opt.Forms) == 0 {
		return nil, usage("no form to evaluate: at least one is required")
	}
	add := func(name string, l predictor) error {
		p, err := newPrequential(l, opt.Window, opt.LabelDelay)
		if err != nil {
			return err
		}
		e.names = append(e.names, name)
		e.forms = append(e.forms, p)
		e.curves = append(e.curves, curve{every: int64(cap(p.ring))})
		return nil
	}
	for _, d := range opt.Forms {
		fit := opt.Fit
		fit.Drift = d
		r, l, err := streamLearner(fit)
		if err != nil {
			return nil, err
		}
		e.algorithm = r.alg.Name
		if err := add(driftText(d), l); err != nil {
			return nil, err
		}
	}
	if opt.Baselines {
		if err := errors.Join(add(LastLabelForm, &lastLabel{}), add(MajorityForm, &majority{})); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// row passes a row to all forms.
func (e *streamEvaluation) row(x Example, _ uint16) error {
	if x.Positive {
		e.positives++
	}
	for k, p := range e.forms {
		if err := p.Observe(x); err != nil {
			return formError(e.names[k], err)
		}
		e.curves[k].add(e.labels.rows, p.Window())
	}
	return nil
}

// report reports the progress.
func (e *streamEvaluation) report() error {
	if e.opt.Progress == nil {
		return nil
	}
	m := e.opt.Fit.Measure.(measure.Measure)
	e.opt.Progress(Progress{
		Algorithm: e.algorithm, Pass: 1, Passes: 1, Examples: e.labels.rows, Total: -1, Measure: m.Name(),
		Value: m.Value(e.forms[0].Window()),
	})
	return nil
}

// formError adds the name of the form to an error.
func formError(form string, err error) error {
	e, ok := errors.AsType[*noregret.Error](err)
	if !ok {
		return err
	}
	place := form
	if e.Place != "" {
		place += ": " + e.Place
	}
	return &noregret.Error{Code: e.Code, Place: place, Message: e.Message, Err: err}
}

// result returns the results so far.
func (e *streamEvaluation) result(info dataset.Info) *PrequentialResult {
	out := &PrequentialResult{Algorithm: e.algorithm, Info: info, Positives: e.positives, Positive: "1"}
	for c, positive := range e.labels.classes {
		if positive {
			out.Positive = e.labels.names[c]
		}
	}
	for k, p := range e.forms {
		out.Forms = append(out.Forms, PrequentialForm{
			Name: e.names[k], Restarts: p.Restarts(), Total: p.Total(), Curve: e.curves[k].points,
		})
	}
	return out
}
