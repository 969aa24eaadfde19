package service

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/legible"
)

// alertsOptions are the flags of "noregret alerts".
type alertsOptions struct {
	*remote
	command.Output
}

// newAlertsCommand makes "noregret alerts" and the command below it.
func newAlertsCommand(a *command.App) *cobra.Command {
	var r remote
	cmd := command.New(a, &cobra.Command{
		Use:   "alerts",
		Short: "Show what is wrong with the service now",
		Long: `Show what is wrong with the running service at --server and its experiments now: broken guardrails,
stopped arms, units that are not exposed as decided, items that are rejected or late, the disk, the
memory for units, the clock. "noregret serve --alert-webhook" sends each of them; "alerts test"
tries that.`,
		Example: `  noregret alerts
  noregret alerts --json`,
		Args: command.UnknownBelow,
	}, &alertsOptions{remote: &r})
	r.AddFlags(cmd.PersistentFlags())
	cmd.AddCommand(newAlertsTestCommand(a, &r))
	return cmd
}

// AddFlags implements [command.Options].
func (o *alertsOptions) AddFlags(f *pflag.FlagSet) { o.Output.AddFlags(f) }

// Run implements [command.Options].
func (o *alertsOptions) Run(ctx context.Context, a *command.App, _ []string) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	out, err := c.Alerts(ctx)
	if err != nil {
		return err
	}
	if o.JSON {
		return show.JSON(a.Stdout, out)
	}
	if len(out.Active) == 0 {
		_, err = fmt.Fprintln(a.Stdout, "nothing is known to be wrong")
	} else {
		t := show.Table{Left: map[int]bool{0: true, 1: true, 2: true, 3: true}}
		t.Add("since", "kind", "experiment", "what")
		for _, v := range out.Active {
			t.Add(v.Since.UTC().Format(time.RFC3339), v.Kind, v.Experiment, v.Text)
		}
		err = t.Write(a.Stdout)
	}
	if err == nil && out.Failure != "" {
		_, err = fmt.Fprintf(a.Stdout, "%d alerts wait: %s\n", out.Waiting, legible.Text(out.Failure))
	}
	return err
}

// newAlertsTestCommand makes "noregret alerts test".
func newAlertsTestCommand(a *command.App, r *remote) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "test",
		Short: "Send a test alert to the service's webhook",
		Long: `Let the running service at --server send a test alert to its webhook, and wait until the webhook
has taken it. It asks for an access token with the role admin.`,
		Example: "  noregret alerts test",
		Args:    command.NoArgs,
	}, command.Func(func(ctx context.Context, a *command.App, _ []string) error {
		c, err := r.client()
		if err != nil {
			return err
		}
		if err := c.TestAlert(ctx); err != nil {
			return err
		}
		_, err = fmt.Fprintln(a.Stdout, "the webhook has taken the alert")
		return err
	}))
}
