package main

import "testing"

func TestDeleteRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"experiment delete", "delete takes the name of one experiment, got 0 arguments"},
		refusal{"experiment delete a b", "delete takes the name of one experiment, got 2 arguments"},
	)
}
