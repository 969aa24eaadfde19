package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// deleteOptions are the flags of "noregret experiment delete".
type deleteOptions struct{ *remote }

// newDeleteCommand makes "noregret experiment delete".
func newDeleteCommand(a *app, r *remote) *cobra.Command {
	return newCommand(a, &cobra.Command{
		Use:     "delete NAME",
		Short:   "Remove an experiment",
		Long:    "Remove an experiment. Its events stay in the log; feedback that still comes is rejected.",
		Example: "  noregret experiment delete ranking",
		Args:    oneName,
	}, &deleteOptions{remote: r})
}

// AddFlags implements options. It adds only the flags of the service.
func (o *deleteOptions) AddFlags(*pflag.FlagSet) {}

// Validate implements options.
func (o *deleteOptions) Validate() error { return nil }

// Run implements options.
func (o *deleteOptions) Run(ctx context.Context, a *app, args []string) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	if err := c.Delete(ctx, args[0]); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s: deleted\n", args[0])
	return err
}
