package serving

import (
	"fmt"
	"slices"
	"sync"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
)

// Options are the options of a [Service]. Start from [DefaultOptions].
type Options struct {
	// Window is the number of the latest labelled rows whose figures are told, 1 to 1 million.
	Window int
	// MaxWaiting is the number of the latest predictions whose labels are accepted, 1 to 100
	// million, and MaxBytes bounds their memory, at least 64 KiB. Beyond them the oldest are
	// dropped.
	MaxWaiting int
	MaxBytes   int64
	// Learn goes on with the training by every label that is accepted, as [classify.Continuation]
	// does.
	Learn bool
}

// DefaultOptions returns windows of 1,000 labelled rows, and room for the labels of the latest
// 100,000 predictions and 256 MiB. The model does not learn.
func DefaultOptions() Options { return Options{Window: 1000, MaxWaiting: 100_000, MaxBytes: 256 << 20} }

// Validate returns an error of code usage for the first field out of its range.
func (o Options) Validate() error {
	bad := func(field string, v any, want string) error {
		return noregret.Errorf(noregret.Usage, field, "%v: want %s", v, want)
	}
	switch {
	case o.Window < 1 || o.Window > 1e6:
		return bad("window", o.Window, "1 to 1000000 rows")
	case o.MaxWaiting < 1 || o.MaxWaiting > 1e8:
		return bad("max waiting", o.MaxWaiting, "1 to 100000000 rows")
	case o.MaxBytes < 64<<10:
		return bad("waiting memory", o.MaxBytes, "at least 65536 bytes")
	}
	return nil
}

// Prediction is the answer to a row.
type Prediction struct {
	// ID names the row for [Service.Label].
	ID string
	// Labels are the predicted labels by their numbers in the model: of a Binary model 0 for the
	// positive label and none for the others.
	Labels []int
	// Scores are those of the linear models: of a Binary model before the threshold is subtracted,
	// of others after.
	Scores []float64
	// Probabilities are nil unless the model is calibrated.
	Probabilities []float64
}

// Service predicts rows and takes their labels. All methods are safe for concurrent use.
type Service struct {
	opt Options

	mu         sync.Mutex
	model      *classify.Model
	classifier *classify.Classifier
	waiting    waiting
	window     outcomes
	total      classify.Confusion
	counts     Counts
	raw        []float64

	learner *classify.Continuation // nil unless the model learns
	stopped error                  // why it has stopped learning
	rival   rival
	measure measure.Objective
}

// Counts are the numbers of rows and labels so far.
type Counts struct {
	// Predictions is the number of rows that were answered.
	Predictions uint64
	// Accepted, Duplicate, Late and Rejected are the numbers of labels by their fate.
	Accepted, Duplicate, Late, Rejected uint64
	// Dropped is the number of rows that were dropped without a label, for want of room.
	Dropped uint64
}

// New makes a service of a model. A model that cannot learn from single rows, with Learn, is an
// error of code usage (see [classify.Continue]).
func New(m *classify.Model, opt Options) (*Service, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	s := &Service{opt: opt, model: m, classifier: m.Classifier()}
	s.waiting.most, s.waiting.mostBytes = opt.MaxWaiting, opt.MaxBytes
	var err error
	if opt.Learn {
		if s.learner, err = classify.Continue(m); err != nil {
			return nil, err
		}
	}
	s.rival = newRival(m)
	if s.measure, err = m.ParsedMeasure(); err != nil {
		return nil, err
	}
	s.total, err = newConfusion(m)
	return s, err
}

// Model returns the model that the service was made with. Do not change it.
func (s *Service) Model() *classify.Model { return s.model }

// Learned returns the model that predicts: without Learn, and before it has learned from a row, the
// one of [Service.Model]. O(d).
func (s *Service) Learned() (*classify.Model, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.learner == nil {
		return s.model, nil
	}
	return s.learner.Model()
}

// Learning says how the model learns.
type Learning struct {
	// Learned is the number of rows that it has learned from, Held how many more are held back, and
	// Skipped how many were too large (see [classify.Continuation]).
	Learned, Held, Skipped int64
	// Stopped says why it has stopped learning, nil if it has not. What it had learned is gone
	// then.
	Stopped error
}

// Learning returns how the model learns.
func (s *Service) Learning() Learning {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := Learning{Stopped: s.stopped}
	if s.learner != nil {
		l.Learned, l.Held = s.learner.Learned()
		l.Skipped = s.learner.Skipped()
	}
	return l
}

// Predict answers the rows of a block. A row whose score is out of the range of float64 is an error
// with the place "rows[i]", and no row is answered then.
func (s *Service) Predict(b *dataset.Block) ([]Prediction, error) {
	out := make([]Prediction, b.Len())
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range out {
		index, value := b.Row(i)
		if err := s.predict(&out[i], index, value); err != nil {
			return nil, noregret.BadInputf(fmt.Sprintf("rows[%d]", i), "%s", err)
		}
	}
	for i := range out {
		index, value := b.Row(i)
		s.counts.Predictions++
		e := newEntry(s.counts.Predictions, index, value, &out[i])
		out[i].ID = e.id()
		s.counts.Dropped += s.waiting.add(e)
	}
	return out, nil
}

