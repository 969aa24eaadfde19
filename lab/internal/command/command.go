// Package command runs the commands of noregret-lab: the program runs all of them below one root,
// and the tests of a study run its command alone.
//
// A study is a package with a function Command, which describes the command with its flags and
// does the work in RunE. Results go to the command's output, progress and notes to its error
// stream.
package command

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
)

// Run runs a command with these arguments on the given streams. An error of the parser of flags and
// arguments has the code usage.
func Run(ctx context.Context, c *cobra.Command, args []string, stdout, stderr io.Writer) error {
	running := false
	c.PersistentPreRun = func(*cobra.Command, []string) { running = true }
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetOut(stdout)
	c.SetErr(stderr)
	c.SetArgs(append([]string{}, args...)) // cobra takes os.Args for nil
	err := c.ExecuteContext(ctx)
	if _, coded := errors.AsType[*noregret.Error](err); err != nil && !coded && !running {
		return noregret.Errorf(noregret.Usage, "", "%w", err)
	}
	return err
}
