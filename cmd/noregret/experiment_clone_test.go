package main

import "testing"

func TestCloneRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"experiment clone a", "clone takes the names of an experiment and of the new one, got 1 arguments"},
	)
}
