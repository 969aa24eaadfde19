package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/server"
)

// repairOptions are the flags of "noregret log repair".
type repairOptions struct {
	command.Output
	data   string
	repair eventlog.RepairOptions
}

// newRepairCommand makes "noregret log repair".
func newRepairCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "repair",
		Short: "Truncate a damaged log to its last intact event",
		Long: `Truncate a damaged log to the last intact event before the first damage or, with
--from-snapshot, keep the events after the latest intact snapshot. At most --accept-loss
acknowledged events may be dropped. The command says which positions it has dropped, of which kinds
and times those events were that can still be read, and under which names the old files are kept
beside the new ones. An undamaged log is left unchanged.

It is for a log in a directory. The help of "noregret log" says how a copy of one in NATS is mended;
if all copies lack events, restore a backup.`,
		Example: `  noregret log repair --data data
  noregret log repair --data data --accept-loss 3`,
		Args: command.NoArgs,
	}, &repairOptions{data: "data"})
}

// AddFlags implements [command.Options].
func (o *repairOptions) AddFlags(f *pflag.FlagSet) {
	o.Output.AddFlags(f)
	f.StringVar(&o.data, "data", o.data, "the service's data directory")
	f.Uint64Var(&o.repair.AcceptLoss, "accept-loss", 0, "acknowledged events that may be dropped")
	f.BoolVar(&o.repair.FromSnapshot, "from-snapshot", false, "keep the events after the latest intact snapshot")
}

// Run implements [command.Options].
func (o *repairOptions) Run(ctx context.Context, a *command.App, _ []string) error {
	r, err := eventlog.Repair(ctx, vfs.Default, server.LogDir(o.data), o.repair)
	if r == nil {
		return err
	}
	if o.JSON {
		return errors.Join(err, show.JSON(a.Stdout, r))
	}
	if _, e := io.WriteString(a.Stdout, describeRepair(r)); e != nil {
		return e
	}
	return err
}

// describeRepair says what a repair kept and dropped, or would drop, in lines.
func describeRepair(r *eventlog.RepairReport) string {
	var b strings.Builder
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(&b, format+"\n", args...) }
	would := ""
	if r.Changed {
		say("kept %d to %d, dropped %d events", r.Kept.First, r.Kept.Last, r.Lost)
	} else {
		say("nothing was changed")
		would = "would be "
	}
	if r.Lost > 0 {
		say("%sdropped: the acknowledged positions %d to %d", would, r.Kept.Last+1, r.Kept.Last+r.Lost)
	}
	if r.Covered > 0 {
		say("%sdropped: the positions %d to %d, which the snapshot covers", would, r.Kept.First-r.Covered,
			r.Kept.First-1)
	}
	for _, k := range r.Dropped {
		say("  of kind %s: %d events that can be read, positions %d to %d, %s to %s", k.Kind, k.Events, k.First, k.Last,
			eventTime(k.From), eventTime(k.To))
	}
	for _, name := range r.SetAside {
		say("kept under another name: %s", name)
	}
	if r.Unknown {
		say("the mark file was lost: events after these may have been acknowledged and be gone")
	}
	return b.String()
}

// eventTime formats the time of an event.
func eventTime(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339) }
