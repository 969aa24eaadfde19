package main

import "testing"

func TestSchemaRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"experiment schema now", `schema takes no arguments, got "now"`},
	)
}
