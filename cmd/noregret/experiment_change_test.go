package main

import "testing"

func TestChangeRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"experiment pause", "pause takes the name of one experiment, got 0 arguments"},
		refusal{"experiment resume a b", "resume takes the name of one experiment, got 2 arguments"},
		refusal{"experiment rollback a b", "rollback takes the name of one experiment, got 2 arguments"},
	)
}
