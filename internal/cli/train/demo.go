package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/dataset/synth"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/dataflags"
	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/cli/show"
)

// demoClassifierOptions are the flags of "noregret demo classifier".
type demoClassifierOptions struct {
	rows int64
	seed uint64
	keep string
}

const classifierDemoLong = `Train classifiers on data that the command generates: write a training
file and a test file of synthetic card payments (the data set "fraud" of "noregret generate": raw,
unscaled columns, 2.5 % positives), train on the first file for F1 and for G-mean, and measure on
the second. For comparison, do the same with plain logistic regression and with logistic
regression with a threshold tuned on held-out data.

The table shows the measures on the test file, all on the same rows. --keep keeps the files and
the models.`

// NewDemoCommand makes "noregret demo classifier".
func NewDemoCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "classifier",
		Short: "Train classifiers on synthetic data with rare positives and print a table",
		Long:  classifierDemoLong,
		Example: `  noregret demo classifier

  # Keep the files, look at a model
  noregret demo classifier --keep demo
  noregret inspect demo/stamp-f1.json`,
		Args: command.NoArgs,
	}, &demoClassifierOptions{rows: 40_000, seed: 1})
}

// AddFlags implements [command.Options].
func (o *demoClassifierOptions) AddFlags(f *pflag.FlagSet) {
	f.Int64Var(&o.rows, "rows", o.rows, "rows of each of the two files, at least 1000")
	f.Uint64Var(&o.seed, "seed", o.seed, "seed of the data and of the training")
	f.StringVar(&o.keep, "keep", o.keep, "directory in which to keep the files; without it they are temporary")
}

// Validate implements [command.Options].
func (o *demoClassifierOptions) Validate() error {
	if o.rows < 1000 {
		return command.OutOfRange("--rows", o.rows, "at least 1000")
	}
	return nil
}

// demoRuns are the models of the demonstration, in the order of the table.
var demoRuns = []struct{ algorithm, measure, what string }{
	{"logistic", "f1", "plain logistic regression"},
	{"plugin", "f1", "logistic, threshold tuned for F1"},
	{"plugin", "gmean", "logistic, threshold tuned for G-mean"},
	{"stamp", "f1", "STAMP, trained for F1"},
	{"spade", "gmean", "SPADE, trained for G-mean"},
}

// Run implements [command.Options].
func (o *demoClassifierOptions) Run(ctx context.Context, a *command.App, _ []string) (err error) {
	dir := o.keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "noregret-demo-"); err != nil {
			return noregret.Errorf(noregret.Internal, "", "the temporary directory cannot be made: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	} else if err := os.MkdirAll(dir, 0o777); err != nil {
		return noregret.Errorf(noregret.Internal, dir, "the directory cannot be made: %w", err)
	}
	train, test := filepath.Join(dir, "train.csv"), filepath.Join(dir, "test.csv")
	if err := refuseExisting(dir, train, test); err != nil {
		return err
	}
	for i, path := range []string{train, test} {
		// Nearby seeds give unrelated streams.
		if err := demoData(ctx, a, path, o.rows, 2*o.seed+uint64(i)); err != nil {
			return err
		}
	}
	results, err := demoModels(ctx, a, dir, train, test, o.seed)
	if err != nil {
		return err
	}
	if err := writeDemo(a.Stdout, results); err != nil {
		return err
	}
	if o.keep != "" {
		_, err = fmt.Fprintf(a.Stdout, "\nThe files are in %s.\n", o.keep)
	}
	return err
}

// refuseExisting returns an error if the directory has one of the files that the demonstration
// writes.
func refuseExisting(dir string, files ...string) error {
	for _, run := range demoRuns {
		files = append(files, demoModel(dir, run.algorithm, run.measure))
	}
	for _, path := range files {
		if _, err := os.Lstat(path); err == nil {
			return noregret.Errorf(noregret.Usage, "--keep", "%q exists and would be overwritten; "+
				"name another directory", path)
		}
	}
	return nil
}

