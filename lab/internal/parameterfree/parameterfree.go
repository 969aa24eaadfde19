// Package parameterfree compares training without a learning rate with the default step size and
// with a search for it, on the sets of two classes in a directory of data, and prints the tables of
// lab/docs/parameterfree.md.
package parameterfree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/lab/internal/sets"
	"github.com/noregret/noregret/lab/internal/study"
)

// Command returns the command "noregret-lab parameterfree".
func Command() *cobra.Command {
	c := &cobra.Command{
		Use:   "parameterfree",
		Short: "Compare --rate auto with the default step size and with a search for it",
		Long: `Train without a learning rate, with the default step size and with a search for it, on the sets of
two classes in a directory of data, and print the measure on held-out data and the training loss.
Sets that are not there are left out, with a note. All sets take some 15 minutes on one core.`,
		Example: "  noregret-lab parameterfree --data DIR --sets a9a,w8a --trainers sgd-hinge",
	}
	f, o := c.Flags(), options{}
	f.StringVar(&o.dir, "data", "../../shared/data", "directory of the data sets")
	f.StringSliceVar(&o.sets, "sets", nil, "names of the sets; empty for all")
	f.StringSliceVar(&o.trainers, "trainers", trainers, "names of the trainers")
	f.IntVar(&o.seeds, "seeds", 3, "seeds of the split, the order of the examples and the held-out part, at least 2")
	f.IntVar(&o.passes, "passes", 10, "passes over the data, 0 for the default of the trainer")
	return study.New(c, "trainings", o.run)
}

// trainers are those that need a learning rate.
var trainers = []string{"sgd-logistic", "sgd-hinge", "spade", "stamp"}

// options say what to measure.
type options struct {
	dir            string
	sets, trainers []string
	seeds, passes  int
}

// run measures; there is a table for each trainer.
func (o *options) run(ctx context.Context, r *study.Runner) (*study.Report, error) {
	if o.seeds < 2 || o.passes < 0 {
		return nil, noregret.Errorf(noregret.Usage, "", "%d seeds and %d passes: want at least 2 and 0", o.seeds,
			o.passes)
	}
	names := study.Names(sets.Two, func(b *sets.Set) string { return b.Name })
	if err := study.Known("--sets", o.sets, names); err != nil {
		return nil, err
	}
	if err := study.Known("--trainers", o.trainers, trainers); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "parameterfree")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temp) }() // what is left there is small
	chosen := slices.DeleteFunc(slices.Clone(sets.Two), func(b sets.Set) bool {
		return len(o.sets) > 0 && !slices.Contains(o.sets, b.Name)
	})
	if !slices.ContainsFunc(chosen, func(b sets.Set) bool { return b.Missing(o.dir) == "" }) {
		return nil, study.Missing(o.dir, "data set of this comparison")
	}
	rows := map[string][]row{}
	for _, b := range chosen {
		if path := b.Missing(o.dir); path != "" {
			fmt.Fprintf(r.Notes, "skipped: %s: %s is missing\n", b.Name, path)
			continue
		}
		data, err := b.Load(ctx, o.dir, temp)
		if err != nil {
			return o.report(rows), err
		}
		if err := errors.Join(o.measureSet(ctx, r, b.Name, data, rows), data.Set.Close()); err != nil {
			return o.report(rows), err
		}
	}
	return o.report(rows), nil
}

// measureSet adds a row of every trainer.
func (o *options) measureSet(ctx context.Context, r *study.Runner, set string, data classify.Data,
	rows map[string][]row,
) error {
	m := measurement{seeds: o.seeds, passes: o.passes}
	for _, trainer := range o.trainers {
		x, err := m.measure(ctx, set, trainer, data)
		if err != nil {
			return fmt.Errorf("%s by %s: %w", set, trainer, err)
		}
		rows[trainer] = append(rows[trainer], x)
		r.Step()
	}
	return nil
}

// report has a table for each trainer with rows.
func (o *options) report(rows map[string][]row) *study.Report {
	out := &study.Report{}
	for _, trainer := range o.trainers {
		if len(rows[trainer]) > 0 {
			out.Tables = append(out.Tables, tableOf(trainer, rows[trainer]))
		}
	}
	return out
}
