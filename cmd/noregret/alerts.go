package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/internal/legible"
)

// alertsOptions are the flags of "noregret alerts".
type alertsOptions struct {
	*remote
	outputOptions
}

// newAlertsCommand makes "noregret alerts" and the command below it.
func newAlertsCommand(a *app) *cobra.Command {
	var r remote
	cmd := newCommand(a, &cobra.Command{
		Use:   "alerts",
		Short: "Show what is wrong with the service now",
		Long: `Show what is wrong with the running service at --server and its experiments now: broken guardrails,
stopped arms, units that are not exposed as decided, items that are rejected or late, the disk, the
memory for units, the clock. "noregret serve --alert-webhook" sends each of them; "alerts test"
tries that.`,
		Example: `  noregret alerts
  noregret alerts --json`,
		Args: unknownBelow,
	}, &alertsOptions{remote: &r})
	r.AddFlags(cmd.PersistentFlags())
	cmd.AddCommand(newAlertsTestCommand(a, &r))
	return cmd
}

// AddFlags implements options.
func (o *alertsOptions) AddFlags(f *pflag.FlagSet) { o.outputOptions.AddFlags(f) }

// Run implements options.
func (o *alertsOptions) Run(ctx context.Context, a *app, _ []string) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	out, err := c.Alerts(ctx)
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(a.stdout, out)
	}
	if len(out.Active) == 0 {
		_, err = fmt.Fprintln(a.stdout, "nothing is known to be wrong")
	} else {
		t := table{left: map[int]bool{0: true, 1: true, 2: true, 3: true}}
		t.add("since", "kind", "experiment", "what")
		for _, v := range out.Active {
			t.add(v.Since.UTC().Format(time.RFC3339), v.Kind, v.Experiment, v.Text)
		}
		err = t.write(a.stdout)
	}
	if err == nil && out.Failure != "" {
		_, err = fmt.Fprintf(a.stdout, "%d alerts wait: %s\n", out.Waiting, legible.Text(out.Failure))
	}
	return err
}

// alertsTestOptions are the flags of "noregret alerts test".
type alertsTestOptions struct{ *remote }

// newAlertsTestCommand makes "noregret alerts test".
func newAlertsTestCommand(a *app, r *remote) *cobra.Command {
	return newCommand(a, &cobra.Command{
		Use:   "test",
		Short: "Send a test alert to the service's webhook",
		Long: `Let the running service at --server send a test alert to its webhook, and wait until the webhook
has taken it. It asks for an access token with the role admin.`,
		Example: "  noregret alerts test",
		Args:    noArgs,
	}, &alertsTestOptions{r})
}

// AddFlags implements options.
func (o *alertsTestOptions) AddFlags(*pflag.FlagSet) {}

// Validate implements options.
func (o *alertsTestOptions) Validate() error { return nil }

// Run implements options.
func (o *alertsTestOptions) Run(ctx context.Context, a *app, _ []string) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	if err := c.TestAlert(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, "the webhook has taken the alert")
	return err
}
