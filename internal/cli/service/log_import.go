package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/jetstream"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/server"
)

// importOptions are the flags of "noregret log import".
type importOptions struct {
	stream
	data, snapshot string
}

// newImportCommand makes "noregret log import".
func newImportCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "import FILE",
		Short: "Append the events of an export to a log",
		Long: `Append the events of an export, in JSON lines, to the log of a data directory that
no service uses; - is standard input. The positions must continue from the log's last one. So a
whole export, from position 1, goes into a new directory; "replay" and "serve" then fold its
events. A line that is not an event is bad input (exit status 3), and the error names the line.
The events before it are in the log. Repeat an import that was interrupted with the same file: what
the log has already is compared, and what follows is appended.

An export that does not begin at 1, because the service has dropped events after its retention time,
needs the snapshot that "export --snapshot" has written, and a new directory.

With --log the events go to a stream of NATS, which is made if it does not exist. --data is then the
directory of the node that imports, and that serve starts with later; start no node before.

A service on the copy needs the keys of the first one (keys.json), or --new-keys.`,
		Example: `  noregret log export --data data --output events.jsonl
  noregret log import events.jsonl --data copy
  noregret log import events.jsonl --data node0 --log nats://n0:4222,nats://n1:4222,nats://n2:4222`,
		Args: command.Args(1, "one file"),
	}, &importOptions{data: "data"})
}

// AddFlags implements [command.Options].
func (o *importOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.data, "data", o.data, "the data directory, created if it does not exist")
	f.StringVar(&o.snapshot, "snapshot", "", "the snapshot of an export that does not begin at 1; for a new directory")
	o.stream.addTo(f)
}

// Validate implements [command.Options].
func (o *importOptions) Validate() error { return o.check(o.data) }

// Run implements [command.Options].
func (o *importOptions) Run(ctx context.Context, a *command.App, args []string) error {
	name, in := args[0], io.Reader(a.Stdin)
	if name == "-" {
		name = "standard input"
	} else {
		file, err := os.Open(name)
		if err != nil {
			return noregret.Errorf(noregret.NotFound, name, "the export cannot be read: %w", err)
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	log, in, err := o.log(ctx, a, name, in)
	if err != nil {
		return err
	}
	n, err := eventlog.Import(ctx, log, name, in)
	last := log.Stats().Last
	if err == nil {
		err = o.save(ctx, log)
	}
	if err = errors.Join(err, log.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "imported %d events, the log ends at %d\n", n, last)
	return err
}

// log opens the log to import to. With a snapshot it makes one that begins where the export does.
// The reader that it returns has the whole export.
func (o *importOptions) log(ctx context.Context, a *command.App, name string, in io.Reader) (
	log eventlog.Log, whole io.Reader, err error,
) {
	if o.snapshot == "" {
		log, err := o.create(ctx, 0, anySize(a))
		return log, in, err
	}
	state, err := o.state()
	if err != nil {
		return nil, nil, err
	}
	from, in, err := eventlog.ExportStart(name, in)
	if err != nil {
		return nil, nil, err
	}
	if from == 0 { // no events: the log begins after the snapshot
		from = state.Position() + 1
	}
	if from > state.Position()+1 {
		return nil, nil, noregret.BadInputf(o.snapshot,
			"it covers the events to %d, but the export begins at %d: export both again, with one call",
			state.Position(), from)
	}
	log, err = o.create(ctx, from-1, anySize(a))
	return log, in, err
}

// create makes a log that begins after a position, or opens one that does.
func (o *importOptions) create(ctx context.Context, after uint64, options eventlog.Options) (eventlog.Log, error) {
	if o.named() {
		log, err := jetstream.Create(ctx, o.options(o.data), after, options)
		if err != nil {
			return nil, err
		}
		return log, nil
	}
	dir := server.LogDir(o.data)
	if after == 0 {
		log, err := eventlog.Open(nil, dir, options)
		if err != nil {
			return nil, err
		}
		return log, nil
	}
	log, err := eventlog.Create(nil, dir, after, options)
	if err != nil {
		return nil, err
	}
	return log, nil
}

// state reads the snapshot.
func (o *importOptions) state() (*experiment.State, error) {
	b, err := os.ReadFile(o.snapshot)
	if err != nil {
		return nil, noregret.Errorf(noregret.NotFound, o.snapshot, "the snapshot cannot be read: %w", err)
	}
	s := experiment.NewState()
	if err := s.UnmarshalBinary(b); err != nil {
		return nil, noregret.BadInputf(o.snapshot, "not a snapshot of this version: %w", err)
	}
	return s, nil
}

// save stores the snapshot in the log, if there is one.
func (o *importOptions) save(ctx context.Context, log eventlog.Log) error {
	if o.snapshot == "" {
		return nil
	}
	s, err := o.state()
	if err != nil {
		return err
	}
	b, err := os.ReadFile(o.snapshot)
	if err != nil {
		return err
	}
	return log.SaveSnapshot(ctx, s.Position(), b)
}
