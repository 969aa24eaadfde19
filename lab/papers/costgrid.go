package papers

import (
	"context"
	"math"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
)

// printedF1 is F₁ with the level and the weights of the paper's algorithm 3 as printed: line 18, v
// = 2P/(2 + P - N) (its sums read as averages), and line 7, weights 1 - v/2 and v/2 for rewards
// divided by p and 1 - p. They are correct only for classes of equal size; the table shows their
// effect on other data. P and N are the rates in the stage, not sums divided by p and 1 - p of all
// rows, which is steadier.
type printedF1 struct{ measure.FBeta }

// Name implements [measure.Measure].
func (printedF1) Name() string { return "f1 as printed" }

// Coefficients implements [measure.Ratio].
func (printedF1) Coefficients(theta float64) measure.Coefficients {
	return measure.Coefficients{A: [3]float64{0, 2, 0}, B: [3]float64{2, 1, -1}, Theta: theta}
}

// The number of passes of each hinge model of the cost grid, and the largest number of its runs,
// which take as long as all other rows together. The reference values have neither seeds nor
// spread.
const (
	costGridPasses = 10
	costGridRuns   = 3
)

// costGrid is the cost-sensitive search of Parambath, Usunier and Grandvalet (2014): a model for
// each of the 19 levels v = 0.05, ..., 0.95 of F₁, with weights 2 - v on the positives and v on the
// negatives.
func (t *tale) costGrid(train func(positive, negative float64) (classify.Linear, error)) ([]classify.Linear, error) {
	var out []classify.Linear
	for i := 1; i <= 19; i++ {
		v := float64(i) / 20
		m, err := train(2-v, v)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// weightedLogistic is a logistic regression with class weights.
func (t *tale) weightedLogistic(ctx context.Context, positive, negative float64) (classify.Linear, error) {
	b, err := dataset.NewBuilder(10, "-1", "1")
	if err != nil {
		return classify.Linear{}, err
	}
	for _, x := range t.rows {
		class, weight := 0, negative
		if x.Positive {
			class, weight = 1, positive
		}
		if err := b.Add(x.Index, x.Value, class, weight); err != nil {
			return classify.Linear{}, err
		}
	}
	set, err := b.Set()
	if err != nil {
		return classify.Linear{}, err
	}
	r, err := classify.Fit(ctx, classify.Data{Set: set, Positive: 1},
		classify.Options{Algorithm: "logistic", Measure: f1, Unscaled: true})
	if err != nil {
		return classify.Linear{}, err
	}
	return r.Models[0], nil
}

// weightedHinge is a linear support vector machine by averaged stochastic gradient with class
// weights.
func (t *tale) weightedHinge(ctx context.Context, seed uint64, positive, negative float64) (classify.Linear, error) {
	l, err := classify.NewSGD(classify.SGDConfig{
		Config: t.config(nil), Weights: &classify.ClassWeights{Positive: positive, Negative: negative},
	})
	if err != nil {
		return classify.Linear{}, err
	}
	err = t.order(seed, costGridPasses, l.Observe, func(int) error {
		l.NextPass()
		return ctx.Err()
	})
	return l.Model(), err
}

// costGrids measures the three rows of the cost grid: by row, the test F₁ of each run.
func (t *tale) costGrids(ctx context.Context, runs int, step func()) (map[string][]float64, error) {
	out := map[string][]float64{}
	add := func(row string, models []classify.Linear, tuned bool) error {
		m, err := t.choose(ctx, f1, models, tuned)
		if err != nil {
			return err
		}
		v, err := t.value(ctx, m, f1)
		out[row] = append(out[row], v)
		return err
	}
	models, err := t.costGrid(func(positive, negative float64) (classify.Linear, error) {
		return t.weightedLogistic(ctx, positive, negative)
	})
	if err != nil {
		return nil, err
	}
	if err := add(gridLogistic, models, false); err != nil {
		return nil, err
	}
	step()
	for k := range min(runs, costGridRuns) {
		models, err := t.costGrid(func(positive, negative float64) (classify.Linear, error) {
			return t.weightedHinge(ctx, 200+uint64(k), positive, negative)
		})
		if err != nil {
			return nil, err
		}
		if err := add(gridHinge, models, false); err != nil {
			return nil, err
		}
		if err := add(gridTuned, models, true); err != nil {
			return nil, err
		}
		step()
	}
	return out, nil
}

// choose returns the model with the largest validation measure, at threshold 0 or at the best
// threshold of each model.
func (t *tale) choose(ctx context.Context, m measure.Measure, models []classify.Linear, tuned bool) (classify.Linear,
	error,
) {
	best, out := math.Inf(-1), classify.Linear{}
	for _, c := range models {
		var value float64
		var err error
		if tuned {
			c.Threshold, value, err = classify.Tune(ctx, t.valid, &c, m)
		} else {
			var counts *classify.Confusion
			if counts, err = classify.Evaluate(ctx, t.valid, c.Classifier()); err == nil {
				value = counts.Value(m)
			}
		}
		if err != nil {
			return out, err
		}
		if value > best || len(models) == 1 {
			best, out = value, c
		}
	}
	return out, nil
}
