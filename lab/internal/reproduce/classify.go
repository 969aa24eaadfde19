package reproduce

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/lab/internal/sets"
	"github.com/noregret/noregret/lab/internal/study"
	"github.com/noregret/noregret/lab/papers"
)

// classifyOptions are the flags of "noregret-lab reproduce classify".
type classifyOptions struct {
	dir                  string
	figures              []int
	sets, plots          []string
	splits, passes, cuts int
}

// taleFigure is a figure of the paper: a measure, and those of its sets that there are.
type taleFigure struct {
	number  int
	measure measure.Measure
	sets    []string
}

var taleFigures = []taleFigure{
	{1, measure.QMean{}, []string{"ijcnn1", "covtype-5"}},
	{2, measure.Min{}, []string{"ijcnn1", "mnist-5"}},
	{3, measure.FBeta{B: 1}, []string{"ijcnn1", "covtype-5"}},
	{4, measure.Jaccard(), []string{"ijcnn1", "covtype-5"}},
}

// newClassifyCommand makes "noregret-lab reproduce classify".
func newClassifyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "classify",
		Short: "SPADE and STAMP beside a plug-in and a struct-SVM: figures 1 to 4 of a paper",
		Long: `Measure figures 1 to 4 of "Optimizing Non-decomposable Performance Measures: A Tale of Two Classes"
(Narasimhan, Kar and Jain 2015): Q-mean, min, F1 and Jaccard on test rows against training time, of
SPADE or STAMP, a plug-in, logistic regression, a struct-SVM by cutting planes and, for F1, the
one-pass method 1PMB. Of the paper's sets there are IJCNN1, a sample of Covtype and MNIST.

The tables have the last value of each method, its time, and the time after which it is within .01 of
the best last value of all; the last table has what the paper claims and whether it holds here. With
--json the output is a list of {figure, measure, set, splits, curves: [{method, unit, points:
[{budget, passes, seconds, value, sd}]}]}. All values but times are the same in every run. Times are
of the processor: run it alone.`,
		Example: `  noregret-lab reproduce classify --data DIR

  # One figure, with a picture
  noregret-lab reproduce classify --data DIR --figures 1 --sets ijcnn1 --plot figure1.svg`,
	}
	f, o := c.Flags(), classifyOptions{}
	f.StringVar(&o.dir, "data", "../../shared/data", "directory of the data sets")
	f.IntSliceVar(&o.figures, "figures", []int{1, 2, 3, 4}, "numbers of the figures")
	f.StringSliceVar(&o.sets, "sets", nil, "names of the sets; empty for all")
	f.IntVar(&o.splits, "splits", 5, "random divisions of each set, at least 2")
	f.IntVar(&o.passes, "passes", 25, "passes of SPADE and STAMP, at least 1")
	f.IntVar(&o.cuts, "cuts", 200, "cuts of the struct-SVM at most, at least 1")
	f.StringArrayVar(&o.plots, "plot", nil,
		"write a picture of the measures against time to this file, .svg or .png; may be given more than once")
	return study.New(c, "divisions", o.run)
}

// validate refuses flags that are out of range.
func (o *classifyOptions) validate() error {
	for flag, v := range map[string][2]int{
		"--splits": {o.splits, 2}, "--passes": {o.passes, 1}, "--cuts": {o.cuts, 1},
	} {
		if v[0] < v[1] {
			return command.OutOfRange(flag, v[0], fmt.Sprintf("at least %d", v[1]))
		}
	}
	for _, n := range o.figures {
		if n < 1 || n > len(taleFigures) {
			return command.OutOfRange("--figures", n, "1, 2, 3 or 4")
		}
	}
	names := study.Names(sets.Tale, func(b *sets.Set) string { return b.Name })
	if err := study.Known("--sets", o.sets, names); err != nil {
		return err
	}
	return files.CheckPlots(o.plots, nil)
}

// classifyResult is a figure on a set.
type classifyResult struct {
	Figure  int             `json:"figure"`
	Measure string          `json:"measure"`
	Set     string          `json:"set"`
	Splits  int             `json:"splits"`
	Curves  []classifyCurve `json:"curves"`
}

// classifyCurve is a method's series of means over the splits.
type classifyCurve struct {
	Method string          `json:"method"`
	Unit   string          `json:"unit"`
	Points []classifyPoint `json:"points"`
}

// classifyPoint is a point of a series.
type classifyPoint struct {
	Budget  float64     `json:"budget"`
	Passes  float64     `json:"passes"`
	Seconds float64     `json:"seconds"`
	Value   float64     `json:"value"`
	SD      show.Number `json:"sd"`
}

// run measures the figures, prints them with the claims, and draws them.
func (o *classifyOptions) run(ctx context.Context, r *study.Runner) (*study.Report, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "classify")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temp) }() // what is left there is small
	var results []classifyResult
	missing := 0
	r.Expect(o.trainings())
	for _, b := range sets.Tale {
		if len(o.sets) > 0 && !slices.Contains(o.sets, b.Name) {
			continue
		}
		if path := b.Missing(o.dir); path != "" {
			fmt.Fprintf(r.Notes, "skipped: %s: %s is missing\n", b.Name, path)
			missing++
			continue
		}
		data, err := b.Load(ctx, o.dir, temp)
		if err != nil {
			return nil, err
		}
		list, err := o.measureSet(ctx, r, b.Name, data)
		results = append(results, list...)
		if err := errors.Join(err, data.Set.Close()); err != nil {
			return classifyReport(results), fmt.Errorf("%s: %w", b.Name, err)
		}
	}
	if len(results) == 0 {
		if missing > 0 {
			return nil, study.Missing(o.dir, "data set of these figures")
		}
		return nil, command.OutOfRange("--sets", o.sets, "one of a figure")
	}
	slices.SortStableFunc(results, func(a, b classifyResult) int { return a.Figure - b.Figure })
	for _, path := range o.plots {
		err = errors.Join(err, plotClassify(path, results))
	}
	return classifyReport(results), err
}

