package main

import "testing"

func TestConcludeRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"experiment conclude", "conclude takes the name of one experiment, got 0 arguments"},
		refusal{"experiment conclude coin --mixture heads", `--mixture: "heads": want ARM=SHARE`},
		refusal{"experiment conclude coin --mixture =1", `--mixture: "=1": want ARM=SHARE`},
		refusal{"experiment conclude coin --mixture heads=x", `--mixture: "heads=x": want a number as the share`},
		refusal{
			"experiment conclude coin --mixture heads=1 --mixture heads=0",
			`--mixture: the arm "heads" is given twice`,
		},
	)
}
