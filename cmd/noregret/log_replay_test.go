package main

import "testing"

func TestReplayRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"log replay now", `replay takes no arguments, got "now"`},
	)
}