// chosen are the figures that are asked for of a set.
func (o *classifyOptions) chosen(set string) (list []taleFigure) {
	for _, f := range taleFigures {
		if slices.Contains(o.figures, f.number) && slices.Contains(f.sets, set) {
			list = append(list, f)
		}
	}
	return list
}

// trainings is the number of divisions of all figures.
func (o *classifyOptions) trainings() (n int) {
	for _, b := range sets.Tale {
		if b.Missing(o.dir) == "" && (len(o.sets) == 0 || slices.Contains(o.sets, b.Name)) {
			n += o.splits * len(o.chosen(b.Name))
		}
	}
	return n
}

// measureSet measures the figures of a set.
func (o *classifyOptions) measureSet(ctx context.Context, r *study.Runner, name string, data classify.Data,
) ([]classifyResult, error) {
	chosen := o.chosen(name)
	if len(chosen) == 0 {
		return nil, nil
	}
	rows, dim, err := sets.Examples(data)
	if err != nil {
		return nil, err
	}
	var out []classifyResult
	for _, f := range chosen {
		var runs [][]papers.Curve
		for k := range o.splits {
			opt := papers.DefaultCurveOptions()
			opt.Measure, opt.Passes, opt.Cuts = f.measure, o.passes, o.cuts
			opt.Seed, opt.Clock = uint64(k+1), study.ProcessorTime
			list, err := papers.RunCurves(ctx, rows, dim, opt)
			if err != nil {
				return out, err
			}
			runs = append(runs, list)
			r.Step()
		}
		out = append(out, classifyResult{
			Figure: f.number, Measure: f.measure.Name(), Set: name, Splits: o.splits, Curves: meanCurves(runs),
		})
	}
	return out, nil
}

// meanCurves are the means of the points of equal budgets. Points after the end of a method in all
// runs are left out.
func meanCurves(runs [][]papers.Curve) []classifyCurve {
	var out []classifyCurve
	for k, c := range runs[0] {
		mean := classifyCurve{Method: c.Method, Unit: c.Unit}
		for i := range c.Points {
			var values, seconds, passes []float64
			for _, list := range runs {
				p := list[k].Points[i]
				values, seconds, passes = append(values, p.Value), append(seconds, p.Seconds), append(passes, p.Passes)
			}
			p := classifyPoint{
				Budget: c.Points[i].Budget, Passes: study.MeanOf(passes).Mean, Seconds: study.MeanOf(seconds).Mean,
			}
			var sd float64
			p.Value, sd = study.Spread(values)
			p.SD = show.Number(sd)
			if i > 0 && p.Passes == mean.Points[i-1].Passes {
				break
			}
			mean.Points = append(mean.Points, p)
		}
		out = append(out, mean)
	}
	return out
}

// classifyReport has a table for each figure and one of the claims.
func classifyReport(results []classifyResult) *study.Report {
	report := &study.Report{Data: results}
	for k := range results {
		x := &results[k]
		if k == 0 || x.Figure != results[k-1].Figure {
			report.Tables = append(report.Tables, study.Table{
				Title: fmt.Sprintf("Figure %d: %s", x.Figure, x.Measure),
				Columns: []string{
					"set", "method", "value", "trained for", "seconds", "close after", "close after seconds",
				},
			})
		}
		t := &report.Tables[len(report.Tables)-1]
		target := x.best() - closeTo
		for i := range x.Curves {
			c := &x.Curves[i]
			last := c.last()
			after, seconds := any("never"), any("never")
			if p := c.reaches(target); p != nil {
				after, seconds = amount(p.Budget, c.Unit), study.Number("%.3f", p.Seconds)
			}
			t.Add(x.Set, c.Method, study.Estimate{Mean: last.Value, Error: float64(last.SD)}.Cell("%.3f"),
				amount(last.Budget, c.Unit), study.Number("%.3f", last.Seconds), after, seconds)
		}
	}
	claims := study.Table{
		Title:   "Claims of the paper",
		Columns: []string{"claim", "figure", "set", "here", "holds"},
	}
	for _, c := range claimsOf(results) {
		holds := "no"
		if c.holds {
			holds = "yes"
		}
		claims.Add(c.text, c.figure, c.set, c.here, holds)
	}
	if len(claims.Rows) > 0 {
		report.Tables = append(report.Tables, claims)
	}
	return report
}

// amount is a number of passes or iterations.
func amount(v float64, unit string) string {
	if one := map[string]string{"passes": "pass", "iterations": "iteration", "cuts": "cut"}[unit]; v == 1 && one != "" {
		unit = one
	}
	return strconv.FormatFloat(v, 'f', -1, 64) + " " + unit
}
