package scenario

import (
	"math"
	"testing"
)

// The summary of four runs, by hand. Gains over the best single arm are 0.5, 0, −0.1 and 0.00033,
// out of possible gains of 1, 0.1, 0.0009 and 0.0011. R = 0.40033/1.102 is a ratio of means (the
// mean of the ratios would be −27.6). The median is that of 0.5, 0 and 0.3, without the run whose
// gap is below 1e-3.
func TestSummary(t *testing.T) {
	out := []outcome{
		{
			deployed: []Score{{.5, .2, true}}, served: []Score{{1, 1, true}},
			single: []float64{0}, best: []float64{1},
		},
		{
			deployed: []Score{{1, 0, false}}, served: []Score{{1, 2, true}},
			single: []float64{1}, best: []float64{1.1},
		},
		{
			deployed: []Score{{1.9, .4, true}}, served: []Score{{2, 3, true}},
			single: []float64{2}, best: []float64{2.0009},
		},
		{
			deployed: []Score{{-.99967, 1e-12, false}}, served: []Score{{-1, 0, false}},
			single: []float64{-1}, best: []float64{-.9989},
		},
	}
	r := summarize(&Options{Noise: sigma(1), Runs: 4, Rounds: 7, Checkpoints: []int{7}}, out)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"R", r.Gain.Ratio[0], .40033 / 1.102},
		{"median", r.Gain.Median[0], .3},
		// √(4/3·Σ(g − R·G)²)/ΣG with the gains g and the possible gains G.
		{"error", r.Gain.Error[0], .181726},
		{"mean", r.Objective.Mean[0], .6000825},
		{"q25", r.Objective.Q25[0], .1250825},
		{"q50", r.Objective.Median[0], .75},
		{"q75", r.Objective.Q75[0], 1.225},
		// √(Σ(v − 0.6000825)²/3) of the values.
		{"sd", r.Objective.SD[0], 1.213664},
		{"served R", r.Serving.Gain.Ratio[0], 1 / 1.102},
		{"served median", r.Serving.Gain.Median[0], 0},
		{"served mean", r.Serving.Objective.Mean[0], .75},
		{"violation", r.Violation.Mean[0], .15},
		{"broken", r.Violation.Share[0], .5},
		{"served violation", r.Serving.Violation.Mean[0], 1.5},
		{"served broken", r.Serving.Violation.Share[0], .75},
		{"distance", r.Distance.Mean[0], .1754175},
		{"single", float64(r.BestSingle), .5},
		{"optimum", float64(r.Optimum), .7755},
		{"mark of the single arm", float64(r.Crossing.Single), 7},
		{"mark of the optimum", float64(r.Crossing.Optimum), 0},
	} {
		if math.Abs(c.got-c.want) > 1e-6 {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	// If no run can gain more than 1e-3, there is a ratio but no median. If no run can gain
	// anything, there is neither.
	r = summarize(&Options{Noise: sigma(1), Runs: 1, Rounds: 7, Checkpoints: []int{7}}, out[2:3])
	if math.Abs(r.Gain.Ratio[0]+.1/.0009) > 1e-6 || r.Gain.Median[0] == r.Gain.Median[0] {
		t.Errorf("R = %v, median %v, want −111.1 and none", r.Gain.Ratio[0], r.Gain.Median[0])
	}
	out[2].best[0] = 2
	r = summarize(&Options{Noise: sigma(1), Runs: 1, Rounds: 7, Checkpoints: []int{7}}, out[2:3])
	if r.Gain.Ratio[0] == r.Gain.Ratio[0] || r.Gain.Median[0] == r.Gain.Median[0] {
		t.Errorf("R = %v, median %v, want none", r.Gain.Ratio[0], r.Gain.Median[0])
	}
}
