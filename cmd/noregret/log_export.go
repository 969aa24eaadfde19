package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/atomicfile"
)

// exportOptions are the flags of "noregret log export".
type exportOptions struct {
	source
	from       uint64
	experiment string
	output     string
}

// newExportCommand makes "noregret log export".
func newExportCommand(a *app) *cobra.Command {
	return newCommand(a, &cobra.Command{
		Use:   "export",
		Short: "Write the log as JSON lines",
		Long: `Write the log as JSON lines, for off-policy evaluation and for replay elsewhere: position, kind,
time and payload, as docs/formats/events.md describes. With --server the log is that of a running
service.`,
		Example: `  noregret log export --data data --output events.jsonl
  noregret log export --server http://127.0.0.1:8430 --experiment ranking`,
		Args: noArgs,
	}, &exportOptions{output: "-"})
}

// AddFlags implements options.
func (o *exportOptions) AddFlags(f *pflag.FlagSet) {
	o.source.AddFlags(f)
	f.Uint64Var(&o.from, "from", o.from, "position to begin with, 0 for the first one kept")
	f.StringVar(&o.experiment, "experiment", o.experiment, "only this experiment's events")
	f.StringVarP(&o.output, "output", "o", o.output, "file to write, - for standard output")
}

// Validate implements options.
func (o *exportOptions) Validate() error { return nil }

// Run implements options.
func (o *exportOptions) Run(ctx context.Context, a *app, _ []string) error {
	if o.output == "-" {
		return o.write(ctx, a.stdout)
	}
	return atomicfile.Write(o.output, func(w io.Writer) error { return o.write(ctx, w) })
}

// write writes the events as JSON lines.
func (o *exportOptions) write(ctx context.Context, w io.Writer) error {
	if o.live() {
		c, err := o.client()
		if err != nil {
			return err
		}
		body, err := c.Export(ctx, o.from, o.experiment)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, body)
		return errors.Join(err, body.Close())
	}
	return o.open(func(log eventlog.Log) error {
		from, name := o.from, o.experiment
		if from == 0 {
			from = log.Stats().First
		}
		n, err := eventlog.Export(w, func(yield func(eventlog.Record, error) bool) {
			for r, err := range log.Read(ctx, from) {
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
