package command

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
)

// TestRun: results go to the first stream, errors before the command's own code are usage errors,
// and later ones keep their code.
func TestRun(t *testing.T) {
	failed := errors.New("the disk is full")
	study := func() *cobra.Command {
		c := &cobra.Command{Use: "study", Args: cobra.NoArgs}
		fails := c.Flags().Bool("fail", false, "")
		c.RunE = func(c *cobra.Command, _ []string) error {
			if *fails {
				return failed
			}
			c.Print("table")
			return nil
		}
		return c
	}
	var out strings.Builder
	if err := Run(t.Context(), study(), nil, io.Discard, &out); err != nil || out.String() != "table" {
		t.Errorf("printed %q, %v", out.String(), err)
	}
	for _, args := range [][]string{{"--none"}, {"argument"}} {
		if err := Run(t.Context(), study(), args, io.Discard, io.Discard); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("%v: %v", args, err)
		}
	}
	if err := Run(t.Context(), study(), []string{"--fail"}, io.Discard, io.Discard); err != failed {
		t.Errorf("%v, want the command's own error", err)
	}
}
