package service

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
)

// cloneOptions are the flags of "noregret experiment clone".
type cloneOptions struct {
	*remote
	command.Output
	dryRun bool
}

// newCloneCommand makes "noregret experiment clone".
func newCloneCommand(a *command.App, r *remote) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "clone NAME NEW",
		Short: "Create an experiment with the definition of another one",
		Long: `Create the experiment NEW with the definition of NAME. It begins without evidence. Its salt is its
name, so that it splits units independently, unless the definition of NAME has a salt of its own.
To change more than the name, print the definition by --dry-run, edit and apply it.`,
		Example: `  noregret experiment clone ranking ranking2

  # Only print the new definition
  noregret experiment clone ranking ranking2 --dry-run > ranking2.yaml`,
		Args: command.Args(2, "the names of an experiment and of the new one"),
	}, &cloneOptions{remote: r})
}

// AddFlags implements [command.Options].
func (o *cloneOptions) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.dryRun, "dry-run", o.dryRun, "print the new definition; create nothing")
	f.BoolVar(&o.JSON, "json", o.JSON, "print JSON, as the API answers it; with --dry-run the definition")
}

// Run implements [command.Options].
func (o *cloneOptions) Run(ctx context.Context, a *command.App, args []string) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	d, err := inForce(ctx, c, args[0])
	if err != nil {
		return err
	}
	if d.Salt == d.Name {
		d.Salt = args[1]
	}
	d.Name = args[1]
	text, err := definition.Text(d)
	if err != nil {
		return err
	}
	if _, err := definition.Parse("the new definition", []byte(text)); err != nil {
		return err
	}
	if o.dryRun {
		if o.JSON {
			return show.JSON(a.Stdout, d)
		}
		_, err := io.WriteString(a.Stdout, text)
		return err
	}
	v, err := c.Create(ctx, d.Name, []byte(text))
	if err != nil {
		return err
	}
	if o.JSON {
		return show.JSON(a.Stdout, v)
	}
	_, err = fmt.Fprintf(a.Stdout, "%s: created, version %d\n", v.Name, v.Version)
	return err
}
