// Command noregret-lab reproduces the measurements of the project noregret: tables of papers,
// learners beside their peers on the same draws, ablations, error rates and costs. Each subcommand
// is a study; the pages in lab/docs show their results.
//
// Results go to standard output, progress and notes to standard error. The exit status is that of
// noregret: 0 for success, 1 for a failure, 2 for a usage error and 3 for bad input.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/lab/arena"
	"github.com/noregret/noregret/lab/internal/ablation"
	"github.com/noregret/noregret/lab/internal/boxes"
	"github.com/noregret/noregret/lab/internal/catastrophe"
	"github.com/noregret/noregret/lab/internal/command"
	"github.com/noregret/noregret/lab/internal/contexts"
	"github.com/noregret/noregret/lab/internal/measure"
	"github.com/noregret/noregret/lab/internal/obd"
	"github.com/noregret/noregret/lab/internal/parameterfree"
	"github.com/noregret/noregret/lab/internal/streams"
	"github.com/noregret/noregret/lab/internal/validity"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run runs the program with args and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := command.Run(ctx, newRoot(), args, stdout, stderr)
	if err == nil {
		return 0
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = noregret.Errorf(noregret.Internal, "", "interrupted")
	}
	fmt.Fprintln(stderr, "noregret-lab:", err)
	return noregret.CodeOf(err).ExitStatus()
}

// newRoot makes the tree of commands.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "noregret-lab",
		Short: "Reproduce the measurements of noregret",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	for _, group := range []struct {
		id, title string
		studies   []*cobra.Command
	}{
		{"mixtures", "Mixtures under guardrails:", []*cobra.Command{
			arena.Command(), ablation.Command(), boxes.Command(), measure.Command(),
		}},
		{"service", "The decision service:", []*cobra.Command{
			validity.Command(), catastrophe.Command(),
		}},
		{"learners", "Learners:", []*cobra.Command{
			contexts.Command(), obd.Command(), parameterfree.Command(), streams.Command(),
		}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, c := range group.studies {
			c.GroupID = group.id
			root.AddCommand(c)
		}
	}
	return root
}
