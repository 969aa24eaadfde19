package oco

import (
	"math"
	"testing"
)

func TestProximal(t *testing.T) {
	xs, total := play(t, must(NewProximalFTRL(ball(1), nil, Adaptive(math.Sqrt2))), g4)
	nearVector(t, "x_5", xs[4], []float64{-.6928430573, -.0083362317, -.4434251561})
	near(t, "loss", total, 2.0404511038)
	xs, _ = play(t, must(NewProximalFTRL(space(3), nil, Adaptive(1))), g4)
	nearVector(t, "R³ x_5", xs[4], []float64{-.5811027697, .0382550780, -.3360700477})
	f := must(NewFTRLProximal(3, FTRLProximalOptions{A: .5, Beta: 1, L1: .1}))
	xs, total = play(t, f, g4)
	nearVector(t, "L1 x_2", xs[1], []float64{-.225, .1333333333, -.06})
	nearVector(t, "L1 x_5", xs[4], []float64{-.1121264161, 0, -.1467976614})
	near(t, "L1 loss", total, .6446282014)
}
