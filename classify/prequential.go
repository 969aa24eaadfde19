package classify

import (
	"slices"

	"github.com/noregret/noregret/classify/measure"
)

// PrequentialOptions are the options of [NewPrequential]. The zero value is refused: Fit.Measure is
// required.
type PrequentialOptions struct {
	// Fit holds the options of the learner, as [StreamOptions.Fit] does.
	Fit Options
	// Window ≥ 1 is the number of the latest examples in [Prequential.Window]; 1000 if left out.
	Window int
	// LabelDelay ≥ 0 is the number of examples by which labels come late: example t is learned
	// after the prediction of example t + LabelDelay.
	LabelDelay int
}

// Prequential evaluates a learner on a stream by testing first and then training (prequential
// evaluation, Dawid 1984; in windows Gama, Sebastião and Rodrigues, "On evaluating stream learning
// algorithms", Machine Learning 90, 2013). Each example is predicted by the model of that moment,
// whose prediction counts, and learned later. It is deterministic.
//
// An example costs a prediction and an observation of the learner. The memory is the learner's and
// O(Window + examples of LabelDelay). After the first examples it allocates nothing beyond what the
// learner does. It is not safe for concurrent use.
type Prequential struct {
	learner predictor
	ring    []outcome // of the window
	next    int
	window  measure.Confusion
	counts  [2][2]int // of the window, by label and prediction
	total   measure.Confusion
	tested  int64
	late    []Example // waiting for their labels
	oldest  int
	waiting int
	failed  error
}

// predictor is the part of [Learner] that a prequential evaluation needs.
type predictor interface {
	Score(index []uint32, value []float32) float64
	Observe(x Example) error
}

// outcome is a prediction with its label.
type outcome struct {
	positive, predicted bool
	weight              float64
}

const defaultPrequentialWindow = 1000

// The parameters of [PrequentialOptions].
var (
	paramPrequentialWindow = parameter{
		phrase: "prequential window", want: "1 to 100 million", standard: defaultPrequentialWindow,
		ok: func(v float64) bool { return v >= 1 && v <= 1e8 },
	}
	paramLabelDelay = parameter{
		phrase: "label delay", want: "0 to 100 million", ok: func(v float64) bool { return v >= 0 && v <= 1e8 },
	}
)

// NewPrequential makes an evaluation of the learner of the options. It fails with an error of code
// usage for the options that [FitStream] refuses, and for a window or a delay out of range.
func NewPrequential(opt PrequentialOptions) (*Prequential, error) {
	_, l, err := streamLearner(opt.Fit)
	if err != nil {
		return nil, err
	}
	return newPrequential(l, opt.Window, opt.LabelDelay)
}

func newPrequential(l predictor, window, delay int) (*Prequential, error) {
	if window == 0 {
		window = defaultPrequentialWindow
	}
	if err := paramPrequentialWindow.check(float64(window)); err != nil {
		return nil, err
	}
	if err := paramLabelDelay.check(float64(delay)); err != nil {
		return nil, err
	}
	return &Prequential{learner: l, ring: make([]outcome, 0, window), late: make([]Example, delay)}, nil
}

// Observe tests the model on an example, and then learns from it or, with a delay, from the example
// whose label has just come. A bad example is refused with an error of code bad_input and changes
// nothing; with a delay the error counts the examples that were learned. An error of code diverged
// ends the evaluation.
func (p *Prequential) Observe(x Example) error {
	if p.failed != nil {
		return p.failed
	}
	if l, ok := p.learner.(Learner); ok {
		var err error
		if x, err = onlineOf(l).check(x); err != nil {
			return err
		}
	}
	predicted := p.learner.Score(x.Index, x.Value) > 0
	learned := x
	if len(p.late) > 0 {
		if p.waiting == len(p.late) {
			learned = p.late[p.oldest]
		} else {
			learned.Weight = 0
		}
	}
	if len(p.late) == 0 || p.waiting == len(p.late) {
		if err := p.learner.Observe(learned); err != nil {
			if len(p.late) > 0 {
				p.failed = err
			}
			return err
		}
	}
	if len(p.late) > 0 {
		p.hold(x)
	}
	p.count(outcome{x.Positive, predicted, x.Weight})
	return nil
}

