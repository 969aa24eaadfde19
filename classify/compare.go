package classify

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/noregret/noregret/classify/measure"
)

// CompareOptions are the options of [Compare].
type CompareOptions struct {
	// Measures are the measures to train for and to compare on. At least one.
	Measures []measure.Measure
	// Algorithms are names as [Algorithms] lists them; empty means all. An algorithm that cannot train for a measure
	// is left out of that measure's cells.
	Algorithms []string
	// Splits is the number of random splits; 0 means 5.
	Splits int
	// TrainShare is the share of the rows trained on; 0 means 0.7.
	TrainShare float64
	// Fit holds the options of every fit; its Algorithm, Measure and Seed are set by Compare.
	Fit Options
	// Seed determines the splits and every fit.
	Seed uint64
	// Clock tells the time for the training seconds; nil leaves them 0.
	Clock func() time.Time
	// Progress, if not nil, is called before every fit with its place among all.
	Progress func(done, total int, algorithm, measure string)
}

// Cell is what one algorithm reached for one measure, over the splits.
type Cell struct {
	Measure   string `json:"measure"`
	Algorithm string `json:"algorithm"`
	// Values are the measures on the test parts, by split; null where undefined (NaN in Go).
	Values []float64 `json:"-"`
	// Mean and SD are their mean and sample standard deviation.
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
	// Seconds is the mean training time, and ExamplesPerSecond the steps taken in a second of it.
	Seconds           float64 `json:"seconds"`
	ExamplesPerSecond float64 `json:"examples_per_second"`
	// Passes is the mean number of passes over the training part.
	Passes float64 `json:"passes"`
}

// Comparison is the result of [Compare]: cells by measure, then by algorithm, in the order of the options.
type Comparison struct {
	Cells []Cell `json:"cells"`
	// Train and Test are the class sizes of the first split.
	Train, Test Classes
	Splits      int
	Warnings    []string
}

// Best is the cell with the largest mean among those that keep allows, or nil.
func (c *Comparison) Best(measureName string, keep func(algorithm string) bool) *Cell {
	var best *Cell
	for i := range c.Cells {
		x := &c.Cells[i]
		if x.Measure == measureName && keep(x.Algorithm) && (best == nil || x.Mean > best.Mean) {
			best = x
		}
	}
	return best
}

// Compare trains every algorithm for every measure on the same random splits of data and evaluates it on the rest.
// Training time includes the choice of model and threshold on held-out data, and not evaluation on the test part. A
// model that does not depend on the measure (logistic regression, plain SGD) is trained once a split and evaluated on all; the
// plug-in's logistic regression likewise, with its threshold tuned for each.
func Compare(ctx context.Context, data Data, opt CompareOptions) (*Comparison, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	run := &comparison{ctx: ctx, opt: opt, cells: map[[2]string]*Cell{}}
	run.out.Splits = opt.Splits
	run.total = opt.Splits * len(opt.Algorithms) * len(opt.Measures)
	for k := range opt.Splits {
		if err := run.split(data, opt.Seed+uint64(k)); err != nil {
			return nil, err
		}
	}
	for _, m := range opt.Measures {
		for _, a := range opt.Algorithms {
			if c := run.cells[[2]string{m.Name(), a}]; c != nil {
				c.finish()
				run.out.Cells = append(run.out.Cells, *c)
			}
		}
	}
	return &run.out, nil
}

// Validate checks the options and fills in the defaults. Compare does so itself; call it to fail before the data are read.
func (o *CompareOptions) Validate() error {
	if len(o.Measures) == 0 {
		return usage("no measure is given to compare on")
	}
	if o.Splits == 0 {
		o.Splits = 5
	}
	if o.Splits < 1 {
		return usage("splits is %d, want at least 1", o.Splits)
	}
	if o.TrainShare == 0 {
		o.TrainShare = 0.7
	}
	if !(o.TrainShare > 0 && o.TrainShare < 1) {
		return usage("share of the training part is %v, want a number in (0, 1)", o.TrainShare)
	}
	if len(o.Algorithms) == 0 {
		o.Algorithms = AlgorithmNames()
	}
	for _, name := range o.Algorithms {
		if !slices.Contains(AlgorithmNames(), name) {
			_, err := findAlgorithm(name, o.Measures[0], true)
			return err
		}
	}
	if o.Clock == nil {
		o.Clock = func() time.Time { return time.Time{} }
	}
	return nil
}

