package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/server"
)

// restoreOptions are the flags of "noregret restore".
type restoreOptions struct {
	command.Output
	data string
}

// newRestoreCommand makes "noregret restore".
func newRestoreCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a data directory of a backup",
		Long: `Make the data directory --data, which must be new or empty, of a backup; - is standard input.
The backup may be compressed by gzip or zstd. It is checked as a whole, and the events are folded,
before anything is in the directory. The digest that is printed is that of GET /v1/state when the
service had applied the same events.

Private experiments release nothing more after a restore, because the service that was backed up may
have gone on: docs/how-to/operate.md says more.`,
		Example: `  noregret restore noregret.tar --data data
  age -d noregret.tar.age | noregret restore - --data data`,
		Args: command.Args(1, "one file"),
	}, &restoreOptions{data: "data"})
}

// AddFlags implements [command.Options].
func (o *restoreOptions) AddFlags(f *pflag.FlagSet) {
	o.Output.AddFlags(f)
	f.StringVar(&o.data, "data", o.data, "the data directory to make; it must be new or empty")
}

// Run implements [command.Options].
func (o *restoreOptions) Run(ctx context.Context, a *command.App, args []string) error {
	in, err := dataset.OpenFile(args[0], a.Input(ctx))
	if err != nil {
		return err
	}
	name := args[0]
	if name == files.StdName {
		name = "standard input"
	}
	r, err := server.Restore(ctx, name, in, o.data)
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	if o.JSON {
		return show.JSON(a.Stdout, r)
	}
	if _, err := fmt.Fprintf(a.Stdout, "restored events %d to %d\nstate %s\n", r.First, r.Last, r.Digest); err != nil {
		return err
	}
	for _, name := range r.Ended {
		if _, err := fmt.Fprintf(a.Stdout, "%s releases nothing more: its backup may be older than what was released\n",
			name); err != nil {
			return err
		}
	}
	return nil
}
