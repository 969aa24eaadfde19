package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/vec"
)

func TestOptimistic(t *testing.T) {
	// ψ = ‖x‖² is twice ½‖x‖².
	l := must(NewOptimisticFTRL(euclidean(space(3)), ConstantWeight(2)))
	var total float64
	for i, g := range g4 {
		if i > 0 {
			if err := l.Hint(g4[i-1]); err != nil {
				t.Fatal(err)
			}
		}
		switch i {
		case 1:
			nearVector(t, "x_2", l.Predict(), []float64{-1, .5, -.25})
		case 3:
			nearVector(t, "x_4", l.Predict(), []float64{-.625, -.75, .625})
		}
		total += vec.Dot(g, l.Predict())
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
	}
	u := []float64{-.5, 0, -.5}
	near(t, "loss", total, 2.875)
	near(t, "bound", bound(t, l, u), 4.65625)

	m := must(NewMeanHint(euclidean(space(3)), 2))
	xs, total := play(t, m, g4)
	nearVector(t, "mean hint: x_3", xs[2], []float64{-.1875, -.375, -.5625})
	nearVector(t, "mean hint: x_4", xs[3], []float64{-.5, -.6666666667, .1666666667})
	near(t, "mean hint: loss", total, 2.3229166667)
	near(t, "mean hint: bound", bound(t, m, u), 3.3758680556)
	near(t, "Σ‖g−hint‖²", 4*(bound(t, m, u)-.5), 11.5034722222)
	near(t, "variance bound", must(m.VarianceBound(u, 2, 6.125)), .5+(16*(1+math.Log(4))+6.125)/4)
}

// TestHintIsRemoved checks that the round after a hinted one is played as if there had been no
// hint, and that its hint is 0.
func TestHintIsRemoved(t *testing.T) {
	reg := euclidean(ball(2))
	for _, hints := range [][]float64{{1, 1, -1}, {-3, 0, 2}} {
		l, plain := must(NewOptimisticFTRL(reg, SqrtWeight(1))), must(NewFTRL(reg, nil, SqrtWeight(1)))
		if err := l.Hint(hints); err != nil {
			t.Fatal(err)
		}
		near(t, "x_1 with a hint", l.Predict()[0], -hints[0]*min(1, 2/vec.Norm2(hints)))
		var spent float64
		for k, g := range g4 {
			if k > 0 {
				nearVector(t, "x after the hinted round", l.Predict(), plain.Predict())
				spent += vec.Dot(g, g) / math.Sqrt(float64(k+1))
			} else {
				for i, v := range g {
					spent += (v - hints[i]) * (v - hints[i])
				}
			}
			_, _ = l.Update(g), plain.Update(g)
		}
		near(t, "bound", bound(t, l, []float64{1, 0, 0}), 2*.5+spent/2)
	}
}
