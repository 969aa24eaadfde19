package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
)

// compareOptions are the flags of "noregret compare".
type compareOptions struct {
	data                 *dataFlags
	measures, algorithms []string
	splits               int
	share                float64
	seed                 uint64
	fit                  classify.Options
	against              string
	plots                []string
	json                 bool
}

const compareLong = `Train every algorithm on the same random splits of the data (70 % to train on, 30 % to test)
and print, for each measure, the mean and the spread on the test parts, the seconds of
training and the examples per second: as a table, as JSON, or as a picture of measure against
training time.

Seconds are wall-clock seconds of training alone, the choice of model and threshold included,
reading and testing left out; algorithms run one after the other. A model that does not depend
on the measure is trained once a split and its seconds count for each measure. The best mean
of a measure is marked *, those within one spread of it (the larger of the two standard
deviations) are marked ~. All algorithms have the same splits: the column "over" is the mean of
the differences to one of them (logistic, or --against), split by split, with its standard error
corrected for what the splits have in common (Nadeau and Bengio 2003); "above" and "below" say
that 0 is outside the 95 % interval, by Student's t with one less degree of freedom than splits.

` + dataHelp

// newCompareCommand makes "noregret compare".
func newCompareCommand(a *app) *cobra.Command {
	o := compareOptions{
		data: newDataFlags(), measures: []string{"f1", "gmean", "qmean"}, splits: 5, share: 0.7,
		seed: 1,
	}
	cmd := &cobra.Command{
		Use:   "compare --measures f1,gmean,qmean DATA...",
		Short: "Compare all algorithms on random splits of a data set",
		Long:  compareLong,
		Example: `  noregret compare --measures f1,gmean,qmean,min train.svm

  # Two algorithms, ten splits, pictures
  noregret compare --measures f1 --algorithms stamp,plugin --splits 10 \
    --plot f1.svg --plot f1.png train.svm`,
		Args: wantData,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.splits == 0 { // 0 is the default in package classify
				return outOfRange("--splits", o.splits, "at least 1")
			}
			if o.share == 0 {
				return outOfRange("--train-share", o.share, "a share in (0, 1)")
			}
			if err := checkSettings(cmd, &o.fit); err != nil {
				return err
			}
			return a.compare(cmd.Context(), o, args)
		},
	}
	s := cmd.Flags()
	s.StringSliceVar(&o.measures, "measures", o.measures,
		`measures to train for and to compare on (see "noregret measures")`)
	s.StringSliceVar(&o.algorithms, "algorithms", o.algorithms,
		`algorithms (see "noregret algorithms"); all by default`)
	s.IntVar(&o.splits, "splits", o.splits, "number of random splits")
	s.Float64Var(&o.share, "train-share", o.share, "share of the rows to train on")
	s.Uint64Var(&o.seed, "seed", o.seed, "seed of the splits and of the training")
	registerSettings(cmd, &o.fit, "passes", "steps", "level-positives", "folds", "tune-steps")
	s.StringVar(&o.against, "against", o.against,
		"algorithm whose difference to all others is shown, split by split (default logistic when it is among them)")
	s.StringArrayVar(&o.plots, "plot", o.plots, "write a picture to this file, .svg or .png; may be given more than "+
		"once")
	s.BoolVar(&o.json, "json", o.json, "print one JSON object")
	o.data.register(cmd)
	o.data.registerPositive(cmd)
	return cmd
}

// comparisonJSON is the object that --json prints.
type comparisonJSON struct {
	Rows      int64         `json:"rows"`
	Dim       int           `json:"dim"`
	Positive  string        `json:"positive"`
	Positives int64         `json:"positives"`
	Splits    int           `json:"splits"`
	Seed      uint64        `json:"seed"`
	Cells     []compareCell `json:"cells"`
	Warnings  []string      `json:"warnings"`
}

type compareCell struct {
	Measure           string   `json:"measure"`
	Algorithm         string   `json:"algorithm"`
	Mean              number   `json:"mean"`
	SD                number   `json:"sd"`
	Values            []number `json:"values"`
	Seconds           float64  `json:"seconds"`
	ExamplesPerSecond float64  `json:"examples_per_second"`
	Passes            float64  `json:"passes"`
	Over              *overOne `json:"over"`
}

// overOne is by how much a cell is above that of another algorithm, and the standard error of that.
type overOne struct {
	Algorithm     string `json:"algorithm"`
	Difference    number `json:"difference"`
	StandardError number `json:"standard_error"`

	t float64 // Student's quantile for 95 %
}

// over compares a cell with that of the algorithm of --against; nil when it is that one or there is
// none.
func over(c *classify.Comparison, x *classify.Cell, against string) *overOne {
	base := c.Best(x.Measure, func(a string) bool { return a == against })
	if base == nil || base.Algorithm == x.Algorithm {
		return nil
	}
	d, se := x.Over(base, c.Train.Rows(), c.Test.Rows())
	out := &overOne{Algorithm: against, Difference: number(d), StandardError: number(se), t: math.NaN()}
	if n := len(x.Values); n > 1 {
		out.t = distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile(0.975)
	}
	return out
}

// String is the difference with its standard error, and a word when 0 is outside its 95 % interval.
func (o *overOne) String() string {
	if o == nil {
		return "-"
	}
	d, se := float64(o.Difference), float64(o.StandardError)
	sign := ""
	switch {
	case d > o.t*se:
		sign = " above"
	case d < -o.t*se:
		sign = " below"
	}
	return fmt.Sprintf("%+.4f ± %s%s", d, o.StandardError.String(), sign)
}

