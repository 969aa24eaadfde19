package classify

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/random"
)

// Cell holds the results of one algorithm for one measure over the splits. It has no JSON form,
// because JSON has no NaN.
type Cell struct {
	Measure, Algorithm string
	// Values are the measures on the test parts, by split; NaN where undefined.
	Values []float64
	// Mean and SD are their mean and sample standard deviation, NaN if one of them is.
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
	// Train and Test are the sizes of the labels in the first split.
	Train, Test Part
	Splits      int
	Warnings    []string
}

// Best returns the measure's cell with the largest mean among those that keep accepts, the first of
// equal ones, or nil if there is none. A cell whose mean is undefined is best only if all are.
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

// checkSplits checks the splits of a comparison.
func checkSplits(splits int, trainShare float64) error {
	return cmp.Or(paramSplits.check(float64(splits)), paramTrainShare.check(trainShare))
}

// comparison is a run of [Compare]: its options and the results so far.
type comparison struct {
	ctx  context.Context
	opt  CompareOptions
	task Task

	cells cellTable
	out   Comparison
	done  int
}

// Split returns the parts of split k, counted from 0, that [Compare] trains on and evaluates on.
func (o *CompareOptions) Split(data Data, k int) (train, test Data, err error) {
	a, b, err := data.Set.Split(o.splitSeed(k), "compare", o.TrainShare, false)
	if err != nil {
		return train, test, err
	}
	return data.withSet(b), data.withSet(a), nil
}

// splitSeed is the seed of split k and of all fits on it.
func (o *CompareOptions) splitSeed(k int) uint64 { return random.Mix(random.Mix(o.Seed) + uint64(k)) }

// over splits the data and runs every algorithm on each split. All fits on a split have its seed.
func (c *comparison) over(data Data) (*Comparison, error) {
	c.cells, c.out.Splits = cellTable{}, c.opt.Splits
	for k := range c.opt.Splits {
		seed := c.opt.splitSeed(k)
		train, test, err := c.opt.Split(data, k)
		if err != nil {
			return nil, err
		}
		if k == 0 {
			if c.out.Train, err = train.sizes(); err != nil {
				return nil, err
			}
			if c.out.Test, err = test.sizes(); err != nil {
				return nil, err
			}
		}
		for _, name := range c.opt.Algorithms {
			if err := c.algorithm(name, train, test, seed); err != nil {
				return nil, err
			}
		}
	}
	c.out.Cells = c.cells.finished(c.opt.Measures, c.opt.Algorithms)
	return &c.out, nil
}

// next reports progress before the next fit.
func (c *comparison) next(algorithm, measure string) {
	if c.opt.Progress != nil {
		c.opt.Progress(c.done, c.opt.Splits*len(c.opt.Algorithms)*len(c.opt.Measures), algorithm, measure)
	}
	c.done++
}

// timed runs fit and returns the seconds that it took, 0 without a clock.
func (c *comparison) timed(fit func() error) (seconds float64, err error) {
	if c.opt.Clock == nil {
		return 0, fit()
	}
	start := c.opt.Clock()
	err = fit()
	return c.opt.Clock().Sub(start).Seconds(), err
}

// warn collects warnings, each once.
func (c *comparison) warn(warnings []string) {
	for _, w := range warnings {
		if !slices.Contains(c.out.Warnings, w) {
			c.out.Warnings = append(c.out.Warnings, w)
		}
	}
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
func (t cellTable) finished(measures []measure.Objective, algorithms []string) []Cell {
	var out []Cell
	for _, m := range measures {
		for _, a := range algorithms {
			if c := t[[2]string{m.Name(), a}]; c != nil {
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
