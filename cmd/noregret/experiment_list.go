package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// listOptions are the flags of "noregret experiment list".
type listOptions struct {
	*remote
	outputOptions
}

// newListCommand makes "noregret experiment list".
func newListCommand(a *app, r *remote) *cobra.Command {
	return newCommand(a, &cobra.Command{
		Use:     "list",
		Short:   "List the experiments",
		Long:    "List the experiments of the service: name, state, policy version, round, description.",
		Example: "  noregret experiment list",
		Args:    noArgs,
	}, &listOptions{remote: r})
}

// AddFlags implements options.
func (o *listOptions) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.json, "json", o.json, "print JSON, as the API answers it")
}

// Run implements options.
func (o *listOptions) Run(ctx context.Context, a *app, _ []string) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	list, err := c.Experiments(ctx)
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(a.stdout, map[string]any{"experiments": list})
	}
	t := table{left: map[int]bool{1: true, 4: true}}
	t.add("name", "state", "version", "round", "description")
	for _, s := range list {
		t.add(s.Name, string(s.State), strconv.FormatUint(s.Version, 10), strconv.FormatUint(s.Round, 10),
			s.Description)
	}
	return t.write(a.stdout)
}
