package plan

import (
	"math"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
)

// draw draws the sums of n units of a metric with the given mean, within the metric's range. They
// are the sums of values that the intake accepts one by one. The deviation is the stated one, or
// the largest that the range leaves with this mean. Of log-normal values their number is in
// proportion to the mean, so that a cap stays in its place.
func draw(r *random.Source, m *definition.Metric, e *definition.Expectation, mean float64, n int64) api.Sums {
	if e.Rate != nil {
		return drawLognormal(r, m, e, mean, n)
	}
	if e.SD == nil && m.Range == nil && m.Cap == nil && mean < 1e12 { // a count
		v := stat.Poisson(r, float64(float64(n)*mean))
		return api.Sums{N: n, Sum: v, Squares: v + math.Round(v*(max(v-1, 0)/float64(n)))}
	}
	around := *e
	around.Mean = mean
	sd := around.Deviation(m)
	l := newLaw(m, mean, float64(sd*sd))
	return l.draw(r, n)
}

// drawLognormal draws values of which a share is log-normal and the others are 0.
func drawLognormal(r *random.Source, m *definition.Metric, e *definition.Expectation, mean float64, n int64,
) api.Sums {
	var s api.Sums
	_, most := m.Counted()
	first, _ := lognormal(e, m)
	some := int64(stat.Binomial(r, n, min(mean/first, 1)))
	size := e.Mean / *e.Rate
	for range some {
		s.Add(min(float64(size*portable.Exp(float64(*e.Sigma*stat.Normal(r))-
			float64(float64(*e.Sigma**e.Sigma)/2))), most))
	}
	if rest := n - some; rest > 0 {
		low, high := 0.0, 0.0
		if some > 0 {
			high = *s.High
		}
		s.N, s.Low, s.High = n, &low, &high
	}
	return s
}

// law is a distribution of at most four values with a given mean and variance: two neighbours of
// the mean, which are the mean itself unless the values are whole numbers, and with probability
// away one of two values further away. Where the range has room for it these are √3 standard
// deviations from the mean, as in Gauss's and Hermite's rule of three points: the first five
// moments are those of a normal distribution. Sums of a sample of any size are drawn at once, and
// are those of values in the range.
type law struct {
	mean      float64
	near, far [2]float64
	away      float64
}

// newLaw returns the law of a metric with the mean and the variance, or the nearest that some
// values of the range have.
func newLaw(m *definition.Metric, mean, variance float64) law {
	low, high := m.Counted()
	whole := m.Kind == "count"
	if whole {
		low, high = math.Ceil(low), math.Floor(high)
	}
	mean = min(max(mean, low), high)
	l := law{mean: mean, near: [2]float64{mean, mean}}
	if whole {
		l.near = [2]float64{math.Floor(mean), math.Ceil(mean)}
	}
	most := float64((mean - low) * (high - mean))
	variance = min(variance, most)
	least := float64((mean - l.near[0]) * (l.near[1] - mean))
	if !(variance > least) {
		return l
	}
	// The distances below and above the mean; the product of the two is at least the variance. Near
	// an end of the range the other value is further away and rarer.
	below, above := mean-low, high-mean
	wide := math.Sqrt(3 * variance)
	if below < above {
		below = min(below, wide)
		above = min(above, float64(3*variance)/below)
	} else {
		above = min(above, wide)
		below = min(below, float64(3*variance)/above)
	}
	l.far = [2]float64{max(mean-below, low), min(mean+above, high)}
	if whole {
		l.far = [2]float64{math.Floor(l.far[0]), math.Ceil(l.far[1])}
	}
	l.away = min((variance-least)/(float64((mean-l.far[0])*(l.far[1]-mean))-least), 1)
	return l
}

// draw draws the sums of n values.
func (l *law) draw(r *random.Source, n int64) api.Sums {
	s := api.Sums{N: n}
	add := func(times, value float64) {
		s.Sum += float64(times * value)
		s.Squares += float64(times * float64(value*value))
	}
	away := int64(0)
	if l.away > 0 {
		away = int64(stat.Binomial(r, n, l.away))
	}
	for _, part := range []struct {
		values [2]float64
		n      int64
	}{{l.far, away}, {l.near, n - away}} {
		upper := 0.0
		if part.n > 0 && part.values[1] > part.values[0] {
			upper = stat.Binomial(r, part.n, (l.mean-part.values[0])/(part.values[1]-part.values[0]))
		}
		add(upper, part.values[1])
		add(float64(part.n)-upper, part.values[0])
	}
	return s
}
