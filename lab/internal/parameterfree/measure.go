package parameterfree

import (
	"context"
	"errors"
	"io"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/portable"
)

// measurement says how a trainer is measured on a set.
type measurement struct{ seeds, passes int }

// row is a line of a table: one set, one value for each seed.
type row struct {
	set string
	// measures on the test part
	plain, tuned, auto []float64
	// mean losses on the training part, nil for trainers that minimize none
	plainLoss, bestLoss, autoLoss []float64
	steps                         [3]int64 // examples visited, in the order of the measures
}

// scales are the step scales of which the best in hindsight gives the smallest training loss.
var scales = []float64{0.1, 0.3, 1, 3, 10}

// measureOf is the measure on which a trainer is compared.
func measureOf(trainer string) measure.Measure {
	if trainer == "spade" {
		return measure.QMean{}
	}
	return measure.FBeta{B: 1}
}

// lossOf is the loss of a margin that a trainer minimizes, nil if it minimizes none.
func lossOf(trainer string) func(margin float64) float64 {
	switch trainer {
	case "sgd-logistic":
		return func(m float64) float64 {
			return max(-m, 0) + portable.Log1p(portable.Exp(-max(m, -m)))
		}
	case "sgd-hinge":
		return func(m float64) float64 { return max(0, 1-m) }
	}
	return nil
}

// measure trains with the default step size, with a search for it, and without one.
func (m measurement) measure(ctx context.Context, name, trainer string, data classify.Data) (row, error) {
	r := row{set: name}
	loss := lossOf(trainer)
	for seed := range m.seeds {
		rest, part, err := data.Set.Split(uint64(seed), "test", 0.3, true)
		if err != nil {
			return r, err
		}
		train := classify.Data{Set: rest, Positive: data.Positive}
		test := classify.Data{Set: part, Positive: data.Positive}
		o := classify.Options{Algorithm: trainer, Measure: measureOf(trainer), Seed: uint64(seed)}
		if m.passes > 0 {
			o.Passes = &m.passes
		}
		search, free := o, o
		search.TuneSteps = true
		free.Config.Steps = classify.StepsBetting
		for k, c := range []struct {
			o      classify.Options
			values *[]float64
			losses *[]float64
		}{{o, &r.plain, &r.plainLoss}, {search, &r.tuned, nil}, {free, &r.auto, &r.autoLoss}} {
			f, err := classify.Fit(ctx, train, c.o)
			if err != nil {
				return r, err
			}
			counts, err := classify.Evaluate(ctx, test, f.Classifier())
			if err != nil {
				return r, err
			}
			*c.values = append(*c.values, counts.Value(o.Measure))
			r.steps[k] += f.Steps
			if loss != nil && c.losses != nil {
				v, err := meanLoss(train, &f.Models[0], loss)
				if err != nil {
					return r, err
				}
				*c.losses = append(*c.losses, v)
			}
		}
		if loss == nil {
			continue
		}
		best, err := bestInHindsight(ctx, train, o, loss, r.plainLoss[seed])
		if err != nil {
			return r, err
		}
		r.bestLoss = append(r.bestLoss, best)
	}
	return r, nil
}

// bestInHindsight is the smallest training loss of all step scales; plain is that of scale 1.
func bestInHindsight(ctx context.Context, train classify.Data, o classify.Options, loss func(float64) float64,
	plain float64,
) (float64, error) {
	best := plain
	for _, s := range scales {
		if s == 1 {
			continue
		}
		o.Config.StepScale = s
		f, err := classify.Fit(ctx, train, o)
		if err != nil {
			return 0, err
		}
		v, err := meanLoss(train, &f.Models[0], loss)
		if err != nil {
			return 0, err
		}
		best = min(best, v)
	}
	return best, nil
}

// meanLoss is the mean loss of the margins of a model.
func meanLoss(d classify.Data, m *classify.Linear, loss func(float64) float64) (mean float64, err error) {
	r, err := d.Set.Read()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var b dataset.Block
	sum, n := 0.0, 0.0
	for {
		err := r.Next(&b)
		if errors.Is(err, io.EOF) {
			return sum / n, nil
		}
		if err != nil {
			return 0, err
		}
		for i := range b.Len() {
			index, value := b.Row(i)
			z := m.Score(index, value) - m.Threshold
			if int(b.Class[i]) != d.Positive {
				z = -z
			}
			sum += loss(z)
			n++
		}
	}
}
