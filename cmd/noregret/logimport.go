package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/server"
)

func newImportCommand(a *app) *cobra.Command {
	data := "data"
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Append the events of an export to a log",
		Long: `Append the events of an export, in JSON lines, to the log of a data directory that no service
runs on; - is standard input. The positions must go on from the log's last one: a whole export,
from position 1, goes into a new directory, where "replay" and "serve" then find the state that the
events fold to. A line that is no event is bad input (exit status 3) and names itself; those before
it are in the log.`,
		Example: `  noregret log export --data data --output events.jsonl
  noregret log import events.jsonl --data copy`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return noregret.Errorf(noregret.Usage, "", "import takes one file, got %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			name, in := args[0], io.Reader(cmd.InOrStdin())
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
			log, err := eventlog.Open(nil, server.LogDir(data), eventlog.Options{})
			if err != nil {
				return err
			}
			n, err := eventlog.Import(cmd.Context(), log, name, in)
			last := log.Stats().Last
			if err = errors.Join(err, log.Close()); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "imported %d events, the log ends at %d\n", n, last)
			return err
		},
	}
	cmd.Flags().StringVar(&data, "data", data, "the data directory, made if it is not there")
	return cmd
}
