package main

import "testing"

func TestExportRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"log export now", `export takes no arguments, got "now"`},
		refusal{"log export --from -1", `invalid argument "-1" for "--from" flag: want a whole number, at least 0`},
	)
}
