package main

import "testing"

func TestAuditRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"audit --limit 0", "--limit: 0 is out of range, want 1 to 1000"},
		refusal{"audit now", `audit takes no arguments, got "now"`},
	)
}
