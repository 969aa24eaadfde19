package service

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/legible"
)

// diffOptions are the flags of "noregret experiment diff".
type diffOptions struct {
	*remote
	command.Output
	name string
}

// newDiffCommand makes "noregret experiment diff".
func newDiffCommand(a *command.App, r *remote) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "diff FILE",
		Short: "Show how a file differs from the definition in force",
		Long: `Show the fields in which a file, or standard input for -, differs from the definition in force of
the experiment that it names, or of --experiment. Both have their defaults, so that only
differences of meaning are shown: lines with - are in force, lines with + are in the file. It needs
an access token with the role read only; "apply --dry-run" also says what of the evidence is kept.`,
		Example: `  noregret experiment diff ranking.yaml

  # How one experiment differs from another
  noregret experiment get ranking2 | noregret experiment diff --experiment ranking -`,
		Args: command.Args(1, "the file of a definition"),
	}, &diffOptions{remote: r})
}

// AddFlags implements [command.Options].
func (o *diffOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.name, "experiment", o.name, "the experiment to compare with (default the one that the file names)")
	o.Output.AddFlags(f)
}

// Run implements [command.Options].
func (o *diffOptions) Run(ctx context.Context, a *command.App, args []string) error {
	text, err := a.ReadFile(args[0])
	if err != nil {
		return err
	}
	d, err := definition.Parse(args[0], text)
	if err != nil {
		return err
	}
	c, err := o.client()
	if err != nil {
		return err
	}
	name := o.name
	if name == "" {
		name = d.Name
	}
	old, err := inForce(ctx, c, name)
	if err != nil {
		return err
	}
	changes, err := definition.Diff(old, d)
	if err != nil {
		return err
	}
	if o.JSON {
		return show.JSON(a.Stdout, map[string]any{"experiment": name, "changes": changes})
	}
	if len(changes) == 0 {
		_, err := fmt.Fprintln(a.Stdout, "no difference")
		return err
	}
	return writeChanges(a.Stdout, changes)
}

// writeChanges prints the fields in which definitions differ.
func writeChanges(w io.Writer, changes []api.FieldChange) error {
	for _, c := range changes {
		if c.Before != nil {
			if _, err := fmt.Fprintf(w, "- %s: %s\n", legible.Text(c.Path), legible.JSON(c.Before)); err != nil {
				return err
			}
		}
		if c.After != nil {
			if _, err := fmt.Fprintf(w, "+ %s: %s\n", legible.Text(c.Path), legible.JSON(c.After)); err != nil {
				return err
			}
		}
	}
	return nil
}
