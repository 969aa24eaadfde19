package arena

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/lab/internal/study"
	"github.com/noregret/noregret/lab/world"
)

// Command returns the command "noregret-lab arena".
func Command() *cobra.Command {
	c := &cobra.Command{
		Use:   "arena",
		Short: "Play the policy of the service and its peers on families of users' problems",
		Long: `Play the policy of the service, package mixture, and its peers side by side, with the same draws
for all, on families of problems as users have them. --drift plays its memories on worlds whose
means change, --served plays it beside the peers that plan on all families.`,
		Example: `  noregret-lab arena --runs 100
  noregret-lab arena --families week,drift --learners mixture,greedy-2-safe --json
  noregret-lab arena --drift --runs 200
  noregret-lab arena --served --runs 20 --seed 4242`,
	}
	var o Options
	f := c.Flags()
	f.StringSliceVar(&o.Families, "families", nil, "names of the families to play; empty for all")
	f.StringSliceVar(&o.Learners, "learners", nil, "names of the learners; empty for all")
	list := f.Bool("list", false, "list families and learners, and play nothing")
	drifting := f.Bool("drift", false, "play the families and the learners for means that change")
	served := f.Bool("served", false, "play all families with package mixture and the peers that plan")
	f.IntVar(&o.Runs, "runs", 100, "runs of each family, at least 2")
	f.Uint64Var(&o.Seed, "seed", 1, "seed")
	return study.New(c, "runs", func(ctx context.Context, r *study.Runner) (*study.Report, error) {
		if *list {
			return &study.Report{Head: listed()}, nil
		}
		if *drifting {
			if err := o.useDrift(); err != nil {
				return nil, err
			}
		} else if *served {
			o.useServed()
		}
		o.Workers, o.Progress = r.Workers, func(int, int) { r.Step() }
		x, err := Run(ctx, o)
		if err != nil {
			return nil, err
		}
		return x.Report(), nil
	})
}

// useDrift replaces the families and the learners that are not named by those for drift.
func (o *Options) useDrift() error {
	names := study.Names(DriftLearners(), func(e *Entry) string { return e.Name })
	if err := study.Known("--learners", o.Learners, names); err != nil {
		return err
	}
	if len(o.Families) == 0 {
		o.Families = study.Names(world.DriftFamilies(), func(f *world.Family) string { return f.Name })
	}
	for _, e := range DriftLearners() {
		if len(o.Learners) == 0 || slices.Contains(o.Learners, e.Name) {
			o.Entries = append(o.Entries, e)
		}
	}
	return nil
}

// useServed replaces the families and the learners that are not named by all of them, and by the
// policy of package mixture beside those that plan.
func (o *Options) useServed() {
	if len(o.Families) == 0 {
		o.Families = study.Names(world.All(), func(f *world.Family) string { return f.Name })
	}
	if len(o.Learners) == 0 {
		o.Learners = []string{
			"mixture", "small", "greedy-2", "greedy-2-safe", "optimistic", "optimistic-safe", "contrasts",
			"contrasts-safe",
		}
	}
}

// listed lists families and learners.
func listed() string {
	b := &strings.Builder{}
	for _, f := range world.All() {
		fmt.Fprintf(b, "family %s: %s\n", f.Name, f.About)
	}
	for _, e := range Learners() {
		fmt.Fprintf(b, "learner %s: %s\n", e.Name, e.About)
	}
	return b.String()
}
