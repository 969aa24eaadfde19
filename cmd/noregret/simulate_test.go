package main

import "testing"

// TestSimulateRefuses checks that bad flags are found before anything is played or drawn.
func TestSimulateRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"simulate a --algorithm=", "--algorithm: "},
		refusal{"simulate a --algorithm nobody", "--algorithm: \"nobody\" is unknown"},
		refusal{"simulate a --algorithm paper,paper", "--algorithm: paper is given twice"},
		refusal{"simulate a --points 5 --at 3", "--points: 5 beside --at"},
		refusal{"simulate a --noise NaN", "--noise: NaN is out of range"},
		refusal{"simulate a --threshold Inf", "--threshold: +Inf is out of range"},
		refusal{"simulate a --users 0", "--users: 0 is out of range, want at least 1"},
		refusal{"simulate a --plot a.gif", "--plot: \"a.gif\""},
		refusal{"simulate", "want one scenario of"},
	)
}
