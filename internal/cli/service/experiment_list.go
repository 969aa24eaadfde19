package service

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
)

// listOptions are the flags of "noregret experiment list".
type listOptions struct {
	*remote
	command.Output
	deleted bool
}

// newListCommand makes "noregret experiment list".
func newListCommand(a *command.App, r *remote) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "list",
		Short: "List the experiments",
		Long: `List the experiments of the service: name, state, policy version, round, description. With
--deleted, list those that were deleted and can be restored: name, when and until when, the reason.`,
		Example: `  noregret experiment list
  noregret experiment list --deleted`,
		Args: command.NoArgs,
	}, &listOptions{remote: r})
}

// AddFlags implements [command.Options].
func (o *listOptions) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.JSON, "json", o.JSON, "print JSON, as the API answers it")
	f.BoolVar(&o.deleted, "deleted", false, "list what was deleted and can be restored")
}

// Run implements [command.Options].
func (o *listOptions) Run(ctx context.Context, a *command.App, _ []string) error {
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
	if o.JSON {
		return show.JSON(a.Stdout, map[string]any{"experiments": list})
	}
	if o.deleted {
		t := show.Table{Left: map[int]bool{1: true, 2: true, 3: true}}
		t.Add("name", "deleted", "restore until", "reason")
		for _, s := range list {
			if d := s.Deleted; d != nil {
				t.Add(s.Name, d.Time.UTC().Format(time.RFC3339), d.Until.UTC().Format(time.RFC3339), d.Reason)
			}
		}
		return t.Write(a.Stdout)
	}
	t := show.Table{Left: map[int]bool{1: true, 4: true}}
	t.Add("name", "state", "version", "round", "description")
	for _, s := range list {
		t.Add(s.Name, string(s.State), strconv.FormatUint(s.Version, 10), strconv.FormatUint(s.Round, 10),
			s.Description)
	}
	return t.Write(a.Stdout)
}
