package main

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// listOptions are the flags of "noregret experiment list".
type listOptions struct {
	*remote
	outputOptions
	deleted bool
}

// newListCommand makes "noregret experiment list".
func newListCommand(a *app, r *remote) *cobra.Command {
	return newCommand(a, &cobra.Command{
		Use:   "list",
		Short: "List the experiments",
		Long: `List the experiments of the service: name, state, policy version, round, description. With
--deleted, list those that were deleted and can be restored: name, when and until when, the reason.`,
		Example: `  noregret experiment list
  noregret experiment list --deleted`,
		Args: noArgs,
	}, &listOptions{remote: r})
}

// AddFlags implements options.
func (o *listOptions) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.json, "json", o.json, "print JSON, as the API answers it")
	f.BoolVar(&o.deleted, "deleted", false, "list what was deleted and can be restored")
}

// Run implements options.
func (o *listOptions) Run(ctx context.Context, a *app, _ []string) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	read := c.Experiments
	if o.deleted {
		read = c.Deleted
	}
	list, err := read(ctx)
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(a.stdout, map[string]any{"experiments": list})
	}
	if o.deleted {
		t := table{left: map[int]bool{1: true, 2: true, 3: true}}
		t.add("name", "deleted", "restore until", "reason")
		for _, s := range list {
			if d := s.Deleted; d != nil {
				t.add(s.Name, d.Time.UTC().Format(time.RFC3339), d.Until.UTC().Format(time.RFC3339), d.Reason)
			}
		}
		return t.write(a.stdout)
	}
	t := table{left: map[int]bool{1: true, 4: true}}
	t.add("name", "state", "version", "round", "description")
	for _, s := range list {
		t.add(s.Name, string(s.State), strconv.FormatUint(s.Version, 10), strconv.FormatUint(s.Round, 10),
			s.Description)
	}
	return t.write(a.stdout)
}
