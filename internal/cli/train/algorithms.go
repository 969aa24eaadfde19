package train

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
)

// taskOptions are the flags of commands that list what is available for a task.
type taskOptions struct {
	command.Output
	task string
	list func(classify.Task) (list any, t *show.Table, err error)
}

// taskNames are the values of --task, the default first.
var taskNames = []string{
	classify.Binary.String(), classify.Multiclass.String(), classify.Multilabel.String(),
}

// taskOf returns the task of a value of --task.
func taskOf(name string) classify.Task { return classify.Task(slices.Index(taskNames, name)) }

// AddFlags implements [command.Options].
func (o *taskOptions) AddFlags(f *pflag.FlagSet) {
	o.Output.AddFlags(f)
	f.Var(command.NewChoice(&o.task, taskNames...), "task", "two classes, several classes, or several labels a row")
}

// Run implements [command.Options]. It writes the list as a table or as JSON.
func (o *taskOptions) Run(_ context.Context, a *command.App, _ []string) error {
	list, t, err := o.list(taskOf(o.task))
	switch {
	case err != nil:
		return err
	case o.JSON:
		return show.JSON(a.Stdout, list)
	}
	return t.Write(a.Stdout)
}

// newAlgorithmsCommand makes "noregret algorithms".
func newAlgorithmsCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "algorithms",
		Short: "List the algorithms",
		Long: `List the algorithms of train and compare, the project's own first: the name,
whether the threshold is tuned by default, and what the algorithm does. With --json the output is
a list of {name, tunes_threshold, description}.`,
		Example: "  noregret algorithms\n  noregret algorithms --task multiclass",
		Args:    command.NoArgs,
	}, &taskOptions{task: taskNames[0], list: listAlgorithms})
}

// listAlgorithms lists the algorithms of a task.
func listAlgorithms(task classify.Task) (any, *show.Table, error) {
	type entry struct {
		Name           string `json:"name"`
		TunesThreshold bool   `json:"tunes_threshold"`
		Description    string `json:"description"`
	}
	var list []entry
	t := show.Table{Left: map[int]bool{1: true, 2: true}}
	t.Add("algorithm", "threshold", "what it does")
	for _, x := range classify.Algorithms(task) {
		list = append(list, entry{x.Name, x.TunesThreshold, x.Description})
		rule := "zero"
		if x.TunesThreshold {
			rule = "tuned"
		}
		t.Add(x.Name, rule, x.Description)
	}
	return list, &t, nil
}
