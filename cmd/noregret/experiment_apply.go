package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
)

// applyOptions are the flags of "noregret experiment apply".
type applyOptions struct {
	*remote
	outputOptions
	dryRun, check bool
}

// newApplyCommand makes "noregret experiment apply".
func newApplyCommand(a *app, r *remote) *cobra.Command {
	return newCommand(a, &cobra.Command{
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

// AddFlags implements options.
func (o *applyOptions) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.dryRun, "dry-run", o.dryRun, "ask the service what would change; change nothing")
	f.BoolVar(&o.check, "check", o.check, "check the files only; do not contact the service")
	f.BoolVar(&o.json, "json", o.json, "print JSON, as the API answers it, one line for each file")
}

// Validate implements options.
func (o *applyOptions) Validate() error {
	if o.check && (o.dryRun || o.json) {
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
func (o *applyOptions) read(a *app, files []string) (all []document, err error) {
	for _, file := range files {
		text, err := a.readFile(file)
		if err != nil {
			return nil, err
		}
		d, err := definition.Parse(file, text)
		if err != nil {
			return nil, err
		}
		notes := definition.Notes(d)
		for _, text := range notes {
			a.note("%s: %s", file, text)
		}
		all = append(all, document{file, d.Name, text, notes})
	}
	return all, nil
}

// Run implements options.
func (o *applyOptions) Run(ctx context.Context, a *app, files []string) error {
	all, err := o.read(a, files)
	if err != nil {
		return err
	}
	if o.check {
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
				a.note("%s: %s", d.name, text)
			}
		}
		if o.json {
			err = json.NewEncoder(a.stdout).Encode(v)
		} else {
			err = writeApplied(a.stdout, &v)
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
	t := table{}
	t.add("arm", "share now", "then")
	for _, s := range p.Shares {
		now := number(s.Before).String()
		if v.Created {
			now = "-"
		}
		t.add(s.Arm, now, number(s.After).String())
	}
	if err := t.write(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", strings.Join(legibleAll(p.Evidence), "\n"))
	return err
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
