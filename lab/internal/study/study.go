package study

import (
	"context"
	"io"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/internal/parallel"
	"github.com/noregret/noregret/internal/progress"
)

// Runner plays the runs of a study.
type Runner struct {
	// Workers is the number of runs at a time, one for each processor if it is below 1.
	Workers int
	// Notes is where a study says what it leaves out.
	Notes io.Writer

	name     string
	reporter *progress.Reporter
	done     int64
}

// Expect says before the first run how many runs there will be, so that progress has a remaining
// time.
func (r *Runner) Expect(runs int) { r.reporter.Start(r.name, int64(runs)) }

// Step reports that a run is done. Calls must not overlap.
func (r *Runner) Step() {
	r.done++
	r.reporter.Update(r.done)
}

// Progress reports that some of all runs are done. It is an alternative to Expect and Step.
func (r *Runner) Progress(done, total int) {
	if done == 1 {
		r.Expect(total)
	}
	r.Step()
}

// Runs is [parallel.Runs] with the runner's workers and progress.
func Runs[T any](ctx context.Context, r *Runner, n int, play func(run int) (T, error)) ([]T, error) {
	return parallel.Runs(ctx, n, r.Workers, func(int) { r.Step() }, play)
}

// New completes the command of a study, which takes no arguments if it does not say so: it gets the
// flags --workers and --json, shows progress in the given unit, and prints the report that play
// returns, also beside an error if there is something in it. It fails if a cell is outside its
// tolerance.
func New(c *cobra.Command, unit string, play func(ctx context.Context, r *Runner) (*Report, error)) *cobra.Command {
	if c.Args == nil {
		c.Args = command.NoArgs
	}
	workers := c.Flags().Int("workers", 0, "runs at a time, 0 for all cores; the result is the same for any number")
	asJSON := c.Flags().Bool("json", false, "print JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *workers < 0 {
			return command.OutOfRange("--workers", *workers, "at least 0")
		}
		reporter, err := progress.New(c.ErrOrStderr(),
			progress.Options{Mode: progress.Mode(c.Flag("progress").Value.String()), Unit: unit, Long: true})
		if err != nil {
			return err
		}
		r := &Runner{Workers: *workers, Notes: c.ErrOrStderr(), name: c.Name(), reporter: reporter}
		r.Expect(0)
		report, err := play(c.Context(), r)
		reporter.Finish()
		if report == nil || err != nil && len(report.Tables) == 0 && (!*asJSON || report.Data == nil) {
			return err
		}
		if failed := report.Write(c.OutOrStdout(), *asJSON); err == nil {
			err = failed
		}
		if off := report.off(); err == nil && off > 0 {
			err = noregret.Errorf(noregret.Internal, c.Name(), "%s outside the tolerance, marked with !",
				show.Count(off, "cell is", "cells are"))
		}
		return err
	}
	return c
}

// Missing is the error for data that are not in the directory which the flag --data names.
func Missing(dir, what string) error {
	return noregret.Errorf(noregret.NotFound, dir, "no %s in this directory: name the directory of the data with "+
		"--data", what)
}

// Unknown is the error for a flag whose value fits none of the names.
func Unknown(flag, value string, names []string) error {
	return noregret.Errorf(noregret.Usage, flag, "%s", named.Unknown(value, names))
}

// Known returns the error of [Unknown] for the first value of a flag that is none of the names.
func Known(flag string, values, names []string) error {
	for _, v := range values {
		if !slices.Contains(names, v) {
			return Unknown(flag, v, names)
		}
	}
	return nil
}

// Names lists the names of entries.
func Names[T any](all []T, nameOf func(*T) string) []string {
	names := make([]string, len(all))
	for i := range all {
		names[i] = nameOf(&all[i])
	}
	return names
}

// Estimate is a mean over runs and its standard error.
type Estimate struct {
	Mean  float64 `json:"mean"`
	Error float64 `json:"error"`
}

// AtLeast reports whether the estimate is at least x, to two standard errors.
func (e Estimate) AtLeast(x float64) bool { return e.Mean+float64(2*e.Error) >= x }

// AtMost reports whether the estimate is at most x, to two standard errors.
func (e Estimate) AtMost(x float64) bool { return e.Mean-float64(2*e.Error) <= x }

// MeanOf returns the mean of values with its standard error, NaN for one value.
func MeanOf(values []float64) Estimate {
	n := float64(len(values))
	mean, squares := moments(values)
	return Estimate{mean, math.Sqrt(squares / (n - 1) / n)}
}

// Spread returns the mean of values and their standard deviation, NaN for one value.
func Spread(values []float64) (mean, deviation float64) {
	mean, squares := moments(values)
	return mean, math.Sqrt(squares / float64(len(values)-1))
}

// moments returns the mean, and the sum of the squares of the deviations from it.
func moments(values []float64) (mean, squares float64) {
	for i, v := range values {
		d := v - mean
		mean += d / float64(i+1)
		squares += float64(d * (v - mean))
	}
	return mean, squares
}
