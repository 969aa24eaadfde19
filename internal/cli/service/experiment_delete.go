package service

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/legible"
)

// deleteOptions are the flags of "noregret experiment delete".
type deleteOptions struct {
	*remote
	reason   string
	yes, now bool
}

// newDeleteCommand makes "noregret experiment delete".
func newDeleteCommand(a *command.App, r *remote) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete an experiment; restore brings it back for a while",
		Long: `Delete an experiment. It asks to type the name, unless --yes is given; without a terminal --yes is
needed.

The service keeps the experiment for a grace time ("noregret serve --delete-grace", 7 days by
default), in which "noregret experiment restore" brings it back as it was. Until then it makes no
decisions, feedback that still comes is rejected, and no other experiment can have its name; "list
--deleted" shows it. With --now it is deleted for good, also if it was deleted before. Its events
stay in the log.`,
		Example: `  noregret experiment delete ranking --reason "replaced by ranking-2"
  noregret experiment delete ranking --yes --now   # for good, in a script
  noregret experiment restore ranking`,
		Args: oneName,
	}, &deleteOptions{remote: r})
}

// AddFlags implements [command.Options].
func (o *deleteOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.reason, "reason", o.reason, "why, for the log")
	f.BoolVar(&o.yes, "yes", false, "do not ask")
	f.BoolVar(&o.now, "now", false, "delete it for good: it cannot be restored")
}

// Validate implements [command.Options].
func (o *deleteOptions) Validate() error { return nil }

// Run implements [command.Options].
func (o *deleteOptions) Run(ctx context.Context, a *command.App, args []string) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	name := args[0]
	if !o.yes {
		if err := confirmName(ctx, a, name); err != nil {
			return err
		}
	}
	if err := c.Delete(ctx, name, o.reason, o.now); err != nil {
		return err
	}
	return o.deleted(ctx, a, c, name)
}

// deleted says that an experiment was deleted, and whether it can be restored, which only the list
// of such experiments says.
func (o *deleteOptions) deleted(ctx context.Context, a *command.App, c *client.Client, name string) error {
	line := name + ": deleted for good"
	if !o.now {
		kept, err := c.Deleted(ctx)
		if err != nil {
			line = fmt.Sprintf("%s: deleted; whether it can be restored is not known: %s", name,
				legible.Text(err.Error()))
		}
		for _, s := range kept {
			if s.Name == name && s.Deleted != nil {
				line = fmt.Sprintf("%[1]s: deleted; noregret experiment restore %[1]s brings it back until %[2]s", name,
					s.Deleted.Until.UTC().Format(time.RFC3339))
			}
		}
	}
	_, err := fmt.Fprintln(a.Stdout, line)
	return err
}

// confirmName returns an error unless the name of an experiment is typed.
func confirmName(ctx context.Context, a *command.App, name string) error {
	if !a.Asks() {
		return noregret.Errorf(noregret.Usage, "--yes", "the standard input is no terminal, so the name cannot be "+
			"typed: want --yes to delete %q without being asked", name)
	}
	if _, err := fmt.Fprintf(a.Stderr, "type the name of the experiment to delete it (%s): ", name); err != nil {
		return err
	}
	typed, err := bufio.NewReader(a.Input(ctx)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if typed = strings.TrimSpace(typed); typed != name {
		return noregret.Errorf(noregret.Usage, "NAME", "%q was typed, want %q: nothing was deleted", typed, name)
	}
	return nil
}
