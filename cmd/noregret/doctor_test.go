package main

import "testing"

// TestDoctorRefuses checks that bad flags are found before the log is read.
func TestDoctorRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"doctor", "doctor takes one LOG, got 0 arguments"},
		refusal{"doctor x --alpha 2", "--alpha: 2 is out of range"},
		refusal{"doctor x --min-effective -1", "--min-effective: -1 is out of range"},
		refusal{"doctor x --recent-ids -1", "--recent-ids: -1 is out of range"},
		refusal{"doctor x --rewards 1", "--rewards: [1]: want two numbers"},
	)
}
