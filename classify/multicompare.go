package classify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/random"
)

// MultiCompareOptions are the options of [CompareMulti]; see [CompareOptions] for their meaning.
type MultiCompareOptions struct {
	Measures   []measure.Multi
	Algorithms []string // names as [MultiAlgorithms] lists them; empty means all
	Splits     int      // 0 means 5
	TrainShare float64  // 0 means 0.7
	Fit        Options  // the options of every fit, as in [MultiOptions]
	Seed       uint64
	Clock      func() time.Time
	Progress   func(done, total int, algorithm, measure string)
}

// Validate checks the options and fills in the defaults. CompareMulti does so itself; call it to
// fail before the data are read.
func (o *MultiCompareOptions) Validate(task Task) error {
	if len(o.Measures) == 0 {
		return usage("no measure is given to compare on")
	}
	if o.Splits == 0 {
		o.Splits = 5
	}
	if o.TrainShare == 0 {
		o.TrainShare = 0.7
	}
	switch {
	case o.Splits < 1:
		return usage("splits is %d, want at least 1", o.Splits)
	case !(o.TrainShare > 0 && o.TrainShare < 1):
		return usage("share of the training part is %v, want a number in (0, 1)", o.TrainShare)
	}
	known := multiAlgorithmNames(task)
	if len(o.Algorithms) == 0 {
		o.Algorithms = known
	}
	for i, name := range o.Algorithms {
		switch {
		case !slices.Contains(known, name):
			return usage("no algorithm for %s data is named %q; there are %s", task, name, strings.Join(known, ", "))
		case slices.Contains(o.Algorithms[:i], name):
			return usage("algorithm %s is given twice", name)
		}
	}
	if o.Clock == nil {
		o.Clock = func() time.Time { return time.Time{} }
	}
	var refused error
	for _, m := range o.Measures {
		for _, name := range o.Algorithms {
			err := o.options(name, m, 0).Validate(task)
			if err == nil {
				return nil
			}
			if refused == nil {
				refused = err
			}
		}
	}
	return noregret.Errorf(noregret.Usage, "", "none of the algorithms can be trained for any of the measures: %w",
		refused)
}

// options are the options of one fit. The schedule of steps is for algorithms that have one.
func (o *MultiCompareOptions) options(algorithm string, m measure.Multi, seed uint64) MultiOptions {
	fit := MultiOptions{Measure: m, Algorithm: algorithm, Fit: o.Fit}
	fit.Fit.Seed = seed
	for _, a := range multiAlgorithms {
		if a.Name == algorithm && !a.online {
			fit.Fit.Config.Steps = StepsDefault
		}
	}
	return fit
}

// CompareMulti trains every algorithm for every measure on the same random splits of data and
// evaluates it on the rest, as [Compare] does for two classes. An algorithm that cannot train for a
// measure is left out of its cells; a model that does not depend on the measure is trained once a
// split. Classes that a test part lacks are left out of measures of the recalls.
func CompareMulti(ctx context.Context, data MultiData, opt MultiCompareOptions) (*Comparison, error) {
	if err := opt.Validate(data.Task); err != nil {
		return nil, err
	}
	run := &multiComparison{ctx: ctx, opt: opt, cells: cellTable{}}
	run.out.Splits = opt.Splits
	run.total = opt.Splits * len(opt.Algorithms) * len(opt.Measures)
	for k := range opt.Splits {
		if err := run.split(data, random.Mix(random.Mix(opt.Seed)+uint64(k))); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, m := range opt.Measures {
		names = append(names, m.Name())
	}
	run.out.Cells = run.cells.finished(names, opt.Algorithms)
	return &run.out, nil
}

type multiComparison struct {
	ctx         context.Context
	opt         MultiCompareOptions
	cells       cellTable
	out         Comparison
	done, total int
}

// split runs all algorithms on one split.
func (c *multiComparison) split(data MultiData, seed uint64) error {
	test, train, err := data.Set.Split(seed, "compare", c.opt.TrainShare, false)
	if err != nil {
		return err
	}
	if c.out.TrainRows == 0 {
		c.out.TrainRows, c.out.TestRows = train.Info().Rows, test.Info().Rows
	}
	for _, name := range c.opt.Algorithms {
		if err := c.algorithm(name, data.withSet(train), data.withSet(test), seed); err != nil {
			return fmt.Errorf("algorithm %s: %w", name, err)
		}
	}
	return nil
}

// algorithm runs one algorithm on one split for all measures that it can train for.
func (c *multiComparison) algorithm(name string, train, test MultiData, seed uint64) error {
	var shared *MultiResult
	var seconds float64
	for _, m := range c.opt.Measures {
		if c.opt.Progress != nil {
			c.opt.Progress(c.done, c.total, name, m.Name())
		}
		c.done++
		opt := c.opt.options(name, m, seed)
		t, err := opt.resolve(train.Task)
		if err != nil {
			continue
		}
		r := shared
		if r == nil {
			start := c.opt.Clock()
			if r, err = FitMulti(c.ctx, train, opt); err != nil {
				return err
			}
			seconds = c.opt.Clock().Sub(start).Seconds()
			if t.alg.shares && len(r.History) == 1 {
				shared = r
			}
		}
		for _, w := range r.Warnings {
			if !slices.Contains(c.out.Warnings, w) {
				c.out.Warnings = append(c.out.Warnings, w)
			}
		}
		counts, err := EvaluateMulti(c.ctx, test, &r.Model)
		if err != nil {
			return err
		}
		c.cells.add(m.Name(), name, counts.presentValue(m), seconds, r.Passes, r.Steps)
	}
	return nil
}
