package main

import "testing"

func TestListRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"experiment list now", `list takes no arguments, got "now"`},
	)
}