// demoModel returns the path of a model of the demonstration.
func demoModel(dir, algorithm, measure string) string {
	return filepath.Join(dir, algorithm+"-"+measure+".json")
}

// demoData writes one file of synthetic payments.
func demoData(ctx context.Context, a *command.App, path string, rows int64, seed uint64) error {
	g, err := synth.New(synth.Fraud, seed)
	if err != nil {
		return err
	}
	return files.Write(path, func(w io.Writer) error {
		return generateRows(ctx, w, g, generateOptions{rows: rows, format: "csv"}, nil)
	})
}

// demoModels trains every model on one file and evaluates it on the other.
func demoModels(ctx context.Context, a *command.App, dir, train, test string, seed uint64) (
	out []*evaluation, err error,
) {
	flags := dataflags.New()
	flags.Format, flags.Label, flags.Positive, flags.Header = "csv", "label", "1", "yes"
	set, data, err := flags.Load(ctx, a, []string{train})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	p, err := a.Progress()
	if err != nil {
		return nil, err
	}
	for _, run := range demoRuns {
		m, err := measure.Parse(run.measure)
		if err != nil {
			return nil, err
		}
		opt := classify.Options{Algorithm: run.algorithm, Measure: m, Seed: seed, Progress: fitProgress(p)}
		result, err := classify.Fit(ctx, data, opt)
		p.Finish()
		if err != nil {
			return nil, err
		}
		model, err := classify.NewModel(result, opt, data)
		if err != nil {
			return nil, err
		}
		path := demoModel(dir, run.algorithm, run.measure)
		if err := classify.SaveModel(path, model); err != nil {
			return nil, err
		}
		r, err := newModelReader(a, dataflags.New(), path, "evaluate")
		if err != nil {
			return nil, err
		}
		e := evaluateOptions{newLabels: string(dataset.UnseenError)}
		result2, err := e.measure(ctx, r, []string{test})
		if err != nil {
			return nil, err
		}
		out = append(out, result2)
	}
	return out, nil
}

// writeDemo prints the table and says what it shows.
func writeDemo(w io.Writer, results []*evaluation) error {
	first := results[0]
	fmt.Fprintf(w, "Made-up card payments: %d rows to train on, %d to test on, "+
		"%d of these fraud; results on the test rows.\n\n",
		first.model.Data.Rows, first.info.Rows, first.positives)
	columns := []string{"f1", "gmean", "recall", "precision", "accuracy"}
	g := show.Table{}
	g.Add(append([]string{"model"}, columns...)...)
	value := func(e *evaluation, name string) float64 {
		m, err := measure.Parse(name)
		if err != nil {
			panic(err) // the names above
		}
		return e.confusion.Value(m)
	}
	for i, e := range results {
		row := []string{demoRuns[i].what}
		for _, name := range columns {
			row = append(row, show.Number(value(e, name)).String())
		}
		g.Add(row...)
	}
	if err := g.Write(w); err != nil {
		return err
	}
	f1 := func(i int) float64 { return value(results[i], "f1") }
	gm := func(i int) float64 { return value(results[i], "gmean") }
	fmt.Fprintf(w, "\nTrained for F1, STAMP reaches %.3f where plain logistic regression "+
		"reaches %.3f and one with a\n"+
		"tuned threshold %.3f: %s plain, %s tuned.\n", f1(3), f1(0), f1(1), gap(f1(3), f1(0)), gap(f1(3), f1(1)))
	_, err := fmt.Fprintf(w, "Trained for G-mean, SPADE reaches %.3f where plain logistic regression "+
		"reaches %.3f and one with a\n"+
		"tuned threshold %.3f: %s plain, %s tuned.\n", gm(4), gm(0), gm(2), gap(gm(4), gm(0)), gap(gm(4), gm(2)))
	return err
}

// gap describes how a compares with b.
func gap(a, b float64) string {
	switch d := a - b; {
	case d > 0.0005:
		return fmt.Sprintf("%.3f above", d)
	case d < -0.0005:
		return fmt.Sprintf("%.3f below", -d)
	default:
		return "level with"
	}
}
