package classify

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/classify/scored"
)

// Scored is one example under a classifier.
type Scored = scored.Example

// TuneThreshold finds the threshold τ for which predicting "positive iff score > τ" has the largest
// value of m on the given examples, and that value. The search is exact: the scores are sorted and
// equal ones are moved together. Candidates are the largest score (nothing is predicted positive),
// the midpoints between consecutive distinct scores, and one below the smallest (everything is); of
// equal values the highest threshold wins. Undefined values are skipped; if all are undefined, the
// value is NaN and the threshold is the largest score. It works for every measure and reorders
// examples. With no example or a score that is not finite the result is (0, NaN). O(n log n).
func TuneThreshold(examples []Scored, m measure.Measure) (threshold, value float64) {
	if len(examples) == 0 || slices.ContainsFunc(examples, func(e Scored) bool { return e.Score-e.Score != 0 }) {
		return 0, math.NaN()
	}
	sortScored(examples)
	return tuneSorted(examples, m)
}

// sortScored sorts by descending scores.
func sortScored(examples []Scored) {
	slices.SortStableFunc(examples, func(a, b Scored) int { return cmp.Compare(b.Score, a.Score) })
}

// tuneSorted is [TuneThreshold] of sorted examples with finite scores, of which there is at least
// one.
func tuneSorted(examples []Scored, m measure.Measure) (threshold, value float64) {
	var c measure.Confusion
	for _, e := range examples {
		c.Add(e.Positive, false, e.Weight)
	}
	threshold, value = examples[0].Score, m.Value(c)
	for i := 0; i < len(examples); {
		s := examples[i].Score
		for ; i < len(examples) && examples[i].Score == s; i++ {
			if e := examples[i]; e.Positive {
				c.TP += e.Weight
				c.FN -= e.Weight
			} else {
				c.FP += e.Weight
				c.TN -= e.Weight
			}
		}
		c.FN, c.TN = max(c.FN, 0), max(c.TN, 0) // sums of weights may not cancel exactly
		if v := m.Value(c); v > value || (math.IsNaN(value) && !math.IsNaN(v)) {
			value = v
			threshold = between(examples, i, s)
		}
	}
	return threshold, value
}

// between returns the candidate threshold below score s, whose group ends before index i.
func between(examples []Scored, i int, s float64) float64 {
	if i == len(examples) {
		return s - max(1, math.Abs(s)*1e-9)
	}
	next := examples[i].Score
	if mid := float64(next/2) + float64(s/2); mid >= next && mid < s {
		return mid
	}
	return next
}

// scores computes the scores of each of the models in one pass. It reuses the memory of buf.
func (d Data) scores(ctx context.Context, models []*Linear, buf [][]Scored) ([][]Scored, error) {
	for len(buf) < len(models) {
		buf = append(buf, nil)
	}
	for k := range buf {
		buf[k] = buf[k][:0]
	}
	err := d.read(ctx, d.examples(func(x Example) error {
		for k, m := range models {
			buf[k] = append(buf[k], Scored{Score: m.Score(x.Index, x.Value), Weight: x.Weight, Positive: x.Positive})
		}
		return nil
	}))
	return buf, err
}

// Tune tunes the threshold of a classifier for m on data, in one pass: see [TuneThreshold]. O(n)
// memory.
func Tune(ctx context.Context, d Data, model *Linear, m measure.Measure) (threshold, value float64, err error) {
	scores, err := d.scores(ctx, []*Linear{model}, nil)
	if err != nil {
		return 0, 0, err
	}
	threshold, value = TuneThreshold(scores[0], m)
	return threshold, value, nil
}
