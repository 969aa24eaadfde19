package serving

import (
	"slices"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/classify/scored"
)

// outcome is a prediction with its labels.
type outcome struct {
	Predicted, Labels     []int
	Scores, Probabilities []float64
}

// outcomes are the latest outcomes, in a ring.
type outcomes struct {
	ring []outcome
	next int
}

func (w *outcomes) add(o outcome, most int) {
	if len(w.ring) < most {
		w.ring = append(w.ring, o)
		return
	}
	w.ring[w.next] = o
	w.next = (w.next + 1) % most
}

// list returns the outcomes, oldest first.
func (w *outcomes) list() []outcome { return slices.Concat(w.ring[w.next:], w.ring[:w.next]) }

// newConfusion returns the counts of no row.
func newConfusion(m *classify.Model) (c classify.Confusion, err error) {
	switch m.Task {
	case classify.Multiclass:
		c.Classes, err = measure.NewMulticlassConfusion(len(m.Models))
	case classify.Multilabel:
		c.Labels = make(measure.MultilabelConfusion, len(m.Models))
	}
	return c, err
}

// addOutcome counts an outcome.
func addOutcome(c *classify.Confusion, task classify.Task, o *outcome) {
	c.Weight++
	c.Square++
	if slices.Equal(o.Predicted, o.Labels) {
		c.Exact++
	}
	switch task {
	case classify.Multilabel:
		for k := range c.Labels {
			c.Labels[k].Add(slices.Contains(o.Labels, k), slices.Contains(o.Predicted, k), 1)
		}
	case classify.Multiclass:
		c.Classes.Add(o.Labels[0], o.Predicted[0], 1)
	default:
		c.Two.Add(len(o.Labels) > 0, len(o.Predicted) > 0, 1)
	}
}

// Figures are values of the predictions as they were answered, on the rows whose labels have come.
// A value is nil where it is undefined.
type Figures struct {
	// Rows is the number of labelled rows, and Value the model's measure of all of them.
	Rows  int64
	Value *float64
	// WindowRows is the number of the latest of them, of which the others are: the measure, the
	// share of rows without a mistake and, for two classes, the area under the ROC curve and, if
	// the model is calibrated, the log loss and the Brier score.
	WindowRows                              int
	WindowValue, Exact, AUC, LogLoss, Brier *float64
}

// Figures returns the figures. O(Window·log Window).
func (s *Service) Figures() (Figures, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.model.ParsedMeasure()
	if err != nil {
		return Figures{}, err
	}
	f := Figures{Rows: int64(s.total.Weight), WindowRows: len(s.window.ring)}
	if f.Rows == 0 {
		return f, nil
	}
	f.Value = finite(s.total.Value(m))
	c, err := newConfusion(s.model)
	if err != nil {
		return f, err
	}
	var byScore, byProbability []scored.Example
	latest := s.window.list() // in their order, so that sums have the same bits after a restart
	for i := range latest {
		o := &latest[i]
		addOutcome(&c, s.model.Task, o)
		if s.model.Task != classify.Binary {
			continue
		}
		x := scored.Example{Score: o.Scores[0], Weight: 1, Positive: len(o.Labels) > 0}
		byScore = append(byScore, x)
		if len(o.Probabilities) > 0 {
			x.Score = o.Probabilities[0]
			byProbability = append(byProbability, x)
		}
	}
	f.WindowValue, f.Exact = finite(c.Value(m)), finite(c.Exact/c.Weight)
	if byScore != nil {
		f.AUC = finite(scored.AUC(byScore).Value)
	}
	if byProbability != nil {
		f.LogLoss, f.Brier = finite(scored.LogLoss(byProbability).Value), finite(scored.Brier(byProbability).Value)
	}
	return f, nil
}

// finite returns a pointer to v, nil if it is not finite.
func finite(v float64) *float64 {
	if v-v != 0 {
		return nil
	}
	return &v
}

// Counts returns the numbers so far, and how many predictions wait for a label.
func (s *Service) Counts() (c Counts, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts, s.waiting.open
}
