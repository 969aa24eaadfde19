// Package labtest runs the command of a study in tests.
package labtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/cli/command"
)

// Run runs a command with these arguments as the program does. The error has what the command
// prints about its failure.
func Run(ctx context.Context, c *cobra.Command, args []string, stdout, stderr io.Writer) error {
	tree := clitest.Commands(func(*command.App) []*cobra.Command { return []*cobra.Command{c} })
	var notes bytes.Buffer
	status := tree.Run(ctx, append([]string{c.Name()}, args...), strings.NewReader(""), stdout,
		io.MultiWriter(stderr, &notes))
	if status == 0 {
		return nil
	}
	return errors.New(notes.String())
}
