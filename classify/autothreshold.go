package classify

import (
	"cmp"
	"math"
	"slices"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
)

// The draws of weights that a threshold of the last comparison is the mean of: as many as
// mostDrawnRows allows, and none if that is fewer than leastThresholdDraws.
const (
	thresholdDraws      = 25
	leastThresholdDraws = 7
	mostDrawnRows       = 50_000
)

// steadyThreshold is the threshold of rows by their scores: the mean of those that are best for
// exponential random weights of the rows, as in the Bayesian bootstrap (Rubin 1981). The best for
// the rows as they are follows single rows near the threshold. With many rows it is that.
func (a *autoFit) steadyThreshold(rows []Scored, last bool) float64 {
	m := a.opt.Measure.(measure.Measure)
	threshold, _ := TuneThreshold(rows, m)
	draws := min(thresholdDraws, mostDrawnRows/max(1, len(rows)))
	if !last || draws < leastThresholdDraws {
		return threshold
	}
	logs := a.drawnLogs()
	drawn, sum, found := make([]Scored, len(rows)), 0.0, 0.0
	for range draws {
		for i, r := range rows { // sorted by TuneThreshold
			r.Weight = float64(-r.Weight * logs[i])
			drawn[i] = r
		}
		logs = logs[len(rows):]
		t, v := tuneSorted(drawn, m)
		if v == v {
			sum += t
			found++
		}
	}
	if found == 0 {
		return threshold
	}
	return sum / found
}

// drawnLogs returns logarithms of uniform numbers in (0, 1], as many as the draws of a threshold
// have rows at most. They depend on the seed only, so that all thresholds share them. Do not change
// them.
func (a *autoFit) drawnLogs() []float64 {
	a.logsOnce.Do(func() {
		rng := random.New(a.opt.Seed, "auto/threshold")
		a.logs = make([]float64, mostDrawnRows)
		for i := range a.logs {
			a.logs[i] = portable.Log(1 - float64(rng.Float64()))
		}
	})
	return a.logs
}

// shareAbove is the share of the rows whose cross-fitted score is above a threshold.
func (c *comparedOn) shareAbove(scores [][]float64, threshold float64) float64 {
	above, total := 0.0, 0.0
	for i, z := range scores {
		total += c.weight[i]
		if z[0] > threshold {
			above += c.weight[i]
		}
	}
	return above / total
}

// thresholdOf is the threshold above which a share of the rows is, by their scores and weights, as
// nearly as equal scores allow. It sorts the rows.
func thresholdOf(share float64, rows []Scored) float64 {
	slices.SortFunc(rows, func(a, b Scored) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Weight, b.Weight))
	})
	total := 0.0
	for _, r := range rows {
		total += r.Weight
	}
	best, off := rows[0].Score, float64(share*total) // with no row above it
	above := 0.0
	for i, r := range rows {
		above += r.Weight
		last := i+1 == len(rows)
		if !last && rows[i+1].Score == r.Score {
			continue
		}
		if d := math.Abs(above - float64(share*total)); d < off {
			off, best = d, r.Score-1
			if !last {
				next := rows[i+1].Score
				best = next + float64((r.Score-next)/2)
			}
		}
	}
	return best
}

// scored returns the rows with their scores by a solution.
func (x *design) scored(solution []float64) []Scored {
	out := make([]Scored, x.rows)
	rows, bias := x.reader(), x.biases(solution, 1)
	var z [1]float64
	for i := range out {
		rows.scores(z[:], solution, bias, i)
		out[i] = Scored{Score: z[0], Weight: x.weight[i], Positive: x.truth[i] == 0}
	}
	return out
}

// mostSharedRows bounds the rows whose scores say where a share is.
const mostSharedRows = 1 << 18

// scoredBy returns the rows with their scores by a model, if there are many one of each so many,
// drawn at random.
func (a *autoFit) scoredBy(m *Linear, t *Transform) ([]Scored, error) {
	every := (a.part.Rows + mostSharedRows - 1) / mostSharedRows
	rng := random.New(a.opt.Seed, "auto/share")
	var out []Scored
	var at, taken int64 // of the rows, and of the next that is taken
	score := t.reading(func(index []uint32, value []float32, class uint16, weight float64) error {
		out = append(out, Scored{Score: m.Score(index, value), Weight: weight, Positive: a.data.labelIndex(class) == 0})
		return nil
	})
	err := a.data.read(a.ctx, func(index []uint32, value []float32, class uint16, weight float64) error {
		if at%every == 0 {
			taken = at + rng.Int64N(min(every, a.part.Rows-at))
		}
		if at++; at-1 != taken {
			return nil
		}
		return score(index, value, class, weight)
	})
	return out, err
}

// tuneLast moves the threshold of the last model of two labels to where it has the same share of
// the rows above it as the tuned threshold has of the cross-fitted scores. These are of models that
// have seen fewer rows. Scores near an optimum are logarithms of odds, so its threshold suits the
// optimum of all rows, too, and stays, as it does where it is not known how near the last training
// came. Scores of a learner by steps, and of a solution that ended far from its optimum, depend on
// how many rows it has seen.
//
// Where there are not many more rows than weights the threshold stays as well: a model's scores of
// the rows that it has learned from are then unlike those of others.
func (a *autoFit) tuneLast(r *Result, in *inMemory, c *choiceOf, on *comparedOn) error {
	columns, _, products := a.price.width(c.recipe.features)
	if a.data.Task != Binary || a.price.rows < leastRowsOfColumn*(columns+products) {
		return nil
	}
	var rows []Scored
	switch {
	case !isBatch(c.recipe.algorithm):
		var err error
		if rows, err = a.scoredBy(&r.Models[0], r.Transform); err != nil {
			return err
		}
	case in == nil || !c.result.unfinished && in.solution.near(c.result.slope, c.recipe.scale):
		return nil
	default:
		rows = in.rows.scored(in.solution.w)
	}
	r.Models[0].Threshold = thresholdOf(on.shareAbove(c.result.scores, c.result.offsets[0]), rows)
	return nil
}
