package confident

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/internal/round"
)

// newSums returns the sums of arms that have no data, and what is known of their metrics.
func newSums(arms, metrics int) (*sums, []metric) {
	s := new(sums)
	s.lists().Grow(arms, metrics)
	s.refresh()
	return s, make([]metric, metrics)
}

// TestSums: means, scatter and their errors are those of two passes over the rounds, with groups of
// equal size or not.
func TestSums(t *testing.T) {
	for seed := range uint64(20) {
		r := random.New(seed, "sums")
		s, metrics := newSums(2, 2)
		var collected round.Sums
		var values, sizes [2][]float64 // of arm and round, of the first metric
		within, groups := 0.0, 0.0
		for range 30 {
			var obs []pasto.Observation
			for range 1 + int(5*r.Float64()) {
				obs = append(obs, pasto.Observation{
					Arm: int(2 * r.Float64()), Size: 1 + float64(seed%2)*r.Float64(),
					Metrics: []float64{stat.Normal(r), 0},
				})
			}
			collected.Collect(obs, 2, 2)
			for a := range collected.Arms {
				x := &collected.Arms[a]
				values[x.Arm], sizes[x.Arm] = append(values[x.Arm], x.Mean[0]), append(sizes[x.Arm], x.Size)
				within, groups = within+x.Within[0], groups+x.Groups-1
				s.add(x, metrics, 0)
			}
			s.refresh()
		}
		pool, free := 0.0, 0.0
		for k := range 2 {
			mean, n, heavy, scatter := 0.0, 0.0, 0.0, 0.0
			for t, v := range values[k] {
				w := sizes[k][t]
				n, heavy, mean = n+w, heavy+w*w, mean+w*v
			}
			mean /= n
			for t, v := range values[k] {
				scatter += sizes[k][t] * (v - mean) * (v - mean)
			}
			pastotest.Near(t, "mean", s.Mean[2*k], mean, 1e-12)
			pastotest.Near(t, "scatter", s.Squares[2*k], scatter, 1e-9)
			pastotest.Near(t, "Σ size²", s.Heavy[k], heavy, 1e-9)
			pastotest.Near(t, "degrees of freedom", s.Free[k], float64(len(values[k])-1), 0)
			pool, free = pool+scatter, free+s.Free[k]
		}
		pastotest.Near(t, "pooled", s.pooled[0].variance, pool/free, 1e-9)
		pastotest.Near(t, "within", s.Within[0], within, 1e-9)
		ratio := (pool/free/(within/groups)*free + 20) / (free + 20)
		pastotest.Near(t, "dispersion", s.pooled[0].dispersion, max(ratio-math.Sqrt(2/(free+20)), 1), 1e-9)
		rounds := float64(len(values[0]))
		uneven := s.Heavy[0] * rounds / (s.Weight[0] * s.Weight[0])
		want := s.variance(0, 0) / s.Weight[0] * (1 + (1-1/s.pooled[0].dispersion)*(uneven-1))
		pastotest.Near(t, "squared error", s.square(0, 0), want, 1e-12)
		if before := s.square(1, 0); s.doubt(1, 0) != before {
			t.Errorf("an error of %v without any change, not %v", s.doubt(1, 0), before)
		}
		clear(s.Since)
		pastotest.Near(t, "doubt", s.doubt(1, 0), s.square(1, 0)*float64(len(values[1])), 1e-9)
	}
}

// TestUnits: given variances of units tell the error after one round; a scatter between rounds that
// is twice as large raises it.
func TestUnits(t *testing.T) {
	for _, times := range []float64{1, 2} {
		s, metrics := newSums(1, 1)
		r := random.New(1, "units")
		x := round.Sum{Groups: 1, Size: 100, UnitSize: []float64{100}, Units: []float64{100 * 4}}
		for n := range 2000 {
			x.Mean, x.Within, x.Third = []float64{math.Sqrt(times*4./100) * stat.Normal(r)}, []float64{0}, []float64{0}
			s.add(&x, metrics, 0)
			s.refresh()
			if n == 0 {
				pastotest.Near(t, "squared error of one round", s.square(0, 0), 4./100, 1e-12)
			}
		}
		pastotest.Near(t, "variance", s.variance(0, 0), 4*times, .2*times)
	}
}

// TestClippedChange: a shift of one standard deviation is found within 100 rounds, and one value
// that is far off never.
func TestClippedChange(t *testing.T) {
	for _, shift := range []float64{0, 1} {
		s, metrics := newSums(1, 1)
		r := random.New(3, "clipped")
		found := 0
		for n := 1; n <= 1000 && found == 0; n++ {
			v := stat.Normal(r)
			if n > 500 {
				v += shift
			}
			if n == 400 {
				v = 1e6
			}
			x := round.Sum{Groups: 1, Size: 1, Mean: []float64{v}, Within: []float64{0}, Third: []float64{0}}
			if n == 400 && shift > 0 {
				continue
			}
			if s.add(&x, metrics, 6) {
				found = n
			}
			s.refresh()
		}
		if (found > 500 && found <= 600) != (shift > 0) || shift == 0 && found > 0 {
			t.Errorf("shift %v: found in round %d", shift, found)
		}
	}
}
