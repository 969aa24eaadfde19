package main

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
	"github.com/noregret/noregret/server"
)

// importOptions are the flags of "noregret log import".
type importOptions struct{ data string }

// newImportCommand makes "noregret log import".
func newImportCommand(a *app) *cobra.Command {
	return newCommand(a, &cobra.Command{
		Use:   "import FILE",
		Short: "Append the events of an export to a log",
		Long: `Append the events of an export, in JSON lines, to the log of a data directory that
no service uses; - is standard input. The positions must continue from the log's last one. So a
whole export, from position 1, goes into a new directory; "replay" and "serve" then fold its
events. A line that is not an event is bad input (exit status 3), and the error names the line.
The events before it are in the log.`,
		Example: `  noregret log export --data data --output events.jsonl
  noregret log import events.jsonl --data copy`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return noregret.Errorf(noregret.Usage, "", "import takes one file, got %d arguments", len(args))
			}
			return nil
		},
	}, &importOptions{data: "data"})
}

// AddFlags implements options.
func (o *importOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.data, "data", o.data, "the data directory, created if it does not exist")
}

// Validate implements options.
func (o *importOptions) Validate() error { return nil }

// Run implements options.
func (o *importOptions) Run(ctx context.Context, a *app, args []string) error {
	name, in := args[0], io.Reader(a.stdin)
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
	log, err := eventlog.Open(nil, server.LogDir(o.data), eventlog.Options{})
	if err != nil {
		return err
	}
	n, err := eventlog.Import(ctx, log, name, in)
	last := log.Stats().Last
	if err = errors.Join(err, log.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "imported %d events, the log ends at %d\n", n, last)
	return err
}
