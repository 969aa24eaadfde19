package main

import "testing"

// TestInspectRefuses checks that bad flags are found before a model is read.
func TestInspectRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"inspect m.json --top -1", "--top: -1 is out of range, want at least 0"},
		refusal{"inspect", "inspect takes one model file, got 0 arguments"},
		refusal{"inspect a.json b.json", "inspect takes one model file, got 2 arguments"},
	)
}
