package service

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/atomicfile"
	"github.com/noregret/noregret/internal/cli/command"
)

// exportOptions are the flags of "noregret log export".
type exportOptions struct {
	source
	from       uint64
	experiment string
	output     string
	snapshot   string
}

// newExportCommand makes "noregret log export".
func newExportCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "export",
		Short: "Write the log as JSON lines",
		Long: `Write the log as JSON lines, for off-policy evaluation and for replay elsewhere: position, kind,
time and payload, as docs/formats/events.md describes. With --server the log is that of a running
service.

The service drops events after its retention time. Then the export begins later, and to import it
takes the snapshot of the state that covers the events before: --snapshot writes it, if there is
one, before the events.

With --log the log is that in a stream of NATS, which nodes may use at the same time: the file is
that of a log in a directory, so "import" moves a log from the one to the other.`,
		Example: `  noregret log export --data data --output events.jsonl
  noregret log export --server http://127.0.0.1:8430 --experiment ranking
  noregret log export --log nats://n0:4222,nats://n1:4222,nats://n2:4222 -o events.jsonl`,
		Args: command.NoArgs,
	}, &exportOptions{output: "-"})
}

// AddFlags implements [command.Options].
func (o *exportOptions) AddFlags(f *pflag.FlagSet) {
	o.source.AddFlags(f)
	f.Uint64Var(&o.from, "from", o.from, "position to begin with, 0 for the first one kept")
	f.StringVar(&o.experiment, "experiment", o.experiment, "only this experiment's events")
	f.StringVar(&o.snapshot, "snapshot", "", "file for the snapshot that covers the events that are gone, if any")
	f.StringVarP(&o.output, "output", "o", o.output, "file to write, - for standard output")
}

// Validate implements [command.Options].
func (o *exportOptions) Validate() error {
	if o.snapshot != "" && (o.from != 0 || o.experiment != "") {
		return noregret.Errorf(noregret.Usage, "--snapshot",
			"only with a whole export: without --from and --experiment")
	}
	return o.source.Validate()
}

// Run implements [command.Options].
func (o *exportOptions) Run(ctx context.Context, a *command.App, _ []string) error {
	if o.output == "-" {
		return o.write(ctx, a, a.Stdout)
	}
	return atomicfile.Write(o.output, func(w io.Writer) error { return o.write(ctx, a, w) })
}

// write writes the events as JSON lines.
func (o *exportOptions) write(ctx context.Context, a *command.App, w io.Writer) error {
	if o.live() {
		c, err := o.client()
		if err != nil {
			return err
		}
		from := o.from
		if o.snapshot != "" {
			// The events after the snapshot are kept while it is the oldest one.
			state, err := c.Snapshot(ctx)
			if err != nil {
				return err
			}
			if from, err = o.writeSnapshot(a, state); err != nil {
				return err
			}
		}
		body, err := c.Export(ctx, from, o.experiment)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, body)
		return errors.Join(err, body.Close())
	}
	return o.open(ctx, a, func(log eventlog.Log) error {
		from, name := o.from, o.experiment
		if from == 0 {
			from = log.Stats().First
		}
		private, err := o.privateNames(ctx, log, from)
		if err != nil {
			return err
		}
		if o.snapshot != "" {
			if len(private) > 0 {
				return noregret.BadInputf("--snapshot", "the state has raw feedback of private experiments, such as "+
					"%s: copy the data directory instead, and keep it secret", private[0])
			}
			saved, err := log.OldestSnapshot(ctx)
			if err != nil {
				return err
			}
			if _, err := o.writeSnapshot(a, saved.State); err != nil {
				return err
			}
		}
		n, err := eventlog.Export(w, func(yield func(eventlog.Record, error) bool) {
			for r, err := range log.Read(ctx, from) {
				r.Payload = experiment.Redact(r.Kind, r.Payload, func(name string) bool {
					return slices.Contains(private, name)
				})
				if (err != nil || name == "" || experiment.Concerns(r.Payload) == name) && !yield(r, err) {
					return
				}
			}
		})
		if err == nil && n == 0 && name != "" {
			return noregret.Errorf(noregret.NotFound, name,
				"the log has no event of an experiment of this name from position %d on", from)
		}
		return err
	})
}

// writeSnapshot writes the file of the snapshot unless the log has all events, and returns the
// position of the first event that an import needs, 0 for the first one of the log.
func (o *exportOptions) writeSnapshot(a *command.App, state []byte) (from uint64, err error) {
	if len(state) == 0 {
		a.Note("the log has all events, so %s is not written: import the export without --snapshot", o.snapshot)
		return 0, nil
	}
	s := experiment.NewState()
	if err := s.UnmarshalBinary(state); err != nil {
		return 0, err
	}
	return s.Position() + 1, atomicfile.WritePrivate(o.snapshot, state)
}
