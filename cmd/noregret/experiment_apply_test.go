package main

import "testing"

func TestApplyRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"experiment apply", "apply takes the files of definitions, got none"},
		refusal{"experiment apply --check --dry-run x", "--check: it asks no service"},
	)
}
