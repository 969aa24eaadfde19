package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/definition"
)

// applyOptions are the flags of "noregret experiment apply".
type applyOptions struct {
	*remote
	dryRun bool
}

// newApplyCommand makes "noregret experiment apply".
func newApplyCommand(a *app, r *remote) *cobra.Command {
	return newCommand(a, &cobra.Command{
		Use:   "apply FILE...",
		Short: "Create or change experiments from files",
		Long: `Create or change experiments from definitions, files in YAML or JSON; - is standard
input. Every file is checked before the first is applied; an error names file, line and path.
Applying the same definition again changes nothing. A note names guardrails that cannot be exact, as
their metric has neither a range nor a cap.`,
		Example: `  noregret experiment apply ranking.yaml

  # Only check the file
  noregret experiment apply --dry-run ranking.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return noregret.Errorf(noregret.Usage, "", "apply takes the files of definitions, got none")
			}
			return nil
		},
	}, &applyOptions{remote: r})
}

// AddFlags implements options.
func (o *applyOptions) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.dryRun, "dry-run", o.dryRun, "check the files only; do not contact the service")
}

// Validate implements options.
func (o *applyOptions) Validate() error { return nil }

// Run implements options.
func (o *applyOptions) Run(ctx context.Context, a *app, files []string) error {
	type document struct {
		name string
		text []byte
	}
	var all []document
	for _, file := range files {
		text, err := a.readFile(file)
		if err != nil {
			return err
		}
		d, err := definition.Parse(file, text)
		if err != nil {
			return err
		}
		for _, text := range definition.Notes(d) {
			a.note("%s: %s", file, text)
		}
		all = append(all, document{d.Name, text})
	}
	if o.dryRun {
		for _, d := range all {
			if _, err := fmt.Fprintf(a.stdout, "%s: valid\n", d.name); err != nil {
				return err
			}
		}
		return nil
	}
	c, err := o.client()
	if err != nil {
		return err
	}
	for _, d := range all {
		v, err := c.Apply(ctx, d.name, d.text)
		if err != nil {
			return err
		}
		what := "unchanged"
		switch {
		case v.Created:
			what = "created"
		case v.Changed:
			what = "changed"
		}
		if _, err := fmt.Fprintf(a.stdout, "%s: %s, version %d\n", v.Name, what, v.Version); err != nil {
			return err
		}
	}
	return nil
}

// readFile reads a file, or standard input for "-".
func (a *app) readFile(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(io.LimitReader(a.stdin, 2<<20))
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, noregret.Errorf(noregret.NotFound, file, "the file cannot be read: %w", err)
	}
	return b, nil
}
