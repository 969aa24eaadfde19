package main

import "testing"

// TestDemoClassifierRefuses checks that bad flags are found before a file is written.
func TestDemoClassifierRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"demo classifier --rows 999 --keep kept", "--rows: 999 is out of range, want at least 1000"},
		refusal{"demo classifier now", "classifier takes no arguments"},
	)
}
