package main

import "testing"

func TestGetRefuses(t *testing.T) {
	checkRefused(t, refusal{"experiment get", "get takes the name of one experiment, got 0 arguments"})
}
