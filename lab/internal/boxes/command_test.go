package boxes

import (
	"io"
	"strings"
	"testing"

	"github.com/noregret/noregret/lab/internal/labtest"
)

// The command prints a line for each learner, dimension and kind of world, and refuses unknown
// arguments.
func TestCommand(t *testing.T) {
	var out strings.Builder
	args := []string{"--runs", "1", "--rounds", "5", "--dimensions", "2"}
	if err := labtest.Run(t.Context(), Command(), args, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 2+2*2*4 || strings.Contains(out.String(), "NaN") {
		t.Errorf("%d lines:\n%s", n, out.String())
	}
	for _, args := range [][]string{
		{"--dimensions", "4"},
		{"--learner", "none"},
		{"--runs", "0"},
		{"x"},
		{"--rounds", "0"},
	} {
		if err := labtest.Run(t.Context(), Command(), args, &out, io.Discard); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}
