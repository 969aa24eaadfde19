package main

import "testing"

func TestDiffRefuses(t *testing.T) {
	checkRefused(t, refusal{"experiment diff", "diff takes the file of a definition, got 0 arguments"})
}
