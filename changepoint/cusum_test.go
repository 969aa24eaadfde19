package changepoint

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// runLength returns the average run length over runs and its standard error.
func runLength(t *testing.T, o CUSUMOptions, shift float64, runs int) (mean, se float64) {
	t.Helper()
	sum, squares := 0.0, 0.0
	c, r := newCUSUM(t, o), random.New(1, "run length")
	for range runs {
		c.Reset()
		n := 1.0
		for ; !add(t, c, shift+r.NormFloat64()); n++ {
		}
		sum += n
		squares += n * n
	}
	mean = sum / float64(runs)
	return mean, math.Sqrt((squares/float64(runs) - mean*mean) / float64(runs))
}

// The average run lengths are the published ones (Montgomery, "Introduction to Statistical Quality
// Control", table 9.3, k = ½): 168 and 465 numbers before a false alarm for h = 4 and 5, 8.38 and
// 10.4 until a shift by one standard deviation is detected. Siegmund's approximation is within 4 %.
func TestRunLengths(t *testing.T) {
	for _, c := range []struct{ threshold, shift, want float64 }{
		{4, 0, 168}, {5, 0, 465}, {4, 1, 8.38}, {5, 1, 10.4}, {4, 2, 3.34}, {5, 2, 4.01},
	} {
		o := DefaultCUSUMOptions()
		o.Threshold = c.threshold
		mean, se := runLength(t, o, c.shift, testsize.Of(4000, 1000))
		if math.Abs(mean-c.want) > 4*se+.005*c.want {
			t.Errorf("h = %v, shift %v: %.2f ± %.2f numbers, published are %v", c.threshold, c.shift, mean, se, c.want)
		}
		d := newCUSUM(t, o)
		formula := d.FalseAlarm()
		if c.shift > 0 {
			formula = d.Delay(c.shift)
		}
		if math.Abs(formula/c.want-1) > .04 {
			t.Errorf("h = %v, shift %v: the formula says %.2f, published are %v", c.threshold, c.shift, formula, c.want)
		}
	}
}

// The sums and the clip by hand: one outlier adds at most Clip − Drift.
func TestCUSUMByHand(t *testing.T) {
	c := newCUSUM(t, CUSUMOptions{Mean: 10, Deviation: 2, Drift: .25, Threshold: 2, Clip: 1})
	for i, step := range []struct{ x, up, down float64 }{
		{11, .25, 0}, {9, 0, .25}, {10, 0, 0}, {1000, .75, 0}, {12, 1.5, 0}, {10, 1.25, 0},
	} {
		if add(t, c, step.x) {
			t.Fatalf("step %d: an alarm", i)
		}
		if up, down := c.Sums(); math.Abs(up-step.up) > 1e-15 || math.Abs(down-step.down) > 1e-15 {
			t.Errorf("step %d: sums %v, %v, want %v, %v", i, up, down, step.up, step.down)
		}
	}
	if !add(t, c, 12) { // 1.25 + 0.75 is the threshold
		t.Error("no alarm at the threshold")
	}
	if up, down := c.Sums(); up != 0 || down != 0 {
		t.Errorf("sums %v, %v after an alarm", up, down)
	}
}

// Without drift the run length is b².
func TestRunLengthWithoutDrift(t *testing.T) {
	o := DefaultCUSUMOptions()
	o.Drift = 0
	if got, want := newCUSUM(t, o).FalseAlarm(), 6.166*6.166/2; math.Abs(got-want) > 1e-9 {
		t.Errorf("%v, want %v", got, want)
	}
}
