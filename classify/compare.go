package classify

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/named"
)

// CompareOptions are the options of [Compare]. Start from [DefaultCompareOptions].
type CompareOptions struct {
	// Measures are the measures to train for and to compare on, all of the task of the data. At
	// least one, none twice.
	Measures []measure.Objective
	// Algorithms are [Auto] or names as [Algorithms] lists them, none twice; empty means all of the
	// latter. An algorithm that [Fit] refuses to
	// train for a measure (of the wrong family, or degenerate without Fit.AllowDegenerate) is left
	// out of that measure's cells, and one that needs held-out data with a Fit.Holdout of 0.
	Algorithms []string
	// Splits is the number of random splits, at least 1.
	Splits int
	// TrainShare is the share of the rows trained on, in (0, 1).
	TrainShare float64
	// Fit holds the options of every fit; its Algorithm, Measure and Seed are set by Compare.
	Fit Options
	// Seed determines the splits and every fit. Split k, counted from 0, and all fits on it have
	// the seed mix(mix(Seed) + k) with the output function mix of SplitMix64, so that comparisons
	// of different seeds share no split, as they would with Seed + k.
	Seed uint64
	// Clock returns the time, for the training seconds. If it is nil, they are 0.
	Clock func() time.Time
	// Progress, if not nil, is called before every fit with its place among all.
	Progress func(done, total int, algorithm, measure string)
}

// DefaultCompareOptions returns the usual options, without measures: all algorithms on five splits
// that train on 70 % of the rows.
func DefaultCompareOptions() CompareOptions { return CompareOptions{Splits: 5, TrainShare: 0.7} }

// Compare trains every algorithm for every measure on the same random splits of data and evaluates
// it on the rest. Training time includes the choice of model and threshold on held-out data, and
// not evaluation on the test part. A model that does not depend on the measure (logistic
// regression; SGD, unless one of several models is chosen on held-out data) is trained once per
// split and evaluated on all measures. If its threshold is tuned, it is tuned for each measure. The
// results for a measure do not depend on the other measures. Measures of the recalls of several
// classes leave out those that a test part lacks.
func Compare(ctx context.Context, data Data, opt CompareOptions) (*Comparison, error) {
	if err := opt.Validate(data.Task); err != nil {
		return nil, err
	}
	run := &comparison{ctx: ctx, opt: opt, task: data.Task}
	return run.over(data)
}

// Validate checks the options for data of a task. It replaces an empty list of algorithms by all of
// them. Compare calls it; call it yourself to fail before the data are read.
func (o *CompareOptions) Validate(task Task) error {
	if len(o.Measures) == 0 {
		return usage("no measure is given to compare on")
	}
	if err := checkSplits(o.Splits, o.TrainShare); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, m := range o.Measures {
		if err := checkObjective(task, m); err != nil {
			return err
		}
		if seen[m.Name()] {
			return usage("measure %s is given twice", m.Name())
		}
		seen[m.Name()] = true
	}
	return o.checkAlgorithms(task)
}

// checkAlgorithms checks the names. It returns an error if none of the algorithms can be trained
// for any of the measures.
func (o *CompareOptions) checkAlgorithms(task Task) error {
	known := AlgorithmNames(task)
	if len(o.Algorithms) == 0 {
		o.Algorithms = known
	}
	var names []string
	for _, name := range o.Algorithms {
		if name != Auto && !slices.Contains(known, name) {
			return usage("no algorithm for %s data is named %q; %sthere are auto, %s", task, name,
				named.DidYouMean(name, append(known, "auto")), strings.Join(known, ", "))
		}
		if slices.Contains(names, name) {
			return usage("algorithm %s is given twice", name)
		}
		names = append(names, name)
	}
	o.Algorithms = names
	var refused error
	for _, m := range o.Measures {
		for _, name := range names {
			_, _, err := o.fit(task, name, m, 0)
			if err == nil {
				return nil
			}
			refused = cmp.Or(refused, err)
		}
	}
	return noregret.Errorf(noregret.Usage, "", "none of the algorithms can be trained for any of the measures: %w",
		refused)
}

// fit returns the algorithm and the options of one fit, without those that it does not have, or an
// error if it cannot train for the measure.
func (o *CompareOptions) fit(task Task, name string, m measure.Objective, seed uint64) (*Algorithm, Options, error) {
	fit := o.Fit
	fit.Algorithm, fit.Measure, fit.Seed = name, m, seed
	a, err := findAlgorithm(task, name, m, fit.AllowDegenerate)
	switch {
	case err != nil:
		return nil, fit, err
	case a.needsHoldout && fit.noHoldout():
		return nil, fit, usage("algorithm %s needs held-out data", name)
	}
	if !a.online {
		fit.Config.Steps, fit.Config.Step = StepsDefault, 0
	}
	switch {
	case task != Binary:
		err = fit.Validate(task)
	case !a.judges(&fit):
		fit.Folds = nil
	}
	return a, fit, err
}

// algorithm runs one algorithm on one split for all measures that it can train for.
func (c *comparison) algorithm(name string, train, test Data, seed uint64) error {
	var shared *Result
	var seconds float64
	for _, m := range c.opt.Measures {
		c.next(name, m.Name())
		alg, opt, err := c.opt.fit(c.task, name, m, seed)
		if err != nil {
			continue
		}
		opt.Calibration = CalibrationNone // nobody asks for probabilities
		r := shared
		switch {
		case shared == nil:
			seconds, err = c.timed(func() error {
				r, err = Fit(c.ctx, train, opt)
				return err
			})
			if err != nil {
				return err
			}
			c.warn(r.Warnings)
			// The model may depend on the measure through the choice among several.
			if alg.sharesModel && name != Auto && len(r.History) == 1 && r.Folds == 1 &&
				(c.task == Binary || !alg.tunes(&opt)) {
				shared = r
			}
		case alg.tunes(&opt):
			if r, err = shared.retuned(c.ctx, m.(measure.Measure)); err != nil {
				return err
			}
		}
		counts, err := Evaluate(c.ctx, test, r.Classifier())
		if err != nil {
			return err
		}
		c.cells.add(m.Name(), name, counts.presentValue(m), seconds, r.Passes, r.Steps)
	}
	return nil
}

// retuned returns the result with the threshold tuned for another measure on the same held-out
// data.
func (r *Result) retuned(ctx context.Context, m measure.Measure) (*Result, error) {
	out, l := *r, r.Models[0]
	var err error
	l.Threshold, _, err = Tune(ctx, *r.holdout, &l, m)
	out.Models = []Linear{l}
	return &out, err
}
