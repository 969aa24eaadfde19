package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
)

// applyOptions are the flags of "noregret experiment apply".
type applyOptions struct {
	*remote
	command.Output
	dryRun, check bool
}

// newApplyCommand makes "noregret experiment apply".
func newApplyCommand(a *command.App, r *remote) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "apply FILE...",
		Short: "Create or change experiments from files",
		Long: `Create or change experiments from definitions, files in YAML or JSON; - is standard
input. Every file is checked before the first is applied; an error names file, line and path.
Applying the same definition again changes nothing. A note names guardrails that cannot be exact, as
their metric has neither a range nor a cap, and a privacy budget that protects little (epsilon above
10, delta of one over the number of units or more). When a private experiment begins, or would with
--dry-run, a note says which account of the privacy ledger begins and what others have spent.

With --dry-run the service says what would change, or why it would refuse the change, and changes
nothing: the fields that differ, the shares of the arms, whether a new policy version begins, and
what of the evidence is kept.`,
		Example: `  noregret experiment apply ranking.yaml

  # What would it change?
  noregret experiment apply --dry-run ranking.yaml

  # Only check the file, without a service
  noregret experiment apply --check ranking.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return noregret.Errorf(noregret.Usage, "", "apply takes the files of definitions, got none")
			}
			return nil
		},
	}, &applyOptions{remote: r})
}

// AddFlags implements [command.Options].
func (o *applyOptions) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.dryRun, "dry-run", o.dryRun, "ask the service what would change; change nothing")
	f.BoolVar(&o.check, "check", o.check, "check the files only; do not contact the service")
	f.BoolVar(&o.JSON, "json", o.JSON, "print JSON, as the API answers it, one line for each file")
}

// Validate implements [command.Options].
func (o *applyOptions) Validate() error {
	if o.check && (o.dryRun || o.JSON) {
		return noregret.Errorf(noregret.Usage, "--check", "it asks no service: want it without --dry-run and --json")
	}
	return nil
}

// document is a definition with its file and text.
type document struct {
	file, name string
	text       []byte
	notes      []string
}

// read reads and checks the files.
func (o *applyOptions) read(a *command.App, files []string) (all []document, err error) {
	for _, file := range files {
		text, err := a.ReadFile(file)
		if err != nil {
			return nil, err
		}
		d, err := definition.Parse(file, text)
		if err != nil {
			return nil, err
		}
		notes := definition.Notes(d)
		for _, text := range notes {
			a.Note("%s: %s", file, text)
		}
		all = append(all, document{file, d.Name, text, notes})
	}
	return all, nil
}

// Run implements [command.Options].
func (o *applyOptions) Run(ctx context.Context, a *command.App, files []string) error {
	all, err := o.read(a, files)
	if err != nil {
		return err
	}
	if o.check {
		for _, d := range all {
			if _, err := fmt.Fprintf(a.Stdout, "%s: valid\n", d.name); err != nil {
				return err
			}
		}
		return nil
	}
	c, err := o.client()
	if err != nil {
		return err
	}
	apply := c.Apply
	if o.dryRun {
		apply = c.Preview
	}
	for _, d := range all {
		v, err := apply(ctx, d.name, d.text)
		if err != nil {
			if e, ok := errors.AsType[*noregret.Error](err); ok && e.Code == noregret.BadInput {
				return noregret.Errorf(e.Code, d.file, "%w", err)
			}
			return err
		}
		for _, text := range v.Warnings {
			if !slices.Contains(d.notes, text) { // which is printed
				a.Note("%s: %s", d.name, text)
			}
		}
		if o.JSON {
			err = json.NewEncoder(a.Stdout).Encode(v)
		} else {
			err = writeApplied(a.Stdout, &v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeApplied prints what applying a definition has changed or would change.
func writeApplied(w io.Writer, v *api.Applied) error {
	what := "unchanged"
	switch {
	case v.Created:
		what = "created"
	case v.Changed:
		what = "changed"
	}
	p := v.Preview
	if p == nil || !v.Changed {
		_, err := fmt.Fprintf(w, "%s: %s, version %d\n", v.Name, what, v.Version)
		return err
	}
	if _, err := fmt.Fprintf(w, "%s: would be %s, version %d begins\n\n", v.Name, what, p.Next); err != nil {
		return err
	}
	if err := writeChanges(w, p.Changes); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	t := show.Table{}
	t.Add("arm", "share now", "then")
	for _, s := range p.Shares {
		now := show.Number(s.Before).String()
		if v.Created {
			now = "-"
		}
		t.Add(s.Arm, now, show.Number(s.After).String())
	}
	if err := t.Write(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", strings.Join(show.LegibleAll(p.Evidence), "\n"))
	return err
}
