package classify

import (
	"errors"
	"math"

	"golang.org/x/sync/errgroup"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/forget"
)

// [Auto] on a stream compares learners in the one pass that there is, by progressive validation
// (Blum, Kalai and Langford, "Beating the hold-out", COLT 1999): every learner predicts each row
// before it learns from it. The candidates are the usual algorithm of the measure with the
// threshold 0 and with a tuned one, and logistic regression by coin betting, which has no step
// size, with a tuned one. A threshold is tuned on the predictions so far, again and again, so that
// it, too, has not seen the rows that it decides. The first candidate that is within one standard
// error of the best is taken. That choice is made again and again as well: what the candidate
// chosen so far predicts of the next rows are the figures.

// streamAuto is one run of it. The learners learn from the same rows in parallel.
type streamAuto struct {
	learners []*comparedLearner // the usual one first
	rows     []Example          // of the running block, not yet learned from

	// learned is the number of rows so far, and tuning that at which the candidates are chosen
	// among next; chosen is the one of now.
	learned, tuning int64
	chosen          int
	seen            int64 // rows that were predicted
	// recent and older count the predictions of the latter half of the rows, as those of
	// [scoreWindow] do.
	recent, older *streamDecisions
}

// comparedLearner is a learner with the predictions that it made before it learned.
type comparedLearner struct {
	fit       *resolved
	learner   Learner
	observe   func(Example) error
	name      string
	scores    *scoreWindow // those before it learned
	threshold float64      // tuned on rows so far
	decided   []streamBits // of the last rows
	failed    error
}

// streamBits are the decisions on a row: whether there was a score, and whether it was above 0 and
// above the tuned threshold.
type streamBits struct{ scored, zero, tuned bool }

// streamCandidate is a learner with one of its thresholds.
type streamCandidate struct {
	learner int
	tuned   bool
}

// streamCandidates are the candidates, the simplest first.
var streamCandidates = [...]streamCandidate{{0, false}, {0, true}, {1, true}}

// streamDecisions counts decisions on rows, by label, negatives first, and by what all candidates
// have decided: bit i is set if candidate i called a row positive.
type streamDecisions struct {
	joint [2][1 << len(streamCandidates)]struct {
		rows           int64
		weight, square float64
	}
	chosen Outcomes // of the candidate that was chosen on the rows before
}

// streamTunings says how many rows go by until the candidates are chosen among again: an eighth of
// those so far.
const (
	firstStreamTuning = 64
	streamTunings     = 8
)

// leastDecided is the number of rows from which on the decisions on the early ones are forgotten:
// those of models of few rows.
const leastDecided = 128

// compares reports whether [Auto] compares learners on a stream: not with options of a learner.
func (o Options) compares() bool {
	return o.Algorithm == Auto && o.plain() && o.Drift.Kind == forget.None && !o.Unscaled
}

