package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/dataflags"
	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/progress"
)

// compareOptions are the flags of "noregret compare".
type compareOptions struct {
	data                 *dataflags.Flags
	measures, algorithms []string
	splits               int
	share                float64
	seed                 uint64
	fit                  classify.Options
	against              string
	plots                []string
	json                 bool

	flags  *pflag.FlagSet
	choice measureChoice
}

const compareLong = `Train every algorithm on the same random splits of the data (70 % to train on, 30 % to test)
and print, for each measure, the mean and the spread on the test parts, the seconds of
training and the examples per second: as a table, as JSON, or as a picture of measure against
training time.

Seconds are wall-clock seconds of training. They include the choice of model and threshold but not
reading and testing. Algorithms run one after the other. A model that does not depend on the
measure is trained once per split, and its seconds count for each measure. "*" marks the best mean
of a measure, "~" those within one spread of it (the larger of the two standard deviations). All
algorithms have the same splits. The column "over" is the mean over the splits of the difference
from one algorithm (logistic, or --against). Its standard error is corrected for the overlap of
the splits (Nadeau and Bengio 2003). "above" and "below" mean that 0 is outside the 95 % interval,
by Student's t with one degree of freedom fewer than splits.

Measures of all classes (macro_f1, macro_recall, ..., and gmean and the like for data with more
than two labels without --positive) compare the algorithms for several classes. With --multilabel,
measures of several labels compare the algorithms for several labels per row.

` + dataflags.Help

// newCompareCommand makes "noregret compare".
func newCompareCommand(a *command.App) *cobra.Command {
	o := &compareOptions{
		data: dataflags.New(), measures: []string{"f1", "gmean", "qmean"}, splits: 5, share: 0.7,
		seed: 1,
	}
	cmd := command.New(a, &cobra.Command{
		Use:   "compare --measure f1,gmean,qmean DATA...",
		Short: "Compare all algorithms on random splits of a data set",
		Long:  compareLong,
		Example: `  noregret compare --measure f1,gmean,qmean,min train.svm

  # Two algorithms, ten splits, pictures
  noregret compare --measure f1 --algorithm stamp,plugin --splits 10 \
    --plot f1.svg --plot f1.png train.svm`,
		Args: dataflags.WantArgs,
	}, o)
	o.data.Register(cmd)
	o.data.RegisterPositive(cmd)
	o.data.RegisterMultilabel(cmd)
	return cmd
}

// AddFlags implements [command.Options]. The flags of the data are added with the command.
func (o *compareOptions) AddFlags(s *pflag.FlagSet) {
	s.StringSliceVar(&o.measures, "measure", o.measures,
		`measures to train for and to compare on (see "noregret measures")`)
	s.StringSliceVar(&o.algorithms, "algorithm", o.algorithms,
		`algorithms (see "noregret algorithms"); all by default`)
	s.IntVar(&o.splits, "splits", o.splits, "number of random splits")
	s.Float64Var(&o.share, "train-share", o.share, "share of the rows to train on")
	s.Uint64Var(&o.seed, "seed", o.seed, "seed of the splits and of the training")
	registerSettings(s, &o.fit, "passes", "steps", "rate", "level-positives", "folds", "tune-steps")
	s.StringVar(&o.against, "against", o.against,
		"algorithm with which all others are compared, split by split (default logistic if it is among them)")
	s.StringArrayVar(&o.plots, "plot", o.plots, "write a picture to this file, .svg or .png; may be given more than "+
		"once")
	s.BoolVar(&o.json, "json", o.json, "print one JSON object")
	o.flags = s
}

// Validate implements [command.Options].
func (o *compareOptions) Validate() (err error) {
	if o.splits < 1 {
		return command.OutOfRange("--splits", o.splits, "at least 1")
	}
	if !(o.share > 0 && o.share < 1) {
		return command.OutOfRange("--train-share", o.share, "a share in (0, 1)")
	}
	if err := checkSettings(o.flags, &o.fit); err != nil {
		return err
	}
	if len(o.measures) == 0 {
		return noregret.Errorf(noregret.Usage, "--measure", "at least one measure is required")
	}
	if o.choice, err = chooseMeasures("--measure", o.measures, o.data); err != nil {
		return err
	}
	for i, name := range o.names() {
		if slices.Contains(o.names()[:i], name) {
			return noregret.Errorf(noregret.Usage, "--measure", "%s is given twice", name)
		}
	}
	if err := o.checkAlgorithms(); err != nil {
		return err
	}
	return o.choice.check(func(task classify.Task) error {
		opt := o.options(task)
		return opt.Validate(task)
	})
}

