package classify

import (
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
)

// Outcomes counts decisions on rows of two classes that had no part in them.
type Outcomes struct {
	// Rows is the number of rows and Counts are their weights.
	Rows   int64             `json:"rows"`
	Counts measure.Confusion `json:"counts"`
	// Positives and Negatives are the sums of the squared weights of the two classes.
	Positives float64 `json:"positives_square"`
	Negatives float64 `json:"negatives_square"`
}

// add counts rows of one class, of the given weight together, with the sum of their squares.
func (o *Outcomes) add(positive, predicted bool, rows int64, weight, square float64) {
	o.Rows += rows
	o.Counts.Add(positive, predicted, weight)
	if positive {
		o.Positives += square
	} else {
		o.Negatives += square
	}
}

// plus adds the counts of other rows.
func (o *Outcomes) plus(x Outcomes) {
	o.Rows += x.Rows
	o.Counts = sum(o.Counts, x.Counts)
	o.Positives, o.Negatives = o.Positives+x.Positives, o.Negatives+x.Negatives
}

// weighNegatives multiplies the weights of the negatives, as for the ratio of another population.
func (o *Outcomes) weighNegatives(by float64) {
	o.Counts.TN, o.Counts.FP, o.Negatives = o.Counts.TN*by, o.Counts.FP*by, float64(o.Negatives*by*by)
}

// figures are the values of all measures with intervals as those of [Intervals], but for weights
// that may differ between the classes; nil without rows of both.
func (o *Outcomes) figures(trained measure.Objective, source string, models int) *ModelFigures {
	if !(o.Positives > 0 && o.Negatives > 0) {
		return nil
	}
	c := &Confusion{Two: o.Counts}
	// A draw is of as many rows as count, and then weighs what these weigh.
	positive, negative := o.Counts.Positives()/o.Positives, o.Counts.Negatives()/o.Negatives
	measures := figureMeasures(Binary, trained)
	intervals := drawnIntervals(c, measures, figureConfidence, func(r *random.Source) *Confusion {
		cell := func(count, scale float64) float64 { return stat.Gamma(r, float64(count*scale)+0.5) / scale }
		return &Confusion{Two: measure.Confusion{
			TP: cell(o.Counts.TP, positive), FN: cell(o.Counts.FN, positive),
			TN: cell(o.Counts.TN, negative), FP: cell(o.Counts.FP, negative),
		}}
	})
	out := &ModelFigures{Source: source, Rows: o.Rows, Folds: models, Values: []Figure{}}
	for i, m := range measures {
		v, between := c.Value(m), intervals[i]
		if v-v != 0 || between[0]-between[0] != 0 {
			continue
		}
		out.Values = append(out.Values, Figure{Measure: m.Name(), Value: v, Low: between[0], High: between[1]})
	}
	return out
}

// figureConfidence is that of the draws of rows alone. The models and thresholds that decided are
// not those of the model, which takes more.
const figureConfidence = 0.97
