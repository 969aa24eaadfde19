package main

import "testing"

func TestAlgorithmsRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"algorithms now", `algorithms takes no arguments, got "now"`},
		refusal{
			"algorithms --task three",
			`invalid argument "three" for "--task" flag: want binary or multiclass or multilabel`,
		},
	)
}
