package mixed

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
)

// newModel returns a model of one metric, on arms without data.
func newModel(arms int, p Problem) *Model {
	s := &State{}
	s.Grow(arms, 1)
	p.Metrics = []Metric{{Sign: 1, Positive: p.Control >= 0}}
	return New(p, s)
}

// playNoise plays arms of equal means whose rounds have effects of variance tau and whose groups
// scatter by spread times the variance of units, 1, that observations tell.
func playNoise(tau, spread float64, rounds int, seed uint64) *Model {
	l := newModel(4, Problem{Control: -1})
	r := random.New(seed, "noise")
	for range rounds {
		u := math.Sqrt(tau) * stat.Normal(r)
		obs := make([]pasto.Observation, 4)
		for k := range obs {
			size := 500 + math.Floor(5000*r.Float64())
			obs[k] = pasto.Observation{
				Arm: k, Size: size, Variances: []float64{1},
				Metrics: []float64{u + stat.Normal(r)*math.Sqrt(spread/size)},
			}
		}
		l.Observe(obs)
		l.Changed()
	}
	return l
}

// Effects of rounds are shown where there are some and seldom where there are none, and their
// variance is estimated.
func TestEffectsOfRounds(t *testing.T) {
	runs := testsize.Of(200, 50)
	shown, wrongly := 0, 0
	sum := 0.0
	for seed := range uint64(runs) {
		if l := playNoise(.01, 1, 200, seed); l.Noise.shown(0) {
			shown++
			sum += l.Noise.tau(0)
		}
		if l := playNoise(0, 1, 200, seed); l.Noise.shown(0) {
			wrongly++
		}
	}
	if shown < runs || wrongly > runs/20 {
		t.Errorf("shown in %d of %d runs with effects and %d without", shown, runs, wrongly)
	}
	if v := sum / float64(shown); math.Abs(v-.01) > .001 {
		t.Errorf("τ² = %v, want .01", v)
	}
}

// The dispersion is 1 where groups scatter as their units do, and nearly what they scatter more.
func TestDispersion(t *testing.T) {
	const runs = 20
	for _, spread := range []float64{.5, 1, 3} {
		sum := 0.0
		for seed := range uint64(runs) {
			sum += playNoise(1, spread, 300, seed).Noise.dispersion(0) / runs
		}
		if want := max(spread, 1); sum > want*1.05 || sum < want*.8 {
			t.Errorf("scatter %v: a dispersion of %v", spread, sum)
		}
	}
}
