package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// changeOptions are the flags of "noregret experiment pause", "resume" and "rollback".
type changeOptions struct {
	*remote
	change string
	reason string
}

// newChangeCommand makes the command of one of the changes.
func newChangeCommand(a *app, r *remote, change, short, long string) *cobra.Command {
	return newCommand(a, &cobra.Command{
		Use:     change + " NAME",
		Short:   short,
		Long:    long,
		Example: fmt.Sprintf("  noregret experiment %s ranking --reason \"numbers look odd\"", change),
		Args:    oneName,
	}, &changeOptions{remote: r, change: change})
}

// AddFlags implements options.
func (o *changeOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.reason, "reason", o.reason, "why, for the log")
}

// Validate implements options.
func (o *changeOptions) Validate() error { return nil }

// Run implements options.
func (o *changeOptions) Run(ctx context.Context, a *app, args []string) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	s, err := c.Change(ctx, args[0], o.change, o.reason)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %s, version %d\n", s.Name, s.State, s.Version)
	return err
}
