package mixed

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
)

// What all arms of a round have in common is not in the innovations, however large: the squares are
// those of the same observations without it, and of mean σ².
func TestAdjustedWithoutLevels(t *testing.T) {
	play := func(level float64) *moments {
		l := newModel(4, Problem{Control: -1})
		r := random.New(1, "levels")
		for range 500 {
			u := level * r.Float64()
			obs := make([]pasto.Observation, 4)
			for k := range obs {
				size := 1 + math.Floor(50*r.Float64())
				obs[k] = pasto.Observation{
					Arm: k, Size: size, Metrics: []float64{u + float64(k) + 3*stat.Normal(r)/math.Sqrt(size)},
				}
			}
			l.Observe(obs)
			l.Changed()
		}
		return &l.Stats
	}
	want, got := play(0), play(1e4)
	for k, v := range want.Squares {
		if math.Abs(got.Squares[k]-v) > 1e-4*v {
			t.Errorf("arm %d: squares of %v with levels, %v without", k, got.Squares[k], v)
		}
	}
	if v := want.Pool[0] / want.Freedom; math.Abs(v-9) > 1 {
		t.Errorf("a variance of %v, want 9", v)
	}
}

// Rates of arms that follow a season together by the same factor have innovations of their own
// variance: the season is in proportion.
func TestAdjustedInProportion(t *testing.T) {
	l := newModel(3, Problem{Control: 0})
	base := []float64{.05, .1, .2}
	for n := range 100 {
		level := 1 + .5*math.Sin(float64(n)/5)
		var obs []pasto.Observation
		for k, v := range base {
			x := v * level
			obs = append(obs, pasto.Observation{
				Arm: k, Size: 1e4, Metrics: []float64{x}, Variances: []float64{x * (1 - x)},
			})
		}
		l.Observe(obs)
		l.Changed()
	}
	s := &l.Stats
	for k, v := range base {
		if d := s.Squares[k] / s.Free[k]; d > .01*v*(1-v) {
			t.Errorf("arm %d: a mean squared innovation of %v without any noise", k, d)
		}
	}
}
