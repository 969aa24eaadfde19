package classify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/named"
)

// MultiCompareOptions are the options of [CompareMulti]; see [CompareOptions] for their meaning.
// Start from [DefaultMultiCompareOptions].
type MultiCompareOptions struct {
	Measures   []measure.Multi
	Algorithms []string // names as [MultiAlgorithms] lists them; empty means all
	Splits     int
	TrainShare float64
	Fit        Options // the options of every fit, as in [MultiOptions]
	Seed       uint64
	Clock      func() time.Time
	Progress   func(done, total int, algorithm, measure string)
}

// DefaultMultiCompareOptions returns the usual options, without measures: all algorithms on five
// splits that train on 70 % of the rows.
func DefaultMultiCompareOptions() MultiCompareOptions {
	return MultiCompareOptions{Splits: 5, TrainShare: 0.7}
}

// Validate checks the options and replaces an empty list of algorithms by all of them. CompareMulti
// calls it; call it yourself to fail before the data are read.
func (o *MultiCompareOptions) Validate(task Task) error {
	if len(o.Measures) == 0 {
		return usage("no measure is given to compare on")
	}
	if err := checkSplits(o.Splits, o.TrainShare); err != nil {
		return err
	}
	known := multiAlgorithmNames(task)
	if len(o.Algorithms) == 0 {
		o.Algorithms = known
	}
	for i, name := range o.Algorithms {
		switch {
		case !slices.Contains(known, name):
			return usage("no algorithm for %s data is named %q; %sthere are %s", task, name,
				named.DidYouMean(name, known), strings.Join(known, ", "))
		case slices.Contains(o.Algorithms[:i], name):
			return usage("algorithm %s is given twice", name)
		}
	}
	return someTrainable(len(o.Measures), o.Algorithms, func(i int, name string) error {
		opt := o.options(name, o.Measures[i], 0)
		return opt.Validate(task)
	})
}

// options returns the options of one fit, without the schedule of steps if the algorithm has none.
func (o *MultiCompareOptions) options(algorithm string, m measure.Multi, seed uint64) MultiOptions {
	fit := MultiOptions{Measure: m, Algorithm: algorithm, Fit: o.Fit}
	fit.Fit.Seed = seed
	for _, a := range multiAlgorithms {
		if a.Name == algorithm && !a.online {
			fit.Fit.Config.Steps, fit.Fit.Config.Step = StepsDefault, 0
		}
	}
	return fit
}

// CompareMulti trains every algorithm for every measure on the same random splits of data and
// evaluates it on the rest, as [Compare] does for two classes. An algorithm that cannot train for a
// measure has no cell for it. A model that does not depend on the measure is trained once per
// split. Measures of the recalls leave out classes that a test part lacks.
func CompareMulti(ctx context.Context, data MultiData, opt MultiCompareOptions) (*Comparison, error) {
	if err := opt.Validate(data.Task); err != nil {
		return nil, err
	}
	run := &multiComparison{opt: opt}
	run.comparison = comparison{
		ctx: ctx, splits: opt.Splits, trainShare: opt.TrainShare, seed: opt.Seed, measures: namesOf(opt.Measures),
		algorithms: opt.Algorithms, clock: opt.Clock, progress: opt.Progress,
	}
	return run.over(data.Set, func(name string, train, test *dataset.Set, seed uint64) error {
		if err := run.algorithm(name, data.withSet(train), data.withSet(test), seed); err != nil {
			return fmt.Errorf("algorithm %s: %w", name, err)
		}
		return nil
	})
}

// multiComparison is a comparison on data of several classes or labels.
type multiComparison struct {
	comparison
	opt MultiCompareOptions
}

// algorithm runs one algorithm on one split for all measures that it can train for.
func (c *multiComparison) algorithm(name string, train, test MultiData, seed uint64) error {
	var shared *MultiResult
	var seconds float64
	for _, m := range c.opt.Measures {
		c.next(name, m.Name())
		opt := c.opt.options(name, m, seed)
		t, err := opt.resolve(train.Task)
		if err != nil {
			continue
		}
		r := shared
		if r == nil {
			seconds, err = c.timed(func() error {
				r, err = FitMulti(c.ctx, train, opt)
				return err
			})
			if err != nil {
				return err
			}
			if t.alg.shares && len(r.History) == 1 {
				shared = r
			}
		}
		c.warn(r.Warnings)
		counts, err := EvaluateMulti(c.ctx, test, &r.Model)
		if err != nil {
			return err
		}
		c.cells.add(m.Name(), name, counts.presentValue(m), seconds, r.Passes, r.Steps)
	}
	return nil
}
