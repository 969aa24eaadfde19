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
	seen    int64 // rows that it has predicted
	// recent counts the scores since seen was last a power of two, and older those from the power
	// before it on: together they are of at least the latter half of the rows.
	recent, older *scoreCounts
	failed        error
}

// leastRecent is the number of rows from which on the early ones are forgotten.
const leastRecent = 1024

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
			fit: r, learner: l, observe: observeOf(l), name: r.alg.Name + name,
			recent: newScoreCounts(), older: newScoreCounts(),
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
		if x.Weight > 0 && onlineOf(c.learner).ready {
			c.count(x)
		}
		if err := c.observe(x); noregret.CodeOf(err) == noregret.Diverged {
			c.failed = err
		} else if err != nil {
			return err
		}
	}
	return nil
}

// count counts the score of a row, unless it is NaN: the next step then fails.
func (c *comparedLearner) count(x Example) {
	if n := c.seen; n >= leastRecent && n&(n-1) == 0 {
		c.recent, c.older = c.older, c.recent
		c.recent.clear()
	}
	c.seen++
	if z := c.learner.Score(x.Index, x.Value); z == z {
		c.recent.add(z, x.Positive, x.Weight)
	}
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
			Candidate: name, Examples: c.seen, Progressive: &value, Threshold: threshold,
			StepScale: c.fit.learner.StepScale,
		})
		if c.failed == nil && (out.failed != nil || value > max(best, bound)) {
			best, out.comparedLearner, out.threshold, out.tuned = value, c, threshold, tuned
			out.chosen = len(out.entries) - 1
		}
	}
	for i, c := range a.learners {
		counts, examples, rarer := c.window()
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

// window returns the confusion with the threshold 0 in the window, its scores in descending order,
// and the number of its rows of the rarer label.
func (c *comparedLearner) window() (zero measure.Confusion, examples []Scored, rarer int64) {
	for k := len(c.recent.weights) - 1; k >= 0; k-- {
		for positive := range 2 {
			w := c.recent.weights[k][positive] + c.older.weights[k][positive]
			if w > 0 {
				score := binScore(k)
				zero.Add(positive == 1, score > 0, w)
				examples = append(examples, Scored{Score: score, Positive: positive == 1, Weight: w})
			}
		}
	}
	rows := func(label int) int64 { return c.recent.rows[label] + c.older.rows[label] }
	return zero, examples, min(rows(0), rows(1))
}

// scoreCounts are weights of examples by their score and label, 1 for the positive one.
type scoreCounts struct {
	weights [][2]float64 // by bin
	rows    [2]int64
}

// scoreBits is the number of bits of a bin: the sign, the exponent and seven bits of the fraction
// of a score as float32, in the order of the scores.
const scoreBits = 16

func newScoreCounts() *scoreCounts { return &scoreCounts{weights: make([][2]float64, 1<<scoreBits)} }

func (s *scoreCounts) clear() {
	clear(s.weights)
	s.rows = [2]int64{}
}

func (s *scoreCounts) add(score float64, positive bool, weight float64) {
	label := 0
	if positive {
		label = 1
	}
	s.weights[scoreBin(score)][label] += weight
	s.rows[label]++
}

// scoreBin returns the bin of a score. A score of 0 is in that of the negative ones next to it.
func scoreBin(score float64) int {
	bits := math.Float32bits(float32(min(max(score, -math.MaxFloat32), math.MaxFloat32)))
	if bits == 0 {
		bits = 1 << 31
	}
	if bits>>31 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 31
	}
	return int(bits >> (32 - scoreBits))
}

// binScore returns a score inside a bin.
func binScore(bin int) float64 {
	bits := uint32(bin)<<(32-scoreBits) | 1<<(31-scoreBits)
	if bits>>31 == 1 {
		bits &^= 1 << 31
	} else {
		bits = ^bits
	}
	return float64(math.Float32frombits(bits))
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
