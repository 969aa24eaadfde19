package classify

import (
	"context"
	"math"
	"slices"

	"github.com/noregret/noregret/internal/compensated"
	"github.com/noregret/noregret/internal/portable"
)

// classOdds gives the logarithm of the odds that softmax has of each class of a row,
//
//	z_k - ln Σ_{j≠k} e^{z_j},
//
// from the score z_k of the class. Where classes are trained jointly a score alone says little, as
// those of the others may be higher or lower.
type classOdds struct {
	best   int     // the class with the largest score
	top    float64 // its score
	ofBest float64 // its odds
	others float64 // Σ_{j≠best} e^{z_j - top}
}

// newClassOdds returns the odds of a row of two or more finite scores.
func newClassOdds(z []float64) classOdds {
	best := argmax(z)
	o := classOdds{best: best, top: z[best]}
	second, relative := z[rival(z, best)], 0.0
	for j, v := range z {
		if j != best {
			o.others += portable.Exp(v - o.top)
			relative += portable.Exp(v - second)
		}
	}
	o.ofBest = min((o.top-second)-portable.Log(relative), math.MaxFloat64)
	return o
}

// of returns the logarithm of the odds of class k with the score z.
func (o *classOdds) of(k int, z float64) float64 {
	if k == o.best {
		return o.ofBest
	}
	d := z - o.top
	return max(d-portable.Log(1+max(0, o.others-portable.Exp(d))), -math.MaxFloat64)
}

// leastProbability is what a smaller one counts as in a log loss, as in [scored.LogLoss].
const leastProbability = 1.0 / (1 << 52)

// calibrateClasses fits a calibration of each class against the others, once to the scores and once
// to their odds, and returns those with the smaller log loss, nil if neither can be had. scores
// returns those of one class for all rows, in the order of odds, and lets them be changed. O(n)
// memory beside them.
func calibrateClasses(rule CalibrationRule, source string, classes int, odds []classOdds,
	scores func(k int) ([]Scored, error),
) ([]Calibration, error) {
	if rule == CalibrationNone || len(odds) == 0 {
		return nil, nil
	}
	var fits [2][]Calibration
	var failed [2]bool
	var sum, own [2][]float64 // of each row: of all probabilities, and that of its class
	for by := range fits {
		sum[by], own[by] = make([]float64, len(odds)), make([]float64, len(odds))
	}
	var weights []float64
	for k := range classes {
		examples, err := scores(k)
		if err != nil {
			return nil, err
		}
		for by := range fits {
			if by == 1 {
				for i := range examples {
					examples[i].Score = odds[i].of(k, examples[i].Score)
				}
			}
			c, ok := newCalibration(slices.Clone(examples), rule, source)
			c.Odds = by == 1
			fits[by], failed[by] = append(fits[by], c), failed[by] || !ok
			for i, e := range examples {
				p := c.Map.Of(e.Score)
				sum[by][i] += p
				if e.Positive {
					own[by][i] = p
				}
			}
		}
		weights = weights[:0]
		for _, e := range examples {
			weights = append(weights, e.Weight)
		}
	}
	best, least := -1, math.Inf(1)
	for by := range fits {
		var loss compensated.Sum
		for i, w := range weights {
			p := leastProbability
			if own[by][i] > 0 {
				p = max(p, own[by][i]/sum[by][i])
			}
			loss.Add(float64(-w * portable.Log(p)))
		}
		if v := loss.Value(); !failed[by] && (v < least || best < 0) {
			best, least = by, v
		}
	}
	if best < 0 {
		return nil, nil
	}
	return fits[best], nil
}

// calibrateHeldOut is calibrateClasses on the rows of d. It reads them once for the odds and once
// for each class.
func calibrateHeldOut(ctx context.Context, d Data, models []Linear, rule CalibrationRule, source string) (
	[]Calibration, error,
) {
	raw := Classifier{Task: Multiclass, Models: models}
	var odds []classOdds
	var z []float64
	err := d.read(ctx, d.labelled(func(x LabelsExample) error {
		z = raw.RawScores(z[:0], x.Index, x.Value)
		odds = append(odds, newClassOdds(z))
		return nil
	}))
	if err != nil {
		return nil, err
	}
	var buf [][]Scored
	return calibrateClasses(rule, source, len(models), odds, func(k int) ([]Scored, error) {
		buf, err = d.against(k).scores(ctx, []*Linear{&models[k]}, buf)
		return buf[0], err
	})
}

// calibrated is calibrateClasses on cross-fitted scores.
func (c *classScores) calibrated(rule CalibrationRule, classes int) ([]Calibration, error) {
	odds := make([]classOdds, len(c.scores))
	for i, z := range c.scores {
		odds[i] = newClassOdds(z)
	}
	examples := make([]Scored, len(c.scores))
	return calibrateClasses(rule, sourceCrossFitted, classes, odds, func(k int) ([]Scored, error) {
		for i, z := range c.scores {
			examples[i] = Scored{Score: z[k], Weight: c.weight[i], Positive: c.truth[i] == k}
		}
		return examples, nil
	})
}
