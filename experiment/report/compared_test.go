package report

import (
	"math"
	"testing"

	"github.com/noregret/noregret/experiment/guard"
)

// TestLiftWithinLevel moves bounds into the range of the metric, where the arms' versions had
// different levels: an arm's mean may fall to 0 from its own versions' level, and rise to 1.
func TestLiftWithinLevel(t *testing.T) {
	t.Parallel()
	wide := guard.Own{Mean: 0.1, From: -9, To: 9, Level: 0.2}
	x := compared{
		width: 1, high: 1, arms: []guard.Own{{Level: 0.4}, wide, {Mean: 0.1, From: 0.05, To: 0.15, Level: 0.4}},
		levels: []levelOf{{0.4, -1, 3}, {0.2, 0.1, 0.3}, {0.4, 0.3, 0.5}},
		served: guard.Served{Estimate: 0, Low: -8, High: 8, Level: 0.4}, level: levelOf{0.4, 0.3, 0.5},
	}
	y := x.within()
	if a := y.arms[1]; a.From != -0.3 || a.To != 0.9 {
		t.Errorf("the arm: %+v", a)
	}
	if y.arms[2] != x.arms[2] || y.arms[0] != x.arms[0] || x.arms[1] != wide {
		t.Errorf("narrow bounds moved: %+v, of %+v", y, x)
	}
	if y.levels[0] != (levelOf{0.4, 0, 1}) || y.served.Low != -0.5 || y.served.High != 0.7 {
		t.Errorf("the levels: %+v", y)
	}
	d := y.mixture([]float64{0.8, 0.2, 0})
	// The level of the mixture is 0.8·0.4 + 0.2·0.2 = 0.36, or 0.27 to 0.45; of it the arm has
	// 0.04/0.36 and can lose that, at worst.
	low := -0.2 * 0.2 / 0.36
	if _, from, to := d.relative(); math.Abs(from-low) > 1e-12 || to > 0.2/0.27+low+1e-12 ||
		math.Abs(d.From+0.06) > 1e-12 {
		t.Errorf("the mixture: %+v, relative %v to %v: want %v", d, from, to, low)
	}
	if !y.vague(&d) {
		t.Error("the mixture is known by its range only, and not vague")
	}
	e := y.mixture([]float64{0.8, 0, 0.2})
	if y.vague(&e) {
		t.Error("the other mixture is vague")
	}
	x.width, x.high, x.low = math.Inf(1), math.Inf(1), math.Inf(-1)
	if x.within() != &x {
		t.Error("bounds of a metric without a range moved")
	}
}
