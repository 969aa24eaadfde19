package ascent

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// rates plays rounds of a number of units on arms with these rates, in units of scale, and returns
// the share that arm best was served in the last round.
func rates(t *testing.T, l *Algorithm, rate []float64, rounds, units int, scale float64, r *random.Source) float64 {
	t.Helper()
	var obs []pasto.Observation
	for range rounds {
		obs = obs[:0]
		for k, p := range l.Serving() {
			if n := math.Round(p * float64(units)); n > 0 {
				mean := rate[k] + math.Sqrt(rate[k]*(1-rate[k])/n)*stat.Normal(r)
				obs = append(obs, pasto.Observation{Arm: k, Metrics: []float64{scale * mean}, Size: n})
			}
		}
		if err := l.Observe(obs); err != nil {
			t.Fatal(err)
		}
	}
	best := 0
	for k := range rate {
		if rate[k] > rate[best] {
			best = k
		}
	}
	return l.Serving()[best]
}

// With rates of 2 % and 10,000 units a round, an arm that is 40 % better than the other three has
// most of the traffic after 500 rounds. When another arm becomes the best one, it has most of the
// traffic 500 rounds later. The unit of the metric does not matter.
func TestTrackingRates(t *testing.T) {
	for name, e := range map[string]Estimator{"discount": DiscountedMeans(.01), "window": WindowMeans(100)} {
		for _, scale := range []float64{1e-6, 1, 1e6} {
			first, second, runs := 0.0, 0.0, testsize.Of(40, 20)
			for seed := range runs {
				l := newAlgorithm(t, pastotest.One(t, pasto.Metric{Name: "rate"}), 4, TrackingOptions(e))
				r := random.New(uint64(seed), "tracking")
				first += rates(t, l, []float64{.02, .02, .028, .02}, 500, 10_000, scale, r) / float64(runs)
				second += rates(t, l, []float64{.028, .02, .02, .02}, 500, 10_000, scale, r) / float64(runs)
			}
			t.Logf("%s in units of %v: %.3f of the traffic on the best arm, %.3f after a change", name, scale, first,
				second)
			if first < .8 || second < .8 {
				t.Errorf("%s in units of %v: %.3f of the traffic on the best arm, %.3f after a change: want 0.8", name,
					scale, first, second)
			}
		}
	}
}

// A power of two in the unit of all metrics and prices leaves the serving distribution the same,
// bit for bit: steps are scale-free. An arm that is not observed keeps its log-weight while the
// others move.
func TestTrackingScaleFree(t *testing.T) {
	const u = 1 << 30
	small, large := pastotest.Goals(t, 5, false, 0), pastotest.Goals(t, 5.0/u, false, 0)
	a := newAlgorithm(t, small, 3, TrackingOptions(DiscountedMeans(.01)))
	b := newAlgorithm(t, large, 3, TrackingOptions(DiscountedMeans(.01)))
	r := random.New(1, "scale")
	for n := range 200 {
		k := n % 3
		if n < 50 { // two arms, the third has not been observed
			k = n % 2
		}
		x, y := float64(k)+stat.Normal(r), 1-float64(k)+stat.Normal(r)
		if err := a.Observe([]pasto.Observation{{Arm: k, Metrics: []float64{x, y}}}); err != nil {
			t.Fatal(err)
		}
		if err := b.Observe([]pasto.Observation{{Arm: k, Metrics: []float64{u * x, u * y}}}); err != nil {
			t.Fatal(err)
		}
		for k, p := range a.Serving() {
			if p != b.Serving()[k] {
				t.Fatalf("round %d: %v and %v", n, a.Serving(), b.Serving())
			}
		}
		if p := a.Exploit(); n == 20 && (p[2] > max(p[0], p[1]) || p[2] < min(p[0], p[1])) {
			t.Errorf("%v: want the arm that was not observed between the others", p)
		}
	}
}

// Scale-free steps need estimators that know which arms have been observed.
func TestScaleFreeRefused(t *testing.T) {
	_, err := New(pastotest.Goals(t, 5, false, 0), 2, TrackingOptions(IPW()))
	pastotest.Same(t, err,
		"scale free: ipw: want ArmMeans, DiscountedMeans, WindowMeans or SelfNormalized, which tell "+
			"what arms have been observed")
}
