package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
)

// concludeOptions are the flags of "noregret experiment conclude".
type concludeOptions struct {
	*remote
	mixture []string
	shares  map[string]float64
	reason  string
}

// newConcludeCommand makes "noregret experiment conclude".
func newConcludeCommand(a *app, r *remote) *cobra.Command {
	return newCommand(a, &cobra.Command{
		Use:   "conclude NAME",
		Short: "End an experiment: serve its mixture permanently",
		Long: `End an experiment: serve the mixture that the policy would deploy, or a given one,
permanently. The report keeps the evidence as it was. The service learns nothing more, but
feedback still counts. Afterwards the experiment can be deleted but not changed.`,
		Example: `  noregret experiment conclude ranking --reason "the gain holds"
  noregret experiment conclude ranking --mixture new=0.9 --mixture old=0.1`,
		Args: oneName,
	}, &concludeOptions{remote: r})
}

// AddFlags implements options.
func (o *concludeOptions) AddFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.mixture, "mixture", o.mixture, "ARM=SHARE, for each arm with a share (default: "+
		"what the policy would deploy)")
	f.StringVar(&o.reason, "reason", o.reason, "why, for the log")
}

// Validate implements options.
func (o *concludeOptions) Validate() error {
	for _, text := range o.mixture {
		i := strings.LastIndex(text, "=") // names of arms may have equals signs
		if i < 1 {
			return noregret.Errorf(noregret.Usage, "--mixture", "%q: want ARM=SHARE", text)
		}
		v, err := strconv.ParseFloat(text[i+1:], 64)
		if err != nil {
			return noregret.Errorf(noregret.Usage, "--mixture", "%q: want a number as the share", text)
		}
		if o.shares == nil {
			o.shares = map[string]float64{}
		}
		if _, twice := o.shares[text[:i]]; twice {
			return noregret.Errorf(noregret.Usage, "--mixture", "the arm %q is given twice", text[:i])
		}
		o.shares[text[:i]] = v
	}
	return nil
}

// Run implements options.
func (o *concludeOptions) Run(ctx context.Context, a *app, args []string) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	s, err := c.Conclude(ctx, args[0], o.shares, o.reason)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %s, version %d\n", s.Name, s.State, s.Version)
	return err
}
