package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/classify"
)

// algorithmsOptions are the flags of "noregret algorithms".
type algorithmsOptions struct{ outputOptions }

// newAlgorithmsCommand makes "noregret algorithms".
func newAlgorithmsCommand(a *app) *cobra.Command {
	return newCommand(a, &cobra.Command{
		Use:   "algorithms",
		Short: "List the algorithms",
		Long: `List the algorithms that train and compare know, the project's own first: the name, whether the
threshold is tuned by default, and what it does. With --json the output is a list of {name,
tunes_threshold, description}.`,
		Example: "  noregret algorithms",
		Args:    noArgs,
	}, &algorithmsOptions{})
}

// Run implements options.
func (o *algorithmsOptions) Run(_ context.Context, a *app, _ []string) error {
	type entry struct {
		Name           string `json:"name"`
		TunesThreshold bool   `json:"tunes_threshold"`
		Description    string `json:"description"`
	}
	var list []entry
	t := table{left: map[int]bool{1: true, 2: true}}
	t.add("algorithm", "threshold", "what it does")
	for _, x := range classify.Algorithms() {
		list = append(list, entry{x.Name, x.TunesThreshold, x.Description})
		rule := "zero"
		if x.TunesThreshold {
			rule = "tuned"
		}
		t.add(x.Name, rule, x.Description)
	}
	if o.json {
		return writeJSON(a.stdout, list)
	}
	return t.write(a.stdout)
}
