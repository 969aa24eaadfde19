package mixed

import (
	"math"
	"testing"

	"github.com/noregret/noregret/pasto"
)

// releasedModel returns a model of two arms and one metric with the range [0, 1].
func releasedModel() *Model {
	s := new(State)
	s.Grow(2, 1)
	return New(Problem{Control: -1, Metrics: []Metric{{Sign: 1, Positive: true, Width: 1}}}, s)
}

// released1 is an observation of 100 units with noise of these variances in its sum and in the sum
// of all.
func released1(arm int, mean, step, total float64) pasto.Observation {
	return pasto.Observation{
		Arm: arm, Size: 100, Metrics: []float64{mean},
		Noise: &pasto.Noise{Step: []float64{step}, Total: []float64{total}},
	}
}

// TestReleasedBegin: the noise of a mean is that of the last sum, and once an arm has begun anew
// also that of the sum at which it began.
func TestReleasedBegin(t *testing.T) {
	e := releasedModel()
	noise := func(want float64) {
		t.Helper()
		e.Estimate([]bool{true, true})
		got := e.Square(0, 0) - e.Variance(0, 0)/e.Stats.Weight[0]
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("noise of the mean is %v, want %v", got, want)
		}
	}
	e.Observe([]pasto.Observation{released1(0, 0.3, 400, 400), released1(1, 0.3, 400, 400)})
	noise(400. / 1e4)
	e.Observe([]pasto.Observation{released1(0, 0.3, 900, 500), released1(1, 0.3, 900, 500)})
	noise(500. / 4e4)
	e.Begin([]int{0})
	e.Observe([]pasto.Observation{released1(0, 0.3, 1100, 600), released1(1, 0.3, 1100, 600)})
	noise((500. + 600) / 1e4)
	if e.Released.ofMean(&e.Stats, 1, 0) != 600./9e4 {
		t.Error("another arm begins anew too")
	}
}

// TestReleasedReleases: a model that observes the last of many releases only has the bounds of one
// that has observed all of them.
func TestReleasedReleases(t *testing.T) {
	all, last := releasedModel(), releasedModel()
	for range 9 {
		all.Observe([]pasto.Observation{released1(0, 0.3, 400, 400)})
	}
	o := released1(0, 0.3, 400, 400)
	o.Size, o.Noise.Releases = 900, 9
	last.Observe([]pasto.Observation{o})
	const square = 0.01
	if a, b := all.Radius(0, 0, square, 0.05), last.Radius(0, 0, square, 0.05); a != b || b < 3.2*math.Sqrt(square) {
		t.Errorf("bounds are %v after all releases, %v after the last, want the same", a, b)
	}
	o.Noise.Releases = 3
	last.Observe([]pasto.Observation{o})
	if last.Released.Rounds != 10 || !last.Released.fits(2, 2) {
		t.Errorf("%v releases, want 10", last.Released.Rounds)
	}
}

// TestReleasedVariance: the variance of a unit is a bound by the newest mean, at least that of the
// rate, near it with many units, and at most a quarter of the squared range.
func TestReleasedVariance(t *testing.T) {
	for _, c := range []struct{ mean, total, low, high float64 }{
		{0.03, 0, 0.03 * 0.97, 0.12},      // 200 units say little
		{0.97, 0, 0.03 * 0.97, 0.12},      // as well at the other end
		{0.03, 1e6, 0.25, 0.25},           // noise says nothing
		{-5, 0, 0, 0.05},                  // out of the range
		{0.5, 0, 0.25, 0.25},              // in the middle
		{math.Nextafter(1, 0), 0, 0, .05}, // no events but one
	} {
		e := releasedModel()
		for range 2 {
			e.Observe([]pasto.Observation{released1(0, c.mean, 0, c.total), released1(1, c.mean, 0, c.total)})
		}
		if v := e.Stats.variance(0, 0); v < c.low || v > c.high {
			t.Errorf("mean %v, noise %v: variance %v, want %v to %v", c.mean, c.total, v, c.low, c.high)
		}
	}
	e := releasedModel()
	for round := range 100 {
		mean := 0.03
		if round == 0 {
			mean = 0.5 // its bound is not kept
		}
		o := []pasto.Observation{released1(0, mean, 0, 0), released1(1, mean, 0, 0)}
		o[0].Size, o[1].Size = 1e4, 1e4
		e.Observe(o)
	}
	mean := e.Stats.Mean[0]
	if v := e.Stats.variance(0, 0); v < mean*(1-mean) || v > 1.02*mean*(1-mean) {
		t.Errorf("variance %v after a million units of rate %v", v, mean)
	}
}

// TestReleasedProportion: where noise has moved a mean to almost 0, the next round is not taken for
// a large multiple of it, which would raise all variances by the scatter.
func TestReleasedProportion(t *testing.T) {
	e := releasedModel()
	e.Observe([]pasto.Observation{released1(0, 0.03, 400, 400), released1(1, 1e-7, 400, 400)})
	e.Observe([]pasto.Observation{released1(0, 0.03, 800, 500), released1(1, 0.3, 800, 500)})
	if e.Noise.Excess[0] > 10*e.Noise.ExcessOf[0] {
		t.Errorf("the scatter is %v times what is expected", e.Noise.Excess[0]/e.Noise.ExcessOf[0])
	}
}
