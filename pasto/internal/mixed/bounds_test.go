package mixed

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
)

// An arm's mean is off by more than the radius, in the bad direction, at any of 3,000 rounds of 100
// units in at most the share of runs that is promised; and in more than none, or the radius would
// be too large to be of use.
func TestRadiusHoldsAtAllTimes(t *testing.T) {
	testsize.NoRace(t)
	l := newModel(2, Problem{Control: 0})
	s := &l.Stats
	s.UnitSize, s.UnitSquares = make([]float64, 2), make([]float64, 2)
	s.UnitTotal, s.UnitPool = make([]float64, 1), make([]float64, 1)
	const rounds, units = 3000, 100.0
	radius := make([]float64, rounds+1)
	for n := 1; n <= rounds; n++ {
		size := units * float64(n)
		s.Weight[1], s.Count[1] = size, float64(n)
		s.UnitSize[1], s.UnitSquares[1] = size, size
		s.UnitTotal[0], s.UnitPool[0] = size, size
		radius[n] = l.Radius(1, 0, 1/size, .1)
	}
	runs := testsize.Of(4000, 400)
	beyond := 0
	for seed := range uint64(runs) {
		r, sum := random.New(seed, "radius"), 0.0
		for n := 1; n <= rounds; n++ {
			if sum += math.Sqrt(units) * stat.Normal(r); sum/(units*float64(n)) > radius[n] {
				beyond++
				break
			}
		}
	}
	share, most := float64(beyond)/float64(runs), .1
	t.Logf("beyond the radius in %.4f of the runs", share)
	if share > most+3*math.Sqrt(most*(1-most)/float64(runs)) || share < .02 {
		t.Errorf("beyond the radius in %.4f of the runs, want at most %v and some", share, most)
	}
}
