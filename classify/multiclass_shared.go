package classify

import (
	"fmt"

	"github.com/noregret/noregret/oco"
)

// outputs is the common part of the learners of several linear models, one for each class or label.
type outputs struct {
	*online
	d []oco.RowProducts // scratch: one row's inner products with each output
	z []float64         // scratch: its scores
}

func newOutputs(cfg Config, algo stepper, checker labelChecker) (*outputs, error) {
	if cfg.Steps == StepsAdaptive {
		return nil, usage("adaptive steps are for learners of one model: want StepsSqrt")
	}
	if cfg.Window > 0 {
		return nil, usage("a window is for learners of one model: it is %d, want 0", cfg.Window)
	}
	n := len(checker.marks)
	return &outputs{
		online: newOnline(cfg, algo, checker), d: make([]oco.RowProducts, n), z: make([]float64, n),
	}, nil
}

// Observe learns from one example. A bad one (a label out of range or repeated, not one class, an
// index out of range or repeated, a value or weight that is not finite, a negative weight) is
// refused with an error of code bad_input and leaves the learner as it was. An error of code
// diverged ends the learner's use. The slices are not kept.
func (o *outputs) Observe(x LabelsExample) error { return o.observe(x) }

// dots fills d and z for the row. It returns an error once the learner has diverged.
func (o *outputs) dots(index []uint32, value []float32) error {
	for k, l := range o.lins {
		o.d[k] = l.Products(index, value)
		o.z[k] = l.Score(o.d[k])
		if l.Diverged(o.z[k]) {
			return o.diverged(fmt.Sprintf("step %d, output %d", o.t, k), o.z[k])
		}
	}
	return nil
}

// ascendOutput is ascend for output k. The dots must be those of the row.
func (o *outputs) ascendOutput(k int, x LabelsExample, eta, factor float64) {
	o.ascend(o.lins[k], x.Index, x.Value, &o.d[k], eta, factor)
}

// scores appends the scores of the row under the averaged models.
func (o *outputs) scores(dst []float64, index []uint32, value []float32) []float64 {
	for _, l := range o.lins {
		dst = append(dst, l.AverageScore(index, value))
	}
	return dst
}

// models returns the averaged models on raw features.
func (o *outputs) models() []Linear {
	out := make([]Linear, len(o.lins))
	for k, l := range o.lins {
		out[k] = averaged(l)
	}
	return out
}

// following names the example after the first rows, for errors.
func following(rows float64) string { return fmt.Sprintf("example %d", int64(rows)+1) }
