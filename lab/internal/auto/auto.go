// Package auto compares the training that chooses features, learner and threshold by itself with
// each algorithm by name, on the sets in a directory of data, and checks the intervals of its
// figures. It prints the tables of lab/docs/auto.md.
package auto

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/lab/internal/sets"
	"github.com/noregret/noregret/lab/internal/study"
)

// Command returns the command "noregret-lab auto".
func Command() *cobra.Command {
	c := &cobra.Command{
		Use:   "auto",
		Short: "Compare --algorithm auto with each algorithm by name, on sets of data",
		Long: `Train with --algorithm auto and with each algorithm by name on random splits of the sets in a
directory of data, 70 % of the rows to train on, and print the measures on the rest: of auto, of the
best single algorithm in hindsight with its spread over the splits, of the usual algorithm, and the
processor time of auto in trainings of the usual algorithm. Sets that are not there are left out, with a note. All sets
take hours.

With --coverage, train on --rows rows of each set and compare the intervals of the figures, for auto
or the algorithms named, with the values on all other rows.`,
		Example: "  noregret-lab auto --data DIR --sets page-blocks0,letter --splits 3\n" +
			"  noregret-lab auto --data DIR --coverage --sets weather --measures f1 --rows 2000 --splits 200",
	}
	f, o := c.Flags(), options{}
	f.StringVar(&o.dir, "data", "../../shared/data", "directory of the data sets")
	f.StringSliceVar(&o.sets, "sets", nil, "names of the sets; empty for all")
	f.StringSliceVar(&o.measures, "measures", []string{"f1", "gmean", "qmean", "min", "macro_f1"},
		"measures; macro_f1 is for sets of several classes, the others are for those of two")
	f.StringSliceVar(&o.algorithms, "algorithms", nil, "algorithms beside auto; empty for all")
	f.IntVar(&o.splits, "splits", 5, "random splits of each set, at least 2")
	f.Float64Var(&o.share, "train-share", 0.7, "share of the rows that are trained on")
	f.BoolVar(&o.covers, "coverage", false, "compare the intervals of the figures with the values on other rows")
	f.IntVar(&o.rows, "rows", 2000, "with --coverage: the rows that are trained on")
	return study.New(c, "trainings", o.run)
}

// options say what to measure.
type options struct {
	dir                        string
	sets, measures, algorithms []string
	splits, rows               int
	share                      float64
	covers                     bool
}

// all are the sets of two and of several classes.
func all() []sets.Set { return slices.Concat(sets.Two, sets.Many) }

// run measures.
func (o *options) run(ctx context.Context, r *study.Runner) (*study.Report, error) {
	if o.splits < 2 {
		return nil, noregret.Errorf(noregret.Usage, "--splits", "%d, want at least 2", o.splits)
	}
	names := study.Names(all(), func(b *sets.Set) string { return b.Name })
	if err := study.Known("--sets", o.sets, names); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "auto")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temp) }() // what is left there is small
	t := &table{}
	found := false
	for _, b := range all() {
		if len(o.sets) > 0 && !slices.Contains(o.sets, b.Name) {
			continue
		}
		if path := b.Missing(o.dir); path != "" {
			fmt.Fprintf(r.Notes, "skipped: %s: %s is missing\n", b.Name, path)
			continue
		}
		found = true
		data, err := b.Load(ctx, o.dir, temp)
		if err != nil {
			return t.report(), err
		}
		if err := errors.Join(o.measureSet(ctx, r, b.Name, data, t), data.Set.Close()); err != nil {
			return t.report(), fmt.Errorf("%s: %w", b.Name, err)
		}
	}
	if !found {
		return nil, study.Missing(o.dir, "data set of this comparison")
	}
	return t.report(), nil
}

// measureSet adds a line for each measure of the set's task.
func (o *options) measureSet(ctx context.Context, r *study.Runner, name string, data classify.Data, t *table) error {
	for _, m := range o.measures {
		if strings.Contains(m, "_") != (data.Task == classify.Multiclass) {
			continue
		}
		objective, err := data.Task.Measure(m)
		if err != nil {
			return err
		}
		if o.covers {
			for _, algorithm := range o.covered() {
				if err := o.coverage(ctx, r, name, data, algorithm, m, &t.covered); err != nil {
					return err
				}
			}
			continue
		}
		opt := classify.DefaultCompareOptions()
		opt.Measures, opt.Splits, opt.TrainShare = []measure.Objective{objective}, o.splits, o.share
		opt.Algorithms, opt.Clock, opt.Seed = o.algorithms, processorTime, 1
		if len(opt.Algorithms) == 0 {
			opt.Algorithms = classify.AlgorithmNames(data.Task)
		}
		opt.Algorithms = append([]string{classify.Auto}, opt.Algorithms...)
		c, err := classify.Compare(ctx, data, opt)
		if err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
		t.add(name, m, classify.DefaultAlgorithm(data.Task, objective), c)
		r.Step()
	}
	return nil
}

// covered are the algorithms whose figures are compared.
func (o *options) covered() []string {
	if len(o.algorithms) == 0 {
		return []string{classify.Auto}
	}
	return o.algorithms
}

// processorTime is the processor time that the program has taken, as a time.
func processorTime() time.Time { return time.Unix(0, 0).Add(processorNow()) }
