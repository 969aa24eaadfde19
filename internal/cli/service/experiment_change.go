package service

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/internal/cli/command"
)

// changeOptions are the flags of "noregret experiment pause", "resume" and "rollback".
type changeOptions struct {
	*remote
	change string
	reason string
}

// newChangeCommand makes the command of one of the changes.
func newChangeCommand(a *command.App, r *remote, change, short, long string) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:     change + " NAME",
		Short:   short,
		Long:    long,
		Example: fmt.Sprintf("  noregret experiment %s ranking --reason \"numbers look odd\"", change),
		Args:    oneName,
	}, &changeOptions{remote: r, change: change})
}

// AddFlags implements [command.Options].
func (o *changeOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.reason, "reason", o.reason, "why, for the log")
}

// Validate implements [command.Options].
func (o *changeOptions) Validate() error { return nil }

// Run implements [command.Options].
func (o *changeOptions) Run(ctx context.Context, a *command.App, args []string) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	s, err := c.Change(ctx, args[0], o.change, o.reason)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "%s: %s, version %d\n", s.Name, s.State, s.Version)
	return err
}