func (a *app) compare(ctx context.Context, o compareOptions, inputs []string) (err error) {
	opt := classify.CompareOptions{
		Algorithms: o.algorithms, Splits: o.splits, TrainShare: o.share, Seed: o.seed, Clock: time.Now,
		Fit: o.fit,
	}
	for _, name := range o.measures {
		m, err := measure.Parse(name)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(opt.Measures, func(x measure.Measure) bool { return x.Name() == m.Name() }) {
			return noregret.Errorf(noregret.Usage, "--measures", "%s is given twice", m.Name())
		}
		opt.Measures = append(opt.Measures, m)
	}
	switch {
	case o.against == "":
		o.against = "logistic"
	case len(o.algorithms) > 0 && !slices.Contains(o.algorithms, o.against),
		!slices.Contains(classify.AlgorithmNames(), o.against):
		return noregret.Errorf(noregret.Usage, "--against", "%q is not one of the algorithms that are compared",
			o.against)
	}
	for i, name := range o.algorithms {
		if slices.Contains(o.algorithms[:i], name) {
			return noregret.Errorf(noregret.Usage, "--algorithms", "%s is given twice", name)
		}
	}
	if err := opt.Validate(); err != nil {
		return err
	}
	if err := checkPlots(o.plots, inputFiles(inputs)); err != nil {
		return err
	}
	set, data, err := o.data.load(ctx, a, inputs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	p, err := a.progressOf("fits")
	if err != nil {
		return err
	}
	p.Start("compare", int64(opt.Splits)*int64(len(opt.Measures)*len(opt.Algorithms)))
	opt.Progress = func(done, _ int, algorithm, m string) {
		p.Rename("compare " + algorithm + " " + m)
		p.Metric("", math.NaN())
		p.Update(int64(done))
	}
	opt.Fit.Progress = func(now classify.Progress) {
		p.Metric(now.Measure, now.Value)
		p.Tick()
	}
	c, err := classify.Compare(ctx, data, opt)
	p.Finish()
	if err != nil {
		return err
	}
	for _, w := range c.Warnings {
		a.note("warning: %s", w)
	}
	if o.json {
		err = writeJSON(a.stdout, comparisonOf(c, set.Info().Rows, set.Info().Dim, o))
	} else {
		err = a.writeComparison(c, opt.Measures, o.against)
	}
	for _, path := range o.plots { // the table is out by now: a disk that is full costs the pictures only
		err = errors.Join(err, plotComparison(path, c, opt.Measures))
	}
	return err
}

func comparisonOf(c *classify.Comparison, rows int64, dim int, o compareOptions) comparisonJSON {
	out := comparisonJSON{
		Rows: rows, Dim: dim, Positive: c.Train.PositiveLabel, Positives: c.Train.Positives + c.Test.Positives,
		Splits: c.Splits, Seed: o.seed, Warnings: c.Warnings,
	}
	for _, x := range c.Cells {
		cell := compareCell{
			Measure: x.Measure, Algorithm: x.Algorithm, Mean: number(x.Mean), SD: number(x.SD),
			Seconds: x.Seconds, ExamplesPerSecond: x.ExamplesPerSecond, Passes: x.Passes, Over: over(c, &x, o.against),
		}
		for _, v := range x.Values {
			cell.Values = append(cell.Values, number(v))
		}
		out.Cells = append(out.Cells, cell)
	}
	return out
}

// writeComparison prints the table.
func (a *app) writeComparison(c *classify.Comparison, measures []measure.Measure, against string) error {
	fmt.Fprintf(a.stdout, "%d rows to train on (%d positive), %d to test (%d positive), %s\n\n",
		c.Train.Rows(), c.Train.Positives, c.Test.Rows(), c.Test.Positives, count(c.Splits, "split", "splits"))
	g := table{left: map[int]bool{1: true}}
	g.add("measure", "algorithm", "mean", "", "spread", "over "+against, "seconds", "of plugin's", "examples/s",
		"passes")
	for _, m := range measures {
		best := c.Best(m.Name(), func(string) bool { return true })
		plugin := c.Best(m.Name(), func(a string) bool { return a == "plugin" })
		for _, x := range c.Cells {
			if x.Measure != m.Name() {
				continue
			}
			ratio := math.NaN()
			if plugin != nil && plugin.Seconds > 0 {
				ratio = x.Seconds / plugin.Seconds
			}
			g.add(x.Measure, x.Algorithm, number(x.Mean).String(), mark(&x, best), number(x.SD).String(),
				over(c, &x, against).String(),
				fmt.Sprintf("%.3f", x.Seconds), strings.Replace(fmt.Sprintf("%.2fx", ratio), "NaNx", "-", 1),
				fmt.Sprintf("%.3g", x.ExamplesPerSecond), fmt.Sprintf("%.1f", x.Passes))
		}
	}
	return g.write(a.stdout)
}

// mark is * for the best cell of a measure and ~ for one within one spread of it.
func mark(x, best *classify.Cell) string {
	switch {
	case best == nil:
		return ""
	case x.Algorithm == best.Algorithm:
		return "*"
	case x.Mean >= best.Mean-max(x.SD, best.SD):
		return "~"
	default:
		return ""
	}
}
