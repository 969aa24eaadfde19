package classify

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/random"
)

// CompareOptions are the options of [Compare].
type CompareOptions struct {
	// Measures are the measures to train for and to compare on. At least one, none twice.
	Measures []measure.Measure
	// Algorithms are names as [Algorithms] lists them, none twice; empty means all, and "auto"
	// stands for the [DefaultAlgorithm] of each of the measures. An algorithm that [Fit] refuses to
	// train for a measure (of the wrong family, or degenerate without Fit.AllowDegenerate) is left
	// out of that measure's cells, and one that needs held-out data is left out with Fit.NoHoldout.
	Algorithms []string
	// Splits is the number of random splits; 0 means 5.
	Splits int
	// TrainShare is the share of the rows trained on; 0 means 0.7.
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

// Cell is what one algorithm reached for one measure, over the splits. It has no JSON form, which
// knows no NaN.
type Cell struct {
	Measure, Algorithm string
	// Values are the measures on the test parts, by split; NaN where undefined.
	Values []float64
	// Mean and SD are their mean and sample standard deviation, NaN when one of them is.
	Mean, SD float64
	// Seconds is the mean training time, and ExamplesPerSecond the steps taken in a second of it.
	Seconds, ExamplesPerSecond float64
	// Passes is the mean number of passes over the training part.
	Passes float64
}

// Comparison is the result of [Compare]: cells by measure, then by algorithm, in the order of the
// options.
type Comparison struct {
	Cells []Cell
	// Train and Test are the class sizes of the first split, of two classes; TrainRows and TestRows
	// are the rows of its parts.
	Train, Test         Classes
	TrainRows, TestRows int64
	Splits              int
	Warnings            []string
}

// Best is the measure's cell with the largest mean among those that keep allows, the first of equal
// ones, or nil when there is none. A cell whose mean is undefined is best only where all are.
func (c *Comparison) Best(measureName string, keep func(algorithm string) bool) *Cell {
	var best *Cell
	for i := range c.Cells {
		x := &c.Cells[i]
		if x.Measure != measureName || !keep(x.Algorithm) {
			continue
		}
		if best == nil || x.Mean > best.Mean || (math.IsNaN(best.Mean) && !math.IsNaN(x.Mean)) {
			best = x
		}
	}
	return best
}

// Over compares c with another cell of the same comparison and measure, split by split. It returns
// the mean difference d̄ and its standard error √((1/J + n₂/n₁)·s²) for J splits of n₁ rows to
// train on and n₂ to test on, s² being the sample variance of the differences. The second term
// accounts for the rows that the splits share (Nadeau and Bengio 2003, Machine Learning 52, the
// corrected resampled t-test): without it the error of many splits of the same rows would be far
// too small. Both numbers are NaN when a value of either cell is, and the error with fewer than two
// splits.
func (c *Cell) Over(other *Cell, train, test int64) (difference, standardError float64) {
	n := len(c.Values)
	if n == 0 || n != len(other.Values) || train <= 0 {
		return math.NaN(), math.NaN()
	}
	for k, v := range c.Values {
		difference += (v - other.Values[k]) / float64(n)
	}
	if n < 2 {
		return difference, math.NaN()
	}
	var variance float64
	for k, v := range c.Values {
		e := v - other.Values[k] - difference
		variance += float64(e*e) / float64(n-1)
	}
	return difference, math.Sqrt((1/float64(n) + float64(test)/float64(train)) * variance)
}

// Compare trains every algorithm for every measure on the same random splits of data and evaluates
// it on the rest. Training time includes the choice of model and threshold on held-out data, and
// not evaluation on the test part. A model that does not depend on the measure (logistic
// regression; SGD, unless one of several models is chosen on held-out data) is trained once per
// split and evaluated on all measures, with its threshold tuned for each where it is to be tuned.
// The results for a measure do not depend on the other measures.
func Compare(ctx context.Context, data Data, opt CompareOptions) (*Comparison, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	run := &comparison{ctx: ctx, opt: opt, cells: cellTable{}}
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

// Validate checks the options and fills in the defaults. Compare does so itself; call it to fail
// before the data are read.
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
	if err := o.checkMeasures(); err != nil {
		return err
	}
	if err := o.checkAlgorithms(); err != nil {
		return err
	}
	if o.Clock == nil {
		o.Clock = func() time.Time { return time.Time{} }
	}
	return nil
}

func (o *CompareOptions) checkMeasures() error {
	seen := map[string]bool{}
	for _, m := range o.Measures {
		switch {
		case m == nil:
			return usage("no measure is given in one of the %d places; there are %s", len(o.Measures),
				strings.Join(measure.Names(), ", "))
		case seen[m.Name()]:
			return usage("measure %s is given twice", m.Name())
		}
		seen[m.Name()] = true
	}
	return nil
}

// checkAlgorithms checks the names and replaces "auto" by the default algorithms. It returns an
// error if there is nothing to train.
func (o *CompareOptions) checkAlgorithms() error {
	if len(o.Algorithms) == 0 {
		o.Algorithms = AlgorithmNames()
	}
	var names []string
	for _, name := range o.Algorithms {
		if name == "auto" {
			continue
		}
		if !slices.Contains(AlgorithmNames(), name) {
			return usage("no algorithm is named %q; there are auto, %s", name, strings.Join(AlgorithmNames(), ", "))
		}
		if slices.Contains(names, name) {
			return usage("algorithm %s is given twice", name)
		}
		names = append(names, name)
	}
	if slices.Contains(o.Algorithms, "auto") {
		for _, m := range o.Measures {
			if name := DefaultAlgorithm(m); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	o.Algorithms = names
	var refused error
	for _, m := range o.Measures {
		for _, name := range names {
			_, err := o.trainable(name, m)
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

// trainable returns the algorithm, or an error if Fit cannot train it for the measure.
func (o *CompareOptions) trainable(name string, m measure.Measure) (*Algorithm, error) {
	a, err := findAlgorithm(name, m, o.Fit.AllowDegenerate)
	switch {
	case err != nil:
		return nil, err
	case a.needsHoldout && o.Fit.NoHoldout:
		return nil, usage("algorithm %s needs held-out data", name)
	}
	return a, nil
}

type comparison struct {
	ctx         context.Context
	opt         CompareOptions
	cells       cellTable
	out         Comparison
	done, total int
}

// split runs all algorithms on one split.
func (c *comparison) split(data Data, seed uint64) error {
	test, train, err := data.Set.Split(seed, "compare", c.opt.TrainShare, false)
	if err != nil {
		return err
	}
	trainData, testData := Data{Set: train, Positive: data.Positive}, Data{Set: test, Positive: data.Positive}
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
		c.out.TrainRows, c.out.TestRows = trainClasses.Rows(), testClasses.Rows()
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
		alg, err := c.opt.trainable(name, m)
		if err != nil {
			continue
		}
		r := shared
		switch {
		case shared == nil:
			if r, seconds, err = c.fit(alg, m, train, seed); err != nil {
				return err
			}
			if isShared(alg, r) {
				shared = r
			}
		case alg.tunes(&c.opt.Fit):
			clone := *shared
			r = &clone
			if err := retune(c.ctx, r, m); err != nil {
				return err
			}
		}
		if err := c.record(name, m, r, test, seconds); err != nil {
			return err
		}
	}
	return nil
}

// fit trains one algorithm for one measure and keeps its warnings.
func (c *comparison) fit(alg *Algorithm, m measure.Measure, train Data, seed uint64) (r *Result, seconds float64,
	err error,
) {
	o := c.opt.Fit
	if !alg.online {
		o.Config.Steps = StepsDefault
	}
	if !alg.judges(&o) {
		o.Folds = 0
	}
	name := alg.Name
	o.Algorithm, o.Measure, o.Seed = name, m, seed
	start := c.opt.Clock()
	if r, err = Fit(c.ctx, train, o); err != nil {
		return nil, 0, err
	}
	seconds = c.opt.Clock().Sub(start).Seconds()
	for _, w := range r.Warnings {
		if !slices.Contains(c.out.Warnings, w) {
			c.out.Warnings = append(c.out.Warnings, w)
		}
	}
	return r, seconds, nil
}

// isShared reports whether the model of a fit, except for its threshold, is the same for all
// measures: the algorithm does not use the measure for training, and there was only one model to
// choose from.
func isShared(a *Algorithm, r *Result) bool {
	return a.sharesModel && len(r.History) == 1 && r.Folds == 1
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
	c.cells.add(m.Name(), name, m.Value(counts), seconds, r.Passes, r.Steps)
	return nil
}

// cellTable holds cells by measure and algorithm.
type cellTable map[[2]string]*Cell

// add adds the outcome of a split to a cell.
func (t cellTable) add(measure, algorithm string, value, seconds float64, passes int, steps int64) {
	key := [2]string{measure, algorithm}
	cell := t[key]
	if cell == nil {
		cell = &Cell{Measure: measure, Algorithm: algorithm}
		t[key] = cell
	}
	cell.Values = append(cell.Values, value)
	cell.Seconds += seconds
	cell.Passes += float64(passes)
	cell.ExamplesPerSecond += float64(steps) // divided by Seconds at the end
}

// finished lists the cells by measure, then by algorithm.
func (t cellTable) finished(measures, algorithms []string) []Cell {
	var out []Cell
	for _, m := range measures {
		for _, a := range algorithms {
			if c := t[[2]string{m, a}]; c != nil {
				c.finish()
				out = append(out, *c)
			}
		}
	}
	return out
}

// finish divides the sums of a cell to get means.
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
