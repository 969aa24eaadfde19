package main

import "testing"

func TestVerifyRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"log verify now", `verify takes no arguments, got "now"`},
	)
}
