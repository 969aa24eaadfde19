package service

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/legible"
	"github.com/noregret/noregret/server"
)

// verifyOptions are the flags of "noregret log verify".
type verifyOptions struct {
	command.Output
	data string
}

// newVerifyCommand makes "noregret log verify".
func newVerifyCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "verify",
		Short: "Read the whole log and report what is wrong with it",
		Long: `Read the whole log and report all damage. The command checks every event's
checksum, position and link to the previous event, both ends, and every snapshot. It changes
nothing. A log that is damaged, or lacks the file that records what was acknowledged, is bad input
(exit status 3); the report names the first damaged position.`,
		Example: "  noregret log verify --data data",
		Args:    command.NoArgs,
	}, &verifyOptions{data: "data"})
}

// AddFlags implements [command.Options].
func (o *verifyOptions) AddFlags(f *pflag.FlagSet) {
	o.Output.AddFlags(f)
	f.StringVar(&o.data, "data", o.data, "the service's data directory")
}

// Run implements [command.Options].
func (o *verifyOptions) Run(ctx context.Context, a *command.App, _ []string) error {
	r, err := eventlog.Check(ctx, vfs.Default, server.LogDir(o.data))
	if err != nil {
		return err
	}
	if o.JSON {
		err = show.JSON(a.Stdout, r)
	} else {
		err = writeCheck(a.Stdout, r)
	}
	if err != nil {
		return err
	}
	return r.Err()
}

// writeCheck prints the report as text.
func writeCheck(w io.Writer, r *eventlog.Report) error {
	if err := show.KeyValues(w,
		"events", fmt.Sprintf("%d to %d", r.Base+1, r.Last),
		"acknowledged up to", strconv.FormatUint(r.Acknowledged, 10),
		"bytes", strconv.FormatInt(r.Bytes, 10),
		"snapshots", strconv.Itoa(len(r.Snapshots)),
	); err != nil {
		return err
	}
	for _, f := range r.Findings {
		kind := "damage"
		if f.Harmless {
			kind = "harmless"
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", kind, legible.Text(f.Problem)); err != nil {
			return err
		}
	}
	for _, g := range r.Readable {
		if _, err := fmt.Fprintf(w, "intact after the damage: %d to %d\n", g.First, g.Last); err != nil {
			return err
		}
	}
	if len(r.Findings) == 0 {
		_, err := fmt.Fprintln(w, "the log is sound")
		return err
	}
	return nil
}
