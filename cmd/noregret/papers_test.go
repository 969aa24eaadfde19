package main

import "testing"

// TestPapersRefuses checks that the name of a paper is required.
func TestPapersRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"papers", "papers takes the name of one paper (spade-stamp), got"},
		refusal{"papers nonsense --json", "papers takes the name of one paper (spade-stamp), got \"nonsense\""},
	)
}
