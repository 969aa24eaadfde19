// Package auto compares the training that chooses features, learner and threshold by itself with
// each algorithm by name and with a tuned logistic regression of scikit-learn, on the sets in a
// directory of data, and checks the intervals of its figures. It prints the tables of
// lab/docs/auto.md.
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
best single algorithm in hindsight with its spread over the splits, of the usual algorithm and of a
logistic regression of scikit-learn that is tuned on the same rows (scaling, class weights, C and
threshold), and the processor time of auto in trainings of the usual algorithm: alone, and with the
figures that noregret train states beside it, as auto does. Sets that are not there are left out,
and scikit-learn where Python does not have it, with a note. All sets take hours.

With --cells, every result is kept in a file at once, and what the file has is not measured again: a
run that was interrupted goes on. The first splits of all sets come first. --forget measures an
algorithm anew.

With --files, the sets are files of yours, each read as noregret train reads it, with the label found
by its name.

With --coverage, train on --rows rows of each set and compare the intervals of the figures, for auto
or the algorithms named, with the values on all other rows.`,
		Example: "  noregret-lab auto --data DIR --sets page-blocks0,letter --splits 3\n" +
			"  noregret-lab auto --files churn.csv,fraud.csv.gz --splits 10\n" +
			"  noregret-lab auto --data DIR --splits 10 --cells cells.json --forget auto\n" +
			"  noregret-lab auto --data DIR --coverage --sets weather --measures f1 --rows 2000 --splits 200",
	}
	f, o := c.Flags(), options{}
	f.StringVar(&o.dir, "data", "../../shared/data", "directory of the data sets")
	f.StringSliceVar(&o.sets, "sets", nil, "names of the sets; empty for all")
	f.StringSliceVar(&o.files, "files", nil, "files in the place of the sets, or beside those of --sets")
	f.StringSliceVar(&o.measures, "measures", []string{"f1", "gmean", "qmean", "min", "macro_f1"},
		"measures; macro_f1 is for sets of several classes, the others are for those of two")
	f.StringSliceVar(&o.algorithms, "algorithms", nil, "algorithms beside auto; empty for all")
	f.StringVar(&o.python, "python", "python3", "Python with scikit-learn; empty for no comparison with it")
	f.StringVar(&o.cells, "cells", "", "file of results: those in it are taken, new ones are added")
	f.StringSliceVar(&o.forget, "forget", nil, "algorithms whose results in --cells are dropped")
	f.IntVar(&o.splits, "splits", 5, "random splits of each set, at least 2")
	f.Float64Var(&o.share, "train-share", 0.7, "share of the rows that are trained on")
	f.BoolVar(&o.covers, "coverage", false, "compare the intervals of the figures with the values on other rows")
	f.IntVar(&o.rows, "rows", 2000, "with --coverage: the rows that are trained on")
	return study.New(c, "trainings", o.run)
}

// options say what to measure.
type options struct {
	dir, python, cells           string
	sets, files                  []string
	measures, algorithms, forget []string
	splits, rows                 int
	share                        float64
	covers                       bool
}

// all are the sets of two and of several classes.
func all() []sets.Set { return slices.Concat(sets.Two, sets.Many) }

// run measures.
func (o *options) run(ctx context.Context, r *study.Runner) (*study.Report, error) {
	if o.splits < 2 {
		return nil, noregret.Errorf(noregret.Usage, "--splits", "%d, want at least 2", o.splits)
	}
	if o.covers && o.cells != "" {
		return nil, noregret.Errorf(noregret.Usage, "--cells", "has no results of --coverage")
	}
	names := study.Names(all(), func(b *sets.Set) string { return b.Name })
	if err := study.Known("--sets", o.sets, names); err != nil {
		return nil, err
	}
	var chosen []sets.Set
	for _, path := range o.files {
		b, err := sets.OfFile(ctx, path)
		if err != nil {
			return nil, err
		}
		if slices.Contains(names, b.Name) {
			return nil, noregret.Errorf(noregret.Usage, "--files", "%q has the name of another set, %q", path, b.Name)
		}
		names, chosen = append(names, b.Name), append(chosen, b)
	}
	for _, b := range all() {
		if len(o.sets)+len(o.files) > 0 && !slices.Contains(o.sets, b.Name) {
			continue
		}
		if path := b.Missing(o.dir); path != "" {
			fmt.Fprintf(r.Notes, "skipped: %s: %s is missing\n", b.Name, path)
			continue
		}
		chosen = append(chosen, b)
	}
	if len(chosen) == 0 {
		return nil, study.Missing(o.dir, "data set of this comparison")
	}
	temp, err := os.MkdirTemp("", "auto")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temp) }() // what is left there is small
	if o.covers {
		return o.coverages(ctx, r, chosen, temp)
	}
	t := &trials{options: o, runner: r}
	if t.results, err = readOutcomes(o.cells, o.share, o.forget); err != nil {
		return nil, err
	}
	if o.python != "" {
		if t.peer, err = newPeer(ctx, o.python, temp); err != nil {
			fmt.Fprintf(r.Notes, "skipped: %s: %v\n", peerName, err)
			t.peer = nil
		}
	}
	r.Expect(o.splits * len(chosen))
	for split := range o.splits {
		for _, b := range chosen {
			err = with(ctx, b, o.dir, temp, func(d classify.Data) error { return t.split(ctx, b.Name, d, split) })
			if err != nil {
				return t.report(chosen), err
			}
			r.Step()
		}
	}
	return t.report(chosen), nil
}

// with calls f with the data of a set.
func with(ctx context.Context, b sets.Set, dir, temp string, f func(classify.Data) error) error {
	data, err := b.Load(ctx, dir, temp)
	if err != nil {
		return err
	}
	if err := errors.Join(f(data), data.Set.Close()); err != nil {
		return fmt.Errorf("%s: %w", b.Name, err)
	}
	return nil
}

// measuresOf are the measures that are compared on a task.
func (o *options) measuresOf(task classify.Task) ([]measure.Objective, error) {
	var list []measure.Objective
	for _, name := range o.measures {
		if strings.Contains(name, "_") != (task == classify.Multiclass) {
			continue
		}
		m, err := task.Measure(name)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// algorithmsOf are the algorithms of a task by name.
func (o *options) algorithmsOf(task classify.Task) []string {
	if len(o.algorithms) > 0 {
		return o.algorithms
	}
	return classify.AlgorithmNames(task)
}

// trials are the trainings of a comparison.
type trials struct {
	*options
	runner  *study.Runner
	results *outcomes
	peer    *peer // nil without scikit-learn
}

// split measures what is not yet known of a split of a set.
func (t *trials) split(ctx context.Context, set string, data classify.Data, split int) error {
	measures, err := t.measuresOf(data.Task)
	if err != nil {
		return err
	}
	opt := classify.DefaultCompareOptions()
	opt.Splits, opt.TrainShare, opt.Clock, opt.Seed = 1, t.share, processorTime, uint64(split+1)
	for _, name := range append([]string{classify.Auto}, t.algorithmsOf(data.Task)...) {
		opt.Measures = slices.DeleteFunc(slices.Clone(measures), func(m measure.Objective) bool {
			return t.results.has(trial{set, m.Name(), name, split}) || !trains(data.Task, name, m)
		})
		if len(opt.Measures) == 0 {
			continue
		}
		opt.Algorithms = []string{name}
		c, err := classify.Compare(ctx, data, opt)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for i := range c.Cells {
			x := &c.Cells[i]
			t.results.add(trial{set, x.Measure, name, split}, x.Mean, x.Seconds)
		}
		if err := t.results.save(); err != nil {
			return err
		}
	}
	if err := t.figured(ctx, set, data, &opt, measures, split); err != nil {
		return err
	}
	if t.peer == nil {
		return nil
	}
	measures = slices.DeleteFunc(measures, func(m measure.Objective) bool {
		return t.results.has(trial{set, m.Name(), peerName, split}) || !t.peer.trains(data.Task, m.Name())
	})
	if len(measures) == 0 {
		return nil
	}
	train, test, err := opt.Split(data, 0)
	if err != nil {
		return err
	}
	values, seconds, err := t.peer.values(ctx, train, test, measures)
	if err != nil {
		return err
	}
	for k, m := range measures {
		t.results.add(trial{set, m.Name(), peerName, split}, values[k], seconds)
	}
	return t.results.save()
}

// figuredName is the name of the results of the usual algorithm with its figures.
const figuredName = "usual with figures"

// figured measures how long the usual algorithm takes with the figures that noregret train states.
func (t *trials) figured(ctx context.Context, set string, data classify.Data, opt *classify.CompareOptions,
	measures []measure.Objective, split int,
) error {
	for _, m := range measures {
		usual := classify.DefaultAlgorithm(data.Task, m)
		key := trial{set, m.Name(), figuredName, split}
		if t.results.has(key) || !slices.Contains(t.algorithmsOf(data.Task), usual) {
			continue
		}
		train, test, err := opt.Split(data, 0)
		if err != nil {
			return err
		}
		fit := classify.Options{Algorithm: usual, Measure: m, Seed: opt.Seed}
		began := study.ProcessorTime()
		r, err := classify.Fit(ctx, train, fit)
		if err == nil {
			err = r.CrossFigures(ctx, train, fit)
		}
		took := study.ProcessorTime() - began
		if err != nil {
			return fmt.Errorf("%s with figures: %w", usual, err)
		}
		counts, err := classify.Evaluate(ctx, test, r.Classifier())
		if err != nil {
			return err
		}
		t.results.add(key, counts.Value(m), took.Seconds())
	}
	return t.results.save()
}

// trains reports whether the algorithm can train for the measure. An unknown one cannot be told.
func trains(task classify.Task, name string, m measure.Objective) bool {
	for _, a := range classify.Algorithms(task) {
		if a.Name == name {
			return a.Trains(m)
		}
	}
	return true
}

// covered are the algorithms whose figures are compared.
func (o *options) covered() []string {
	if len(o.algorithms) == 0 {
		return []string{classify.Auto}
	}
	return o.algorithms
}

// processorTime is the processor time that the program has taken, as a time.
func processorTime() time.Time { return time.Unix(0, 0).Add(study.ProcessorTime()) }
