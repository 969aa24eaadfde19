package main

import "testing"

func TestLearnersRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"learners now", `unknown command "now" for "noregret learners"`},
		refusal{"games now", `unknown command "now" for "noregret games"`},
	)
}
