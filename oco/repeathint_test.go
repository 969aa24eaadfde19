package oco

import (
	"testing"
)

// TestRepeatHint: the hint of a round is the subgradient of the one before.
func TestRepeatHint(t *testing.T) {
	reg := euclidean(ball(2))
	l := must(NewRepeatHint(must(NewOptimisticFTRL(reg, SqrtWeight(1)))))
	xs, _ := play(t, l, g4)
	ys, _ := play(t, must(NewLastHint(reg, SqrtWeight(1))), g4)
	for k := range xs {
		nearVector(t, "x", xs[k], ys[k])
	}
	if l.Rounds() != 4 {
		t.Errorf("%d rounds", l.Rounds())
	}
}
