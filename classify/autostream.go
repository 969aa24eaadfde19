package classify

import (
	"errors"
	"math"

	"golang.org/x/sync/errgroup"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/forget"
)

// [Auto] on a stream compares learners in the one pass that there is, by progressive validation
// (Blum, Kalai and Langford, "Beating the hold-out", COLT 1999): every learner predicts each row
// before it learns from it. The candidates are the usual algorithm of the measure with the
// threshold 0 and with the threshold that was best for its predictions, and logistic regression by
// coin betting, which has no step size, with its best threshold. The first is left for the better
// of the others if that is more than one standard error ahead.

// streamAuto is one run of it. The learners learn from the same blocks in parallel.
type streamAuto struct {
	learners []*comparedLearner // the usual one first
	rows     []Example          // of the running block, not yet learned from
}

// comparedLearner is a learner with the predictions that it made before it learned.
type comparedLearner struct {
	fit     *resolved
	learner Learner
	observe func(Example) error
	name    string
	scores  *scoreWindow // those before it learned
	failed  error
}

// compares reports whether [Auto] compares learners on a stream: not with options of a learner.
func (o Options) compares() bool {
	return o.Algorithm == Auto && o.plain() && o.Drift.Kind == forget.None && !o.Unscaled
}

// newStreamAuto returns the candidates for options that a stream allows.
func newStreamAuto(opt Options) (*streamAuto, error) {
	a := &streamAuto{}
	add := func(o Options, name string) error {
		r, l, err := streamLearner(o)
		if err != nil {
			return err
		}
		c := &comparedLearner{
			fit: r, learner: l, observe: observeOf(l), name: r.alg.Name + name, scores: newScoreWindow(),
		}
		a.learners = append(a.learners, c)
		return nil
	}
	logistic := opt
	logistic.Algorithm, logistic.Config.Steps = "sgd-logistic", StepsBetting
	return a, errors.Join(add(opt, ""), add(logistic, " --rate auto"))
}

// learn lets all learners predict the rows held back and learn from them. The rows are gone then.
func (a *streamAuto) learn() error {
	var group errgroup.Group
	for _, c := range a.learners {
		group.Go(func() error { return c.learn(a.rows) })
	}
	err := group.Wait()
	a.rows = a.rows[:0]
	return errors.Join(err, a.diverged())
}

// diverged returns an error if no learner is left.
func (a *streamAuto) diverged() error {
	for _, c := range a.learners {
		if c.failed == nil {
			return nil
		}
	}
	return a.learners[0].failed
}

// learn predicts rows and learns from them. A learner that diverges drops out.
func (c *comparedLearner) learn(rows []Example) error {
	for _, x := range rows {
		if c.failed != nil {
			return nil
		}
		c.scores.predict(c.learner, x)
		if err := c.observe(x); noregret.CodeOf(err) == noregret.Diverged {
			c.failed = err
		} else if err != nil {
			return err
		}
	}
	return nil
}

// streamChoice is a model of [streamAuto].
type streamChoice struct {
	*comparedLearner
	threshold float64
	tuned     bool
	entries   []HistoryEntry
	chosen    int
}

// choose returns the choice by the rows so far, of the learners that have not failed.
func (a *streamAuto) choose() streamChoice {
	usual := a.learners[0]
	m := usual.fit.two
	out := streamChoice{comparedLearner: usual}
	best, bound := math.Inf(-1), math.Inf(-1)
	consider := func(c *comparedLearner, tuned bool, threshold, value float64) {
		name := c.name + ", threshold 0"
		if tuned {
			name = c.name + ", threshold tuned"
		}
		out.entries = append(out.entries, HistoryEntry{
			Candidate: name, Examples: c.scores.seen, Progressive: &value, Threshold: threshold,
			StepScale: c.fit.learner.StepScale,
		})
		if c.failed == nil && (out.failed != nil || value > max(best, bound)) {
			best, out.comparedLearner, out.threshold, out.tuned = value, c, threshold, tuned
			out.chosen = len(out.entries) - 1
		}
	}
	for i, c := range a.learners {
		counts, examples, rarer := c.scores.window()
		if i == 0 {
			value := m.Value(counts)
			consider(c, false, 0, value)
			if v := min(max(value, 0), 1); value == value && c.failed == nil {
				bound = value + math.Sqrt(max(v*(1-v), 0.01)/max(1, float64(rarer)))
			}
		}
		threshold, value := 0.0, math.NaN()
		if rarer >= leastRowsOfLabel {
			threshold, value = tuneSorted(examples, m)
		}
		consider(c, true, threshold, value)
	}
	return out
}

// finish ends the stream of all learners.
func (a *streamAuto) finish() error {
	if err := a.learn(); err != nil {
		return err
	}
	for _, c := range a.learners {
		if c.failed != nil {
			continue
		}
		if err := c.learner.Finish(); noregret.CodeOf(err) == noregret.Diverged {
			c.failed = err
		} else if err != nil {
			return err
		}
	}
	return a.diverged()
}