// names are the names of the measures.
func (o *compareOptions) names() []string {
	measures := o.choice.two
	if measures == nil {
		measures = o.choice.multi
	}
	names := make([]string, len(measures))
	for i, m := range measures {
		names[i] = m.Name()
	}
	return names
}

// checkAlgorithms checks --algorithm and --against, and sets the default of the latter.
func (o *compareOptions) checkAlgorithms() error {
	var known []string
	for _, task := range []classify.Task{classify.Binary, o.choice.task} {
		if o.choice.of(task) != nil {
			known = append(known, classify.AlgorithmNames(task)...)
		}
	}
	switch {
	case o.against == "":
		o.against = "logistic"
	case len(o.algorithms) > 0 && !slices.Contains(o.algorithms, o.against), !slices.Contains(known, o.against):
		return noregret.Errorf(noregret.Usage, "--against", "%q is not one of the algorithms that are compared",
			o.against)
	}
	for i, name := range o.algorithms {
		if slices.Contains(o.algorithms[:i], name) {
			return noregret.Errorf(noregret.Usage, "--algorithm", "%s is given twice", name)
		}
	}
	return nil
}

// options returns the options of the comparison for a task.
func (o *compareOptions) options(task classify.Task) classify.CompareOptions {
	return classify.CompareOptions{
		Measures: o.choice.of(task), Algorithms: o.algorithms, Splits: o.splits, TrainShare: o.share, Seed: o.seed,
		Clock: time.Now, Fit: o.fit,
	}
}