// hold stores an example until its label comes, in place of the oldest if there is no room.
func (p *Prequential) hold(x Example) {
	at := p.oldest
	if p.waiting < len(p.late) {
		at = p.waiting
		p.waiting++
	} else {
		p.oldest = (p.oldest + 1) % len(p.late)
	}
	old := &p.late[at]
	old.Index, old.Value = append(old.Index[:0], x.Index...), append(old.Value[:0], x.Value...)
	old.Positive, old.Weight = x.Positive, x.Weight
}

// count counts a prediction. Whenever the window has been replaced it is summed anew, so that the
// rounding errors of weights do not accumulate.
func (p *Prequential) count(o outcome) {
	p.tested++
	p.total.Add(o.positive, o.predicted, o.weight)
	if len(p.ring) < cap(p.ring) {
		p.ring = append(p.ring, o)
		p.window.Add(o.positive, o.predicted, o.weight)
		*p.countOf(o)++
		return
	}
	p.drop(p.ring[p.next])
	p.ring[p.next] = o
	p.window.Add(o.positive, o.predicted, o.weight)
	*p.countOf(o)++
	if p.next++; p.next == len(p.ring) {
		p.next = 0
		p.window = measure.Confusion{}
		for _, o := range p.ring {
			p.window.Add(o.positive, o.predicted, o.weight)
		}
	}
}

// drop removes a prediction from the window's matrix. What rounding leaves of entries without
// predictions is not a weight, and entries are at least 0.
func (p *Prequential) drop(o outcome) {
	p.window.Add(o.positive, o.predicted, -o.weight)
	n := p.countOf(o)
	*n--
	entry := &p.window.TN
	switch {
	case o.positive && o.predicted:
		entry = &p.window.TP
	case o.positive:
		entry = &p.window.FN
	case o.predicted:
		entry = &p.window.FP
	}
	if *n == 0 || *entry < 0 {
		*entry = 0
	}
}

// countOf is the number of predictions in the window of the same label and prediction.
func (p *Prequential) countOf(o outcome) *int {
	label, predicted := 0, 0
	if o.positive {
		label = 1
	}
	if o.predicted {
		predicted = 1
	}
	return &p.counts[label][predicted]
}

// Tested is the number of examples so far.
func (p *Prequential) Tested() int64 { return p.tested }

// Window is the confusion matrix of the predictions for the latest examples.
func (p *Prequential) Window() measure.Confusion { return p.window }

// Total is the confusion matrix of all predictions.
func (p *Prequential) Total() measure.Confusion { return p.total }

// Restarts is the number of restarts of the learner, 0 for learners that are not restarted.
func (p *Prequential) Restarts() int64 {
	if r, ok := p.learner.(*restarted); ok {
		return r.Restarts()
	}
	return 0
}

// lastLabel predicts the label that came last: the baseline that shows how far labels depend on
// their neighbours in the stream.
type lastLabel struct{ positive bool }

func (l *lastLabel) Score([]uint32, []float32) float64 {
	if l.positive {
		return 1
	}
	return 0
}

func (l *lastLabel) Observe(x Example) error {
	l.positive = x.Positive
	return nil
}

// majority predicts the label that most examples have had so far.
type majority struct{ lead float64 }

func (m *majority) Score([]uint32, []float32) float64 { return m.lead }

func (m *majority) Observe(x Example) error {
	if x.Positive {
		m.lead += x.Weight
	} else {
		m.lead -= x.Weight
	}
	return nil
}

// curve keeps at most twice mostPoints points of a stream of unknown length: when there are so
// many, every second is dropped and the distance doubles.
type curve struct {
	every  int64
	points []PrequentialPoint
}

const mostPoints = 1000

// PrequentialPoint is a point of a curve: the confusion matrix of the window that ends with a row.
type PrequentialPoint struct {
	Row       int64
	Confusion measure.Confusion
}

func (c *curve) add(row int64, m measure.Confusion) {
	if row%c.every != 0 {
		return
	}
	if c.points = append(c.points, PrequentialPoint{row, m}); len(c.points) < 2*mostPoints {
		return
	}
	c.every *= 2
	c.points = slices.DeleteFunc(c.points, func(p PrequentialPoint) bool { return p.Row%c.every != 0 })
}
