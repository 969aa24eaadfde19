package main

import "testing"

func TestExplainRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"experiment explain a", "explain takes the name of an experiment and the token of a decision, got"},
		refusal{"experiment explain a b --context {", `--context: "{": want JSON`},
	)
}
