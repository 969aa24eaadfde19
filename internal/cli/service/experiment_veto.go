package service

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/internal/cli/command"
)

// vetoOptions are the flags of "noregret experiment veto".
type vetoOptions struct {
	*remote
	lift   bool
	reason string
}

// newVetoCommand makes "noregret experiment veto".
func newVetoCommand(a *command.App, r *remote) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "veto NAME ARM",
		Short: "Give an arm no share until the veto is lifted",
		Long: `Stop serving an arm, at once, until the veto is lifted. The policy plans without it
meanwhile. --lift also resumes an arm that a guardrail has stopped.`,
		Example: `  noregret experiment veto ranking new --reason "it crashes"
  noregret experiment veto ranking new --lift`,
		Args: command.Args(2, "the names of an experiment and of an arm"),
	}, &vetoOptions{remote: r})
}

// AddFlags implements [command.Options].
func (o *vetoOptions) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.lift, "lift", o.lift, "serve the arm again")
	f.StringVar(&o.reason, "reason", o.reason, "why, for the log")
}

// Validate implements [command.Options].
func (o *vetoOptions) Validate() error { return nil }

// Run implements [command.Options].
func (o *vetoOptions) Run(ctx context.Context, a *command.App, args []string) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	s, err := c.Veto(ctx, args[0], args[1], o.lift, o.reason)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "%s: %s, version %d\n", s.Name, s.State, s.Version)
	return err
}
