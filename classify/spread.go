package classify

import (
	"context"
	"math"

	"github.com/noregret/noregret/internal/compensated"
	"github.com/noregret/noregret/internal/random"
)

// spread says where the scores of a model on the rows that it was trained on lie: their mean, and
// their mean distance from it, by weight. A few rows far from the others move it little.
//
// The scores by which thresholds and probabilities are found are of other models than the one that
// predicts, each trained on fewer rows. Where rows are not many for the columns, their scale is not
// the same: a logistic regression of fewer rows separates them better and has larger weights. Rows
// that a model has not seen cannot tell the scale of the last model, which has seen all. How far
// apart the scores of seen rows lie can: that is too far, but in all models by nearly the same
// factor.
type spread struct{ mean, deviation float64 }

// spreadOf is the spread of scores.
func spreadOf(scores []Scored) spread {
	var weight, sum, distance compensated.Sum
	for _, x := range scores {
		weight.Add(x.Weight)
		sum.Add(float64(x.Weight * x.Score))
	}
	s := spread{mean: sum.Value() / weight.Value()}
	for _, x := range scores {
		distance.Add(float64(x.Weight * math.Abs(x.Score-s.mean)))
	}
	s.deviation = distance.Value() / weight.Value()
	return s
}

// mostSpreadRows are the rows that tell the spread of a model's scores: 24 MiB of these.
const mostSpreadRows = 1 << 20

// spread is that of the scores of a model of transformed features on the rows, or on some that are
// drawn where there are more than most. One pass.
func (d Data) spread(ctx context.Context, t *Transform, model *Linear, seed uint64, most int64) (spread, error) {
	left := d.Set.Info().Rows
	want := min(left, most)
	seen, rng := make([]Scored, 0, want), random.New(seed, "spread")
	score := t.reading(d.examples(func(x Example) error {
		seen = append(seen, Scored{Score: model.Score(x.Index, x.Value), Weight: x.Weight})
		return nil
	}))
	err := d.read(ctx, func(index []uint32, value []float32, class uint16, weight float64) error {
		take := rng.Int64N(left) < want
		left--
		if !take {
			return nil
		}
		want--
		return score(index, value, class, weight)
	})
	return spreadOf(seen), err
}

// meanSpread is the mean of spreads.
func meanSpread(list []spread) (out spread) {
	part := 1 / float64(len(list))
	for _, s := range list {
		out.mean += float64(part * s.mean)
		out.deviation += float64(part * s.deviation)
	}
	return out
}

// alikeSpreads is the ratio of spreads up to which they are taken for the same: most differ by a
// few percent, which may be chance.
const alikeSpreads = 1.1

// onto moves the scores of models with the spread s to where those of a model with the spread t
// would be. They stay where the two are alike or one is of no use.
func (s spread) onto(t spread, scores []Scored) {
	by := t.deviation / s.deviation
	if !(by > 0) || math.IsInf(by, 0) || s.mean-s.mean != 0 || t.mean-t.mean != 0 ||
		by < alikeSpreads && by > 1/alikeSpreads {
		return
	}
	for i := range scores {
		scores[i].Score = t.mean + float64(by*(scores[i].Score-s.mean))
	}
}
