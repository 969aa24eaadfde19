package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/jetstream"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/server"
)

// restoreOptions are the flags of "noregret restore".
type restoreOptions struct {
	command.Output
	stream
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

With --log the events and the snapshots go to a stream of NATS, which must be new, and --data
becomes the directory of the first node that serves on it; start no node before. If that breaks off,
the directory is empty again, and the same call goes on.

Private experiments release nothing more after a restore, because the service that was backed up may
have gone on: docs/how-to/operate.md says more.`,
		Example: `  noregret restore noregret.tar --data data
  age -d noregret.tar.age | noregret restore - --data data
  noregret restore noregret.tar --data node0 --log nats://n0:4222,nats://n1:4222,nats://n2:4222`,
		Args: command.Args(1, "one file"),
	}, &restoreOptions{data: "data"})
}

// AddFlags implements [command.Options].
func (o *restoreOptions) AddFlags(f *pflag.FlagSet) {
	o.Output.AddFlags(f)
	f.StringVar(&o.data, "data", o.data, "the data directory to make; it must be new or empty")
	o.stream.addTo(f)
}

// Validate implements [command.Options].
func (o *restoreOptions) Validate() error { return o.check(o.data) }

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
	if o.named() {
		if err := o.move(ctx, a); err != nil {
			return err
		}
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

// move moves the log of the directory that was made to the stream. If that fails, the directory is
// empty again.
func (o *restoreOptions) move(ctx context.Context, a *command.App) (err error) {
	defer func() {
		if err == nil {
			return
		}
		for _, part := range []string{
			server.LogDir(o.data), o.dir(o.data), filepath.Join(o.data, "privacy"), filepath.Join(o.data, "keys.json"),
		} {
			err = errors.Join(err, os.RemoveAll(part))
		}
	}()
	from, err := eventlog.Open(nil, server.LogDir(o.data), anySize(a))
	if err != nil {
		return err
	}
	to, err := jetstream.Create(ctx, o.options(o.data), from.Stats().First-1, anySize(a))
	if err != nil {
		return errors.Join(err, from.Close())
	}
	_, err = eventlog.Copy(ctx, from, to)
	if err = errors.Join(err, to.Close(), from.Close()); err != nil {
		return err
	}
	return os.RemoveAll(server.LogDir(o.data))
}
