package regret_test

import (
	"math"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/regret"
)

// The losses have the means and the deviation of the game.
func TestArms(t *testing.T) {
	means := []float64{.1, .5, .9}
	const n = 20000
	for _, c := range []struct {
		game     regret.Arms
		variance func(mean float64) float64
	}{
		{arms(regret.BernoulliArms(means)), func(m float64) float64 { return m * (1 - m) }},
		{arms(regret.GaussianArms(means, .3)), func(float64) float64 { return .09 }},
	} {
		game := c.game
		r, loss, sums, squares := random.New(1, "arms"), make([]float64, 3), make([]float64, 3), make([]float64, 3)
		for round := range n {
			game.Losses(loss, round+1, r)
			for i, g := range loss {
				sums[i] += g
				squares[i] += (g - means[i]) * (g - means[i])
			}
		}
		for i, m := range means {
			variance := squares[i] / n
			if math.Abs(sums[i]/n-m) > 4*math.Sqrt(variance/n) {
				t.Errorf("%T: mean %v, want %v", game, sums[i]/n, m)
			}
			if want := c.variance(m); math.Abs(variance/want-1) > .1 {
				t.Errorf("%T: variance %v, want %v", game, variance, want)
			}
		}
	}
}

func TestArmsRefuse(t *testing.T) {
	refuse := func(what string, err error) {
		t.Helper()
		if noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := regret.BernoulliArms(nil)
	refuse("no arm", err)
	_, err = regret.BernoulliArms([]float64{.1, 1.1})
	refuse("mean 1.1", err)
	_, err = regret.GaussianArms(nil, 1)
	refuse("no arm", err)
	_, err = regret.GaussianArms([]float64{math.NaN()}, 1)
	refuse("mean NaN", err)
	_, err = regret.GaussianArms([]float64{1}, -1)
	refuse("sigma −1", err)
	_, err = regret.SwitchingArms(2, 0)
	refuse("period 0", err)
}
