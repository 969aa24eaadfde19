package classify

import (
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
