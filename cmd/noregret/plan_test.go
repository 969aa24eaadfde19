package main

import "testing"

func TestPlanRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"plan", "plan takes the file of one definition, got 0 arguments"},
		refusal{"plan a b", "plan takes the file of one definition, got 2 arguments"},
		refusal{"plan a --runs -1", "--runs: -1 is out of range, want 0 to 100,000"},
		refusal{"plan a --horizon 0", "--horizon: 0 is out of range, want days above 0 and at most 3660"},
	)
}
