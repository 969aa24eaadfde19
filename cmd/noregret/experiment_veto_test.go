package main

import "testing"

func TestVetoRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"experiment veto coin", "veto takes the names of an experiment and of an arm, got 1 arguments"},
		refusal{"experiment veto coin a b", "veto takes the names of an experiment and of an arm, got 3 arguments"},
	)
}
