package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/jetstream"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/legible"
	"github.com/noregret/noregret/server"
)

// verifyOptions are the flags of "noregret log verify".
type verifyOptions struct {
	command.Output
	place
}

// newVerifyCommand makes "noregret log verify".
func newVerifyCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "verify",
		Short: "Read the whole log and report what is wrong with it",
		Long: `Read the whole log and report all damage. The command checks every event's
checksum, position and link to the previous event, both ends, and every snapshot. It changes
nothing. A log that is damaged, or lacks the file that records what was acknowledged, is bad input
(exit status 3); the report names the first damaged position.

With --log the copy of the stream that each NATS server has is read and compared with the others,
while nodes run, and what is missing or was changed is named with its server. To be asked for its
own copy a server is made the leader of the stream: writers wait for a second or two each time. A
copy that cannot be looked at is a failure (exit status 1). With --data the mark and the snapshots
of a node that does not run are compared with the stream, too.`,
		Example: `  noregret log verify --data data
  noregret log verify --log nats://n0:4222,nats://n1:4222,nats://n2:4222`,
		Args: command.NoArgs,
	}, &verifyOptions{})
}

// AddFlags implements [command.Options].
func (o *verifyOptions) AddFlags(f *pflag.FlagSet) {
	o.Output.AddFlags(f)
	o.place.addTo(f)
}

// Validate implements [command.Options].
func (o *verifyOptions) Validate() error { return o.check(o.node()) }

// Run implements [command.Options].
func (o *verifyOptions) Run(ctx context.Context, a *command.App, _ []string) error {
	if o.named() {
		return o.verifyStream(ctx, a)
	}
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

// verifyStream verifies all copies of a stream, and a node's directory if it is given.
func (o *verifyOptions) verifyStream(ctx context.Context, a *command.App) error {
	r, err := jetstream.Verify(ctx, o.options(""))
	if err != nil {
		return err
	}
	if o.JSON {
		err = show.JSON(a.Stdout, r)
	} else {
		err = writeCopies(a.Stdout, r)
	}
	if err != nil || o.node() == "" {
		return errors.Join(err, r.Err())
	}
	err = o.place.open(ctx, a, func(log eventlog.Log) error {
		_, err := log.LatestSnapshot(ctx)
		return err
	})
	return errors.Join(r.Err(), err)
}

// writeCopies prints what was found in the copies of a stream.
func writeCopies(w io.Writer, r *jetstream.Report) error {
	pairs := []string{
		"events", fmt.Sprintf("%d to %d", r.First, r.Last), "messages", strconv.FormatUint(r.Messages, 10),
	}
	for _, p := range r.Replicas {
		state := fmt.Sprintf("%d of %d messages are whole", p.Messages, r.Messages)
		if p.Unasked != "" {
			state = "not looked at: " + p.Unasked
		}
		pairs = append(pairs, "copy of "+p.Server, legible.Text(state))
	}
	if err := show.KeyValues(w, pairs...); err != nil {
		return err
	}
	for _, f := range r.Findings {
		if _, err := fmt.Fprintf(w, "damage: %s\n", legible.Text(f.String())); err != nil {
			return err
		}
	}
	if r.Err() == nil {
		_, err := fmt.Fprintln(w, "all copies are sound and the same")
		return err
	}
	return nil
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
