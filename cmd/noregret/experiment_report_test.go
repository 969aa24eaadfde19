package main

import "testing"

func TestReportRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"experiment report", "report takes the name of one experiment, got 0 arguments"},
		refusal{"experiment report a b", "report takes the name of one experiment, got 2 arguments"},
	)
}