type comparison struct {
	ctx         context.Context
	opt         CompareOptions
	cells       map[[2]string]*Cell
	out         Comparison
	done, total int
}

// split runs all algorithms on one split.
func (c *comparison) split(data Data, seed uint64) error {
	test, train, err := data.Set.Split(seed, "compare", c.opt.TrainShare, false)
	if err != nil {
		return err
	}
	trainData, testData := Data{train, data.Positive}, Data{test, data.Positive}
	trainClasses, err := trainData.Classes()
	if err != nil {
		return err
	}
	testClasses, err := testData.Classes()
	if err != nil {
		return err
	}
	if c.out.Train.Rows() == 0 {
		c.out.Train, c.out.Test = trainClasses, testClasses
	}
	for _, name := range c.opt.Algorithms {
		if err := c.algorithm(name, trainData, testData, seed); err != nil {
			return err
		}
	}
	return nil
}

// algorithm runs one algorithm on one split for all measures that it can train for.
func (c *comparison) algorithm(name string, train, test Data, seed uint64) error {
	var shared *Result
	var seconds float64
	for _, m := range c.opt.Measures {
		if c.opt.Progress != nil {
			c.opt.Progress(c.done, c.total, name, m.Name())
		}
		c.done++
		alg, err := findAlgorithm(name, m, true)
		if err != nil || !alg.trains(m) {
			continue
		}
		o := c.opt.Fit
		o.Algorithm, o.Measure, o.Seed = name, m, seed
		start := c.opt.Clock()
		r := shared
		switch {
		case shared == nil:
			if r, err = Fit(c.ctx, train, o); err != nil {
				return err
			}
			seconds = c.opt.Clock().Sub(start).Seconds()
			for _, w := range r.Warnings {
				if !slices.Contains(c.out.Warnings, w) {
					c.out.Warnings = append(c.out.Warnings, w)
				}
			}
		case alg.TunesThreshold:
			clone := *shared
			r = &clone
			if err := retune(c.ctx, r, m); err != nil {
				return err
			}
		}
		if alg.sharesModel {
			shared = r
		}
		if err := c.record(name, m, r, test, seconds); err != nil {
			return err
		}
	}
	return nil
}

// retune tunes the threshold of a result for another measure on the same held-out data.
func retune(ctx context.Context, r *Result, m measure.Measure) (err error) {
	r.Model.Threshold, _, err = Tune(ctx, *r.holdout, &r.Model, m)
	return err
}

func (c *comparison) record(name string, m measure.Measure, r *Result, test Data, seconds float64) error {
	counts, err := Evaluate(c.ctx, test, &r.Model)
	if err != nil {
		return err
	}
	key := [2]string{m.Name(), name}
	cell := c.cells[key]
	if cell == nil {
		cell = &Cell{Measure: m.Name(), Algorithm: name}
		c.cells[key] = cell
	}
	cell.Values = append(cell.Values, m.Value(counts))
	cell.Seconds += seconds
	cell.Passes += float64(r.Passes)
	cell.ExamplesPerSecond += float64(r.Steps) // divided by Seconds at the end
	return nil
}

// finish turns the sums of a cell into means.
func (c *Cell) finish() {
	n := float64(len(c.Values))
	if c.Seconds > 0 {
		c.ExamplesPerSecond /= c.Seconds
	} else {
		c.ExamplesPerSecond = 0
	}
	c.Seconds /= n
	c.Passes /= n
	for _, v := range c.Values {
		c.Mean += v / n
	}
	if len(c.Values) > 1 {
		for _, v := range c.Values {
			c.SD += (v - c.Mean) * (v - c.Mean) / (n - 1)
		}
		c.SD = math.Sqrt(c.SD)
	}
}
