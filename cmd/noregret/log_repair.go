package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/server"
)

// repairOptions are the flags of "noregret log repair".
type repairOptions struct {
	outputOptions
	data   string
	repair eventlog.RepairOptions
}

// newRepairCommand makes "noregret log repair".
func newRepairCommand(a *app) *cobra.Command {
	return newCommand(a, &cobra.Command{
		Use:   "repair",
		Short: "Truncate a damaged log to its last intact event",
		Long: `Truncate a damaged log to the last intact event before the first damage or, with
--from-snapshot, keep the events after the latest intact snapshot. At most --accept-loss
acknowledged events may be dropped. The old files are kept beside the new ones. An undamaged log
is left unchanged.`,
		Example: `  noregret log repair --data data
  noregret log repair --data data --accept-loss 3`,
		Args: noArgs,
	}, &repairOptions{data: "data"})
}

// AddFlags implements options.
func (o *repairOptions) AddFlags(f *pflag.FlagSet) {
	o.outputOptions.AddFlags(f)
	f.StringVar(&o.data, "data", o.data, "the service's data directory")
	f.Uint64Var(&o.repair.AcceptLoss, "accept-loss", 0, "acknowledged events that may be dropped")
	f.BoolVar(&o.repair.FromSnapshot, "from-snapshot", false, "keep the events after the latest intact snapshot")
}

// Run implements options.
func (o *repairOptions) Run(ctx context.Context, a *app, _ []string) error {
	r, err := eventlog.Repair(ctx, vfs.Default, server.LogDir(o.data), o.repair)
	if r == nil {
		return err
	}
	if o.json {
		return errors.Join(err, writeJSON(a.stdout, r))
	}
	what := "nothing was changed"
	if r.Changed {
		what = fmt.Sprintf("kept %d to %d, dropped %d events", r.Kept.First, r.Kept.Last, r.Lost)
	}
	if r.Unknown {
		what += "; the mark file was lost: events after these may have been acknowledged and be gone"
	}
	if _, e := fmt.Fprintln(a.stdout, what); e != nil {
		return e
	}
	return err
}