// predict fills in a prediction but for its ID. The error is a plain sentence.
func (s *Service) predict(p *Prediction, index []uint32, value []float32) error {
	c := s.classifier
	if s.learner != nil {
		s.raw = append(s.raw[:0], s.learner.Score(index, value))
	} else {
		s.raw = c.RawScores(s.raw[:0], index, value)
	}
	p.Scores = slices.Clone(s.raw)
	for k := range p.Scores {
		p.Scores[k] -= c.Models[k].Threshold
	}
	if k := slices.IndexFunc(s.raw, func(z float64) bool { return z-z != 0 }); k >= 0 {
		return fmt.Errorf("the score of %q is %v, out of the range of float64", s.model.Labels[k], s.raw[k])
	}
	p.Labels = c.Decide(nil, p.Scores)
	if c.Task == classify.Binary { // strictly above, as the difference may round to 0
		p.Labels = p.Labels[:0]
		if s.raw[0] > c.Models[0].Threshold {
			p.Labels = append(p.Labels, 0)
		}
		p.Scores[0] = s.raw[0]
	}
	if s.model.Calibration != nil {
		p.Probabilities = s.model.Probabilities(nil, s.raw)
	}
	return nil
}

// Fate says what became of a label.
type Fate int

// The fates of labels.
const (
	Accepted  Fate = iota
	Duplicate      // the row has this label already
	Late           // the row was dropped, for want of room
	Rejected       // see Result.Err
)

// Result is what became of a label.
type Result struct {
	Fate Fate
	// Err says why the label was rejected: it or the id is wrong, or the row has another label.
	Err error
}

// Label gives the row of a prediction its label; of a model of several labels, the list of them as
// [dataset.LabelList] reads it. The same label may be given again. A label that is not accepted
// changes nothing but the counts. With Learn the model learns from the row, once. It stops if its
// weights leave the range of float64, or if its answers are worse than those of the model of
// [Service.Model] would have been, by more than chance: that model predicts then. A model that
// never is worse stops with probability at most 0.01, however long it runs.
func (s *Service) Label(id, label string) Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.label(id, label)
	*map[Fate]*uint64{
		Accepted: &s.counts.Accepted, Duplicate: &s.counts.Duplicate, Late: &s.counts.Late,
		Rejected: &s.counts.Rejected,
	}[r.Fate]++
	return r
}

func (s *Service) label(id, label string) Result {
	reject := func(place, format string, args ...any) Result {
		return Result{Rejected, noregret.BadInputf(place, format, args...)}
	}
	n, check, ok := parseID(id)
	if !ok || n > s.counts.Predictions {
		return reject("id", "%.60q: no row has this id", id)
	}
	places, err := s.targets(label)
	if err != nil {
		return Result{Rejected, err}
	}
	e := s.waiting.find(n)
	if e == nil {
		return Result{Fate: Late}
	}
	if e.Check != check {
		return reject("id", "%.60q: no row has this id", id)
	}
	if e.Labelled {
		if !slices.Equal(e.Labels, places) {
			return reject("label", "%.60q: the row has another label already", label)
		}
		return Result{Fate: Duplicate}
	}
	if err := s.learn(e, places); err != nil {
		return Result{Rejected, err}
	}
	o := outcome{Predicted: e.Predicted, Labels: places, Scores: e.Scores, Probabilities: e.Probabilities}
	addOutcome(&s.total, s.model.Task, &o)
	s.window.add(o, s.opt.Window)
	s.waiting.settle(e, places)
	return Result{Fate: Accepted}
}

// learn learns from a row with its label. An error means that nothing has changed.
func (s *Service) learn(e *entry, labels []int) error {
	if s.learner == nil || s.stopped != nil {
		return nil
	}
	err := s.learner.Observe(classify.Example{Index: e.Index, Value: e.Value, Weight: 1, Positive: len(labels) > 0})
	if noregret.CodeOf(err) == noregret.BadInput {
		return err
	}
	if err == nil {
		z := s.classifier.RawScores(nil, e.Index, e.Value)[0]
		err = s.rival.add(s.measure, len(labels) > 0, len(e.Predicted) > 0, z > s.classifier.Models[0].Threshold)
	}
	if err != nil {
		s.stopped = err
		s.learner, err = classify.Continue(s.model) // anew, which never learns
	}
	return err
}

// targets returns the numbers of labels in the model.
func (s *Service) targets(label string) ([]int, error) {
	places, unknown, err := s.model.Targets(label)
	if err != nil {
		return nil, noregret.BadInputf("label", "%w", err)
	}
	if len(unknown) == 0 {
		return places, nil
	}
	known := s.model.Labels
	more := ""
	if len(known) > 20 {
		known, more = known[:20], fmt.Sprintf(" and %d more", len(known)-20)
	}
	return nil, noregret.BadInputf("label", "%.60q did not occur in training: want one of %q%s", unknown[0], known,
		more)
}
