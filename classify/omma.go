package classify

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/portable"
)

// runOMMA trains a logistic regression and finds its threshold as the algorithm OMMA does
// (Kotłowski, Wydmuch, Schultheis, Babbar and Dembczyński, "A General Online Algorithm for
// Optimizing Complex Performance Metrics", ICML 2024): in one pass over the rows in random order,
// each is predicted so that the measure, linearised at the confusion of the predictions so far, is
// largest in expectation. It works for every measure that can be differentiated. The regret is
// O(ln n / n) for concave ones; for others, such as Matthews' correlation, no bound is known.
func runOMMA(t *training) error {
	model, r, err := t.solve(t.logistic(1, 1), nil, logisticIterations)
	if err != nil {
		return err
	}
	online := newOnlineThreshold(t.opt.two)
	row := t.train.examples(func(x Example) error {
		online.observe(x.Positive, model.Score(x.Index, x.Value), x.Weight)
		return nil
	})
	if err := t.train.shuffled(t.ctx, t.opt.Seed, 0, row); err != nil {
		return err
	}
	t.result.Passes++
	t.steps += t.classes.Rows()
	model.Intercept -= online.threshold
	_, err = t.proposeAll([]candidate{{
		model: model, entry: HistoryEntry{Candidate: fmt.Sprintf("iteration %d", r.iterations), Examples: t.steps},
		key: "optimum",
	}})
	return err
}

// onlineThreshold follows the threshold on log-odds that is best for a measure linearised at the
// confusion of its own decisions so far.
type onlineThreshold struct {
	measure   measure.Measure
	counts    measure.Confusion
	threshold float64
}

// newOnlineThreshold begins with half a row of each outcome, so that no measure is undefined.
func newOnlineThreshold(m measure.Measure) *onlineThreshold {
	return &onlineThreshold{measure: m, counts: measure.Confusion{TP: 0.5, FN: 0.5, FP: 0.5, TN: 0.5}}
}

// observe decides a row with the score z and counts the outcome.
func (o *onlineThreshold) observe(positive bool, z, weight float64) {
	o.threshold = linearThreshold(o.measure, o.counts, o.threshold)
	o.counts.Add(positive, z > o.threshold, weight)
}

// linearThreshold is the threshold on log-odds that is best for a measure linearised at c: with the
// gains a of a positive and b of a negative that is predicted rightly it is log(b/a). It is
// otherwise if the gains are not positive.
func linearThreshold(m measure.Measure, c measure.Confusion, otherwise float64) float64 {
	h := float64(1e-4 * (c.TP + c.FN + c.FP + c.TN))
	right, wrong := c, c
	right.TP, right.FN = c.TP+h, max(c.FN-h, 0)
	wrong.TP, wrong.FN = max(c.TP-h, 0), c.FN+h
	a := m.Value(right) - m.Value(wrong)
	right, wrong = c, c
	right.TN, right.FP = c.TN+h, max(c.FP-h, 0)
	wrong.TN, wrong.FP = max(c.TN-h, 0), c.FP+h
	b := m.Value(right) - m.Value(wrong)
	if !(a > 0) || !(b > 0) || math.IsInf(a+b, 0) {
		return otherwise
	}
	return portable.Log(b / a)
}
