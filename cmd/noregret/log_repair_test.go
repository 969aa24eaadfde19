package main

import "testing"

func TestRepairRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"log repair now", `repair takes no arguments, got "now"`},
		refusal{
			"log repair --accept-loss -1",
			`invalid argument "-1" for "--accept-loss" flag: want a whole number, at least 0`,
		},
	)
}
