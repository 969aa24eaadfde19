package classify

import (
	"fmt"

	"github.com/noregret/noregret/oco"
)

// outputs is the common part of the learners of several linear models: validation, burn-in, scales
// and one descent per output (a class or a label), all on the same features. The fields of front
// that belong to a single linear are not used.
type outputs struct {
	front *online // validation, moments, the frozen scales, t and the failure
	lins  []*oco.LinearDescent
	d     []oco.RowProducts // scratch: one row's inner products with each linear
	z     []float64         // scratch: its scores
}

func newOutputs(cfg Config, n int) (*outputs, error) {
	if cfg.Steps == StepsAdaptive {
		return nil, usage("adaptive steps are for learners of one model: want StepsSqrt")
	}
	if cfg.Window > 0 {
		return nil, usage("a window is for learners of one model: it is %d, want 0", cfg.Window)
	}
	o := &outputs{front: newOnline(cfg, nil), d: make([]oco.RowProducts, n), z: make([]float64, n)}
	for range n {
		o.lins = append(o.lins, newDescent(&cfg))
	}
	o.front.lin = o.lins[0]
	return o, nil
}

// replay runs f with the moments set aside, because they already include the examples that f learns
// from.
func (o *outputs) replay(f func() error) error {
	kept := o.front.moments
	o.front.moments = nil
	defer func() { o.front.moments = kept }()
	return f()
}

// followFeatures grows the models to the row's features and follows the scales of the sparse ones,
// as online.follow does.
func (o *outputs) followFeatures(index []uint32, value []float32, weight float64) {
	if n := len(index); n > 0 && int(index[n-1]) >= o.lins[0].Dim() {
		for _, l := range o.lins {
			l.Grow(int(index[n-1]) + 1)
		}
	}
	m := o.front.moments
	if m == nil {
		return
	}
	m.follow(index, value, weight, o.lins[0].Centred, func(i uint32, inverse float64) {
		for _, l := range o.lins {
			l.Rescale(i, inverse)
		}
	})
}

// dots fills d and z for the row. It returns an error once the learner has diverged.
func (o *outputs) dots(index []uint32, value []float32) error {
	for k, l := range o.lins {
		o.d[k] = l.Products(index, value)
		o.z[k] = l.Score(o.d[k])
		if l.Diverged(o.z[k]) {
			return o.front.diverged(fmt.Sprintf("step %d, output %d", o.front.t, k), o.z[k])
		}
	}
	return nil
}

// accumulate adds the current iterates to the averages.
func (o *outputs) accumulate() {
	for _, l := range o.lins {
		accumulate(l, &o.front.cfg)
	}
}

// ascend moves output k by η·factor·x̂ after the decay of the regularisation, or by the bets in
// that direction. The dots must be those of the row.
func (o *outputs) ascend(k int, index []uint32, value []float32, eta, factor float64) {
	l := o.lins[k]
	if o.front.cfg.Steps == StepsBetting {
		if factor != 0 {
			l.BettingStep(index, value, factor, bettingWealth)
		}
		return
	}
	if lambda := o.front.cfg.Lambda; lambda > 0 {
		l.Decay(1-float64(eta*lambda), &o.d[k])
	}
	if c := float64(eta * factor); c != 0 {
		l.Step(index, value, o.d[k], c)
	}
}

// nextPass ends a pass.
func (o *outputs) nextPass() {
	for _, l := range o.lins {
		l.Refresh()
		if o.front.cfg.Averaging == AverageLastPass {
			l.ResetAverage()
		}
	}
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