// Run implements [command.Options].
func (o *compareOptions) Run(ctx context.Context, a *command.App, inputs []string) (err error) {
	if err := files.CheckPlots(o.plots, files.Inputs(inputs)); err != nil {
		return err
	}
	set, err := o.data.LoadSet(ctx, a, inputs, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	data, err := o.data.Examples(a, set, o.choice.taskOf(set.Info()))
	if err != nil {
		return err
	}
	c, err := o.compare(ctx, a, data)
	if err != nil {
		return err
	}
	for _, w := range c.Warnings {
		a.Note("warning: %s", w)
	}
	if o.json {
		err = show.JSON(a.Stdout, comparisonOf(c, data, o))
	} else {
		err = writeComparison(a, c, data.Task, o.names(), o.against)
	}
	// The table is already printed: a full disk loses only the pictures.
	for _, path := range o.plots {
		err = errors.Join(err, plotComparison(path, c, o.names()))
	}
	return err
}

// compare compares the algorithms on the data.
func (o *compareOptions) compare(ctx context.Context, a *command.App, data classify.Data) (*classify.Comparison,
	error,
) {
	opt := o.options(data.Task)
	if err := opt.Validate(data.Task); err != nil {
		return nil, err
	}
	p, err := compareProgress(a, &opt.Progress, &opt.Fit.Progress)
	if err != nil {
		return nil, err
	}
	p.Start("compare", int64(opt.Splits)*int64(len(opt.Measures)*len(opt.Algorithms)))
	c, err := classify.Compare(ctx, data, opt)
	p.Finish()
	return c, err
}

// compareProgress makes the reporter of a comparison and the callbacks that feed it.
func compareProgress(a *command.App, fits *func(done, total int, algorithm, measure string),
	fit *func(classify.Progress),
) (
	*progress.Reporter, error,
) {
	p, err := a.ProgressOf("fits")
	if err != nil {
		return nil, err
	}
	*fits = func(done, _ int, algorithm, m string) {
		p.Rename("compare " + algorithm + " " + m)
		p.Metric("", math.NaN())
		p.Update(int64(done))
	}
	*fit = func(now classify.Progress) {
		p.Metric(now.Measure, now.Value)
		p.Tick()
	}
	return p, nil
}

// comparisonJSON is the object that --json prints.
type comparisonJSON struct {
	Rows      int64         `json:"rows"`
	Dim       int           `json:"dim"`
	Positive  string        `json:"positive,omitempty"`
	Positives int64         `json:"positives,omitempty"`
	Splits    int           `json:"splits"`
	Seed      uint64        `json:"seed"`
	Cells     []compareCell `json:"cells"`
	Warnings  []string      `json:"warnings"`
}

type compareCell struct {
	Measure           string        `json:"measure"`
	Algorithm         string        `json:"algorithm"`
	Mean              show.Number   `json:"mean"`
	SD                show.Number   `json:"sd"`
	Values            []show.Number `json:"values"`
	Seconds           float64       `json:"seconds"`
	ExamplesPerSecond float64       `json:"examples_per_second"`
	Passes            float64       `json:"passes"`
	Over              *overOne      `json:"over"`
}

// overOne is the difference between a cell and that of another algorithm, with its standard error.
type overOne struct {
	Algorithm     string      `json:"algorithm"`
	Difference    show.Number `json:"difference"`
	StandardError show.Number `json:"standard_error"`

	t float64 // Student's quantile for 95 %
}

// over compares a cell with that of the algorithm of --against. It returns nil if that is the same
// algorithm or none is set.
func over(c *classify.Comparison, x *classify.Cell, against string) *overOne {
	base := c.Best(x.Measure, func(a string) bool { return a == against })
	if base == nil || base.Algorithm == x.Algorithm {
		return nil
	}
	d, se := x.Over(base, c.Train.Rows, c.Test.Rows)
	out := &overOne{Algorithm: against, Difference: show.Number(d), StandardError: show.Number(se), t: math.NaN()}
	if n := len(x.Values); n > 1 {
		out.t = distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile(0.975)
	}
	return out
}

// String formats the difference with its standard error. It adds a word if 0 is outside its 95 %
// interval.
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

func comparisonOf(c *classify.Comparison, data classify.Data, o *compareOptions) comparisonJSON {
	info := data.Set.Info()
	out := comparisonJSON{Rows: info.Rows, Dim: info.Dim, Splits: c.Splits, Seed: o.seed, Warnings: c.Warnings}
	if data.Task == classify.Binary {
		out.Positive = info.Labels[data.Positive].Name
		out.Positives = c.Train.Labels[0].Rows + c.Test.Labels[0].Rows
	}
	for _, x := range c.Cells {
		cell := compareCell{
			Measure: x.Measure, Algorithm: x.Algorithm, Mean: show.Number(x.Mean), SD: show.Number(x.SD),
			Seconds: x.Seconds, ExamplesPerSecond: x.ExamplesPerSecond, Passes: x.Passes, Over: over(c, &x, o.against),
		}
		for _, v := range x.Values {
			cell.Values = append(cell.Values, show.Number(v))
		}
		out.Cells = append(out.Cells, cell)
	}
	return out
}

// writeComparison prints the table.
func writeComparison(a *command.App, c *classify.Comparison, task classify.Task, measures []string,
	against string,
) error {
	positive := func(x classify.Part) string {
		if task != classify.Binary {
			return ""
		}
		return fmt.Sprintf(" (%d positive)", x.Labels[0].Rows)
	}
	fmt.Fprintf(a.Stdout, "%d rows to train on%s, %d to test%s, %s\n\n", c.Train.Rows, positive(c.Train),
		c.Test.Rows, positive(c.Test), show.Count(c.Splits, "split", "splits"))
	g := show.Table{Left: map[int]bool{1: true}}
	g.Add("measure", "algorithm", "mean", "", "spread", "over "+against, "seconds", "of plugin's", "examples/s",
		"passes")
	for _, m := range measures {
		best := c.Best(m, func(string) bool { return true })
		plugin := c.Best(m, func(a string) bool { return a == "plugin" })
		for _, x := range c.Cells {
			if x.Measure != m {
				continue
			}
			ratio := math.NaN()
			if plugin != nil && plugin.Seconds > 0 {
				ratio = x.Seconds / plugin.Seconds
			}
			g.Add(x.Measure, x.Algorithm, show.Number(x.Mean).String(), mark(&x, best), show.Number(x.SD).String(),
				over(c, &x, against).String(),
				fmt.Sprintf("%.3f", x.Seconds), strings.Replace(fmt.Sprintf("%.2fx", ratio), "NaNx", "-", 1),
				fmt.Sprintf("%.3g", x.ExamplesPerSecond), fmt.Sprintf("%.1f", x.Passes))
		}
	}
	return g.Write(a.Stdout)
}

// mark returns * for the best cell of a measure and ~ for a cell within one spread of it.
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
