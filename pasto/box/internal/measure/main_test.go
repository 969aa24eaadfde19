package main

import (
	"strings"
	"testing"
)

// The command prints a line for each learner, dimension and kind of world, and refuses unknown
// arguments.
func TestMeasure(t *testing.T) {
	var out strings.Builder
	if err := measure([]string{"-runs", "1", "-rounds", "5", "-dimensions", "2"}, &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 1+2*2*4 || strings.Contains(out.String(), "NaN") {
		t.Errorf("%d lines:\n%s", n, out.String())
	}
	for _, args := range [][]string{
		{"-dimensions", "4"},
		{"-learner", "none"},
		{"-runs", "0"},
		{"x"},
		{"-rounds", "0"},
	} {
		if err := measure(args, &out); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}
