package service

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
)

// getOptions are the flags of "noregret experiment get".
type getOptions struct {
	*remote
	command.Output
}

// newGetCommand makes "noregret experiment get".
func newGetCommand(a *command.App, r *remote) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "get NAME",
		Short: "Print the definition of an experiment",
		Long: `Print the definition in force of an experiment as YAML, with all defaults; as JSON if YAML
cannot hold the value of an arm. To change an experiment, edit this file and apply it.`,
		Example: `  noregret experiment get ranking > ranking.yaml
  noregret experiment get ranking --json`,
		Args: oneName,
	}, &getOptions{remote: r})
}

// AddFlags implements [command.Options].
func (o *getOptions) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.JSON, "json", o.JSON, "print JSON, as the API answers it")
}

// Run implements [command.Options].
func (o *getOptions) Run(ctx context.Context, a *command.App, args []string) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	if o.JSON {
		text, err := c.Definition(ctx, args[0])
		if err != nil {
			return err
		}
		return show.JSON(a.Stdout, text)
	}
	d, err := inForce(ctx, c, args[0])
	if err != nil {
		return err
	}
	text, err := definition.Text(d)
	if err != nil {
		return err
	}
	_, err = io.WriteString(a.Stdout, text)
	return err
}

// inForce returns the definition of an experiment of the service.
func inForce(ctx context.Context, c *client.Client, name string) (*definition.Definition, error) {
	text, err := c.Definition(ctx, name)
	if err != nil {
		return nil, err
	}
	return definition.ParseStored("the definition of "+name, text)
}