// newStreamAuto returns the candidates for options that a stream allows.
func newStreamAuto(opt Options) (*streamAuto, error) {
	a := &streamAuto{tuning: firstStreamTuning, recent: new(streamDecisions), older: new(streamDecisions)}
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
	defer func() { a.rows = a.rows[:0] }()
	for rows := a.rows; len(rows) > 0; {
		n := min(int64(len(rows)), a.tuning-a.learned)
		var group errgroup.Group
		for _, c := range a.learners {
			group.Go(func() error { return c.learn(rows[:n]) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
		if err := a.diverged(); err != nil {
			return err
		}
		if a.learners[streamCandidates[a.chosen].learner].failed != nil {
			a.tune() // another decides from here on
		}
		a.count(rows[:n])
		rows, a.learned = rows[n:], a.learned+n
		if a.learned == a.tuning {
			a.tuning += a.tuning / streamTunings
			a.tune()
		}
	}
	return nil
}

// count counts the decisions on rows.
func (a *streamAuto) count(rows []Example) {
	for i, x := range rows {
		pattern, scored := 0, false
		for k, c := range streamCandidates {
			l := a.learners[c.learner]
			if i >= len(l.decided) {
				continue // it has diverged
			}
			bits := l.decided[i]
			scored = scored || bits.scored
			if c.tuned && bits.tuned || !c.tuned && bits.zero {
				pattern |= 1 << k
			}
		}
		if !scored {
			continue
		}
		if n := a.seen; n >= leastDecided && n&(n-1) == 0 {
			a.recent, a.older = a.older, a.recent
			*a.recent = streamDecisions{}
		}
		a.seen++
		label := 0
		if x.Positive {
			label = 1
		}
		square := float64(x.Weight * x.Weight)
		c := &a.recent.joint[label][pattern]
		c.rows, c.weight, c.square = c.rows+1, c.weight+x.Weight, c.square+square
		a.recent.chosen.add(x.Positive, pattern>>a.chosen&1 == 1, 1, x.Weight, square)
	}
}

// tune tunes the thresholds on the rows so far and chooses a candidate for those to come.
func (a *streamAuto) tune() {
	c := a.choose()
	a.chosen = c.chosen
	for k, x := range streamCandidates {
		if x.tuned {
			a.learners[x.learner].threshold = c.thresholds[k]
		}
	}
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
	c.decided = c.decided[:0]
	for _, x := range rows {
		if c.failed != nil {
			return nil
		}
		z, ok := c.scores.predict(c.learner, x)
		c.decided = append(c.decided, streamBits{ok, ok && z > 0, ok && z > c.threshold})
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
	chosen     int                            // among the candidates
	thresholds [len(streamCandidates)]float64 // of all
	entries    []HistoryEntry
	tried      []TriedRecipe
}

// choose returns the choice by the rows so far, of the learners that have not failed.
func (a *streamAuto) choose() streamChoice {
	var out streamChoice
	m := a.learners[0].fit.two
	values, top := [len(streamCandidates)]float64{}, -1
	for k, c := range streamCandidates {
		l := a.learners[c.learner]
		values[k] = m.Value(a.confusion(k))
		if c.tuned {
			_, examples, rarer := l.scores.window()
			if rarer < leastRowsOfLabel {
				values[k] = math.NaN()
			} else {
				out.thresholds[k], _ = tuneSorted(examples, m)
			}
		}
		if l.failed != nil {
			values[k] = math.NaN() // of the rows since then it predicts none
		}
		if v := values[k]; l.failed == nil && (top < 0 || v > values[top] || v == v && values[top] != values[top]) {
			top = k
		}
	}
	for k, c := range streamCandidates {
		l := a.learners[c.learner]
		behind, se := values[top]-values[k], a.errorOfDifference(m, top, k)
		if out.comparedLearner == nil && l.failed == nil && (k == top || behind <= se) {
			out.comparedLearner, out.chosen = l, k
		}
		name := "zero"
		if c.tuned {
			name = "tuned"
		}
		v := values[k]
		out.tried = append(out.tried, TriedRecipe{
			Features: features{}.String(), Scale: scaleStandard, Algorithm: l.name, Threshold: name,
			Rows: a.rowsCounted(), Value: finite(&v), Behind: finite(&behind), StandardError: finite(&se),
		})
		if !c.tuned {
			name = "0"
		}
		out.entries = append(out.entries, HistoryEntry{
			Candidate: l.name + ", threshold " + name, Examples: a.learned, Progressive: finite(&v),
			Threshold: out.thresholds[k], StepScale: l.fit.learner.StepScale,
		})
	}
	return out
}

// each calls f with the counts of each label and pattern of decisions.
func (a *streamAuto) each(f func(label, pattern int, rows int64, weight, square float64)) {
	for label := range 2 {
		for pattern := range a.recent.joint[label] {
			x, y := &a.recent.joint[label][pattern], &a.older.joint[label][pattern]
			if rows := x.rows + y.rows; rows > 0 {
				f(label, pattern, rows, x.weight+y.weight, x.square+y.square)
			}
		}
	}
}

// rowsCounted is the number of rows by which candidates are chosen.
func (a *streamAuto) rowsCounted() (n int64) {
	a.each(func(_, _ int, rows int64, _, _ float64) { n += rows })
	return n
}

// confusion is that of a candidate.
func (a *streamAuto) confusion(candidate int) (c measure.Confusion) {
	a.each(func(label, pattern int, _ int64, weight, _ float64) {
		c.Add(label == 1, pattern>>candidate&1 == 1, weight)
	})
	return c
}

// errorOfDifference is the standard error of the difference of a measure of the decisions of two
// candidates on the same rows; see [autoFit.errorOfDifference].
func (a *streamAuto) errorOfDifference(m measure.Measure, i, j int) float64 {
	of := func(candidate int) [2][2]float64 { // by label and decision
		c := a.confusion(candidate)
		s := slopes(func(x []float64) float64 {
			return m.Value(measure.Confusion{TN: x[0], FP: x[1], FN: x[2], TP: x[3]})
		}, []float64{c.TN, c.FP, c.FN, c.TP})
		return [2][2]float64{{s[0], s[1]}, {s[2], s[3]}}
	}
	x, y := of(i), of(j)
	var sum, squares, rows [2]float64
	a.each(func(label, pattern int, n int64, weight, square float64) {
		d := x[label][pattern>>i&1] - y[label][pattern>>j&1]
		sum[label] += float64(weight * d)
		squares[label] += float64(square * d * d)
		rows[label] += float64(n)
	})
	variance := 0.0
	for label := range 2 {
		if rows[label] > 0 {
			variance += max(0, squares[label]-float64(sum[label]*sum[label])/rows[label])
		}
	}
	return math.Sqrt(variance)
}

// figures are those of the candidates that were chosen on the rows before.
func (a *streamAuto) figures() *ModelFigures {
	all := a.recent.chosen
	all.plus(a.older.chosen)
	return all.figures(a.learners[0].fit.Measure, sourceProgressive, 1)
}

// search says how a model was chosen.
func (a *streamAuto) search(c *streamChoice) *ModelSearch {
	return &ModelSearch{
		Cost: SearchCost{
			Steps: a.learned * int64(len(a.learners)), TrainingSteps: a.learned,
			Trainings: float64(float64(len(a.learners)) * streamCost), Budget: mostTrainings, Own: streamCost,
		},
		Tried: c.tried, Chosen: c.chosen,
	}
}

// streamCost is what a learner that predicts each row before it learns from it costs, in trainings.
const streamCost = 1.3

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
