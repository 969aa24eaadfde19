package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/internal/cli/command"
)

// concludeOptions are the flags of "noregret experiment conclude".
type concludeOptions struct {
	*remote
	mixture []string
	shares  map[string]float64
	reason  string
}

// newConcludeCommand makes "noregret experiment conclude".
func newConcludeCommand(a *command.App, r *remote) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "conclude NAME",
		Short: "End an experiment: serve its mixture permanently",
		Long: `End an experiment: serve the mixture that the policy would deploy, or a given one,
permanently. The control keeps its share unless --mixture says otherwise. The report keeps the
evidence as it was. The service learns nothing more, but
feedback still counts. Afterwards the experiment can be deleted but not changed.`,
		Example: `  noregret experiment conclude ranking --reason "the gain holds"
  noregret experiment conclude ranking --mixture new=0.9 --mixture old=0.1`,
		Args: oneName,
	}, &concludeOptions{remote: r})
}

// AddFlags implements [command.Options].
func (o *concludeOptions) AddFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.mixture, "mixture", o.mixture, "ARM=SHARE, for each arm with a share (default: "+
		"what the policy would deploy)")
	f.StringVar(&o.reason, "reason", o.reason, "why, for the log")
}

// Validate implements [command.Options].
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

// Run implements [command.Options].
func (o *concludeOptions) Run(ctx context.Context, a *command.App, args []string) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	s, err := c.Conclude(ctx, args[0], o.shares, o.reason)
	if err != nil {
		return o.example(ctx, c, args[0], err)
	}
	_, err = fmt.Fprintf(a.Stdout, "%s: %s, version %d\n", s.Name, s.State, s.Version)
	return err
}

// example adds a command to an error about the mixture: there is none to conclude with, or it is
// not written as one flag for each arm.
func (o *concludeOptions) example(ctx context.Context, c *client.Client, name string, err error) error {
	e, ok := errors.AsType[*noregret.Error](err)
	if !ok || e.Code != noregret.BadInput || !strings.HasPrefix(e.Place, "mixture") {
		return err
	}
	r, failed := c.Report(ctx, name)
	if failed != nil {
		return err
	}
	var control, others []string
	for _, arm := range slices.Sorted(maps.Keys(r.Arms)) {
		switch a := r.Arms[arm]; {
		case a.Control:
			control = append(control, arm)
		case a.Active:
			others = append(others, arm)
		}
	}
	arms := slices.Concat(control, others)
	if len(arms) == 0 {
		return err
	}
	command := "noregret experiment conclude " + name
	text := fmt.Sprintf("%s --mixture %s", command, shellWord(arms[0]+"=1"))
	if len(arms) > 1 {
		text += fmt.Sprintf(", or %s --mixture %s --mixture %s", command, shellWord(arms[0]+"=0.5"),
			shellWord(arms[1]+"=0.5"))
	}
	return noregret.Errorf(e.Code, "", "%w; for example %s", err, text)
}

// shellWord quotes a word for a shell where it needs that.
func shellWord(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789=._-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
