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

// The phases of the shifting arms have ⌈1.6ⁿ⌉ rounds, and the gap is the same in all.
func TestShiftingArms(t *testing.T) {
	game := arms(regret.ShiftingArms(3, .25))
	if m := game.Means(); game.Arms() != 3 || m[0] != .25 || m[1] != .25 || m[2] != 0 {
		t.Errorf("gaps %v", m)
	}
	r, losses := random.New(1, "shifting"), make([]float64, 3)
	// Rounds 1 and 2 are of phase 1, 3 to 5 of phase 2, 6 to 10 of phase 3, 11 to 17 of phase 4.
	for round, high := range map[int]bool{
		1: false, 2: false, 3: true, 5: true, 6: false, 10: false, 11: true, 17: true,
		18: false,
	} {
		sums := make([]float64, 3)
		for range 4000 {
			game.Losses(losses, round, r)
			for i, g := range losses {
				sums[i] += g / 4000
			}
		}
		base := 0.0
		if high {
			base = .75
		}
		if sums[2] > base+.03 || sums[2] < base-.03 || sums[0] > base+.28 || sums[0] < base+.22 {
			t.Errorf("round %d: means %v, base %v", round, sums, base)
		}
	}
	for _, gap := range []float64{-1, 1.5, math.NaN()} {
		if _, err := regret.ShiftingArms(2, gap); err == nil {
			t.Errorf("the gap %v was accepted", gap)
		}
	}
}

// The table is played row by row, again and again.
func TestTableArms(t *testing.T) {
	game := arms(regret.TableArms([][]float64{{1, 2}, {3, 4}}))
	losses := make([]float64, 2)
	for round, want := range []float64{1, 3, 1, 3} {
		if game.Losses(losses, round+1, nil); losses[0] != want || game.Means() != nil {
			t.Errorf("round %d: %v", round+1, losses)
		}
	}
	for _, rows := range [][][]float64{nil, {{}}, {{1}, {1, 2}}, {{math.Inf(1)}}} {
		if _, err := regret.TableArms(rows); err == nil {
			t.Errorf("%v was accepted", rows)
		}
	}
}
