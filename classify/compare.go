package classify

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/named"
)

// CompareOptions are the options of [Compare]. Start from [DefaultCompareOptions].
type CompareOptions struct {
	// Measures are the measures to train for and to compare on. At least one, none twice.
	Measures []measure.Measure
	// Algorithms are names as [Algorithms] lists them, none twice; empty means all, and "auto"
	// stands for the [DefaultAlgorithm] of each of the measures. An algorithm that [Fit] refuses to
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
// results for a measure do not depend on the other measures.
func Compare(ctx context.Context, data Data, opt CompareOptions) (*Comparison, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	run := &twoComparison{opt: opt}
	run.comparison = comparison{
		ctx: ctx, splits: opt.Splits, trainShare: opt.TrainShare, seed: opt.Seed, measures: namesOf(opt.Measures),
		algorithms: opt.Algorithms, clock: opt.Clock, progress: opt.Progress,
	}
	return run.over(data.Set, func(name string, train, test *dataset.Set, seed uint64) error {
		return run.algorithm(name, Data{Set: train, Positive: data.Positive}, Data{Set: test, Positive: data.Positive},
			seed)
	})
}

// Validate checks the options. It replaces an empty list of algorithms by all of them, and "auto"
// by the algorithms that it stands for. Compare calls it; call it yourself to fail before the data
// are read.
func (o *CompareOptions) Validate() error {
	if len(o.Measures) == 0 {
		return usage("no measure is given to compare on")
	}
	if err := checkSplits(o.Splits, o.TrainShare); err != nil {
		return err
	}
	if err := o.checkMeasures(); err != nil {
		return err
	}
	return o.checkAlgorithms()
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
// error if none of the algorithms can be trained for any of the measures.
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
			return usage("no algorithm is named %q; %sthere are auto, %s", name,
				named.DidYouMean(name, append(AlgorithmNames(), "auto")), strings.Join(AlgorithmNames(), ", "))
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
	return someTrainable(len(o.Measures), names, func(i int, name string) error {
		_, err := o.trainable(name, o.Measures[i])
		return err
	})
}

// trainable returns the algorithm, or an error if Fit cannot train it for the measure.
func (o *CompareOptions) trainable(name string, m measure.Measure) (*Algorithm, error) {
	a, err := findAlgorithm(name, m, o.Fit.AllowDegenerate)
	switch {
	case err != nil:
		return nil, err
	case a.needsHoldout && o.Fit.noHoldout():
		return nil, usage("algorithm %s needs held-out data", name)
	}
	return a, nil
}

// twoComparison is a comparison on data of two classes.
type twoComparison struct {
	comparison
	opt CompareOptions
}

// countClasses records the class sizes of the first split.
func (c *twoComparison) countClasses(train, test Data) (err error) {
	if c.out.Train.Rows() > 0 {
		return nil
	}
	if c.out.Train, err = train.Classes(); err != nil {
		return err
	}
	if c.out.Test, err = test.Classes(); err != nil {
		return err
	}
	c.out.TrainRows, c.out.TestRows = c.out.Train.Rows(), c.out.Test.Rows()
	return nil
}

// algorithm runs one algorithm on one split for all measures that it can train for.
func (c *twoComparison) algorithm(name string, train, test Data, seed uint64) error {
	if err := c.countClasses(train, test); err != nil {
		return err
	}
	var shared *Result
	var seconds float64
	for _, m := range c.opt.Measures {
		c.next(name, m.Name())
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
func (c *twoComparison) fit(alg *Algorithm, m measure.Measure, train Data, seed uint64) (r *Result, seconds float64,
	err error,
) {
	o := c.opt.Fit
	if !alg.online {
		o.Config.Steps, o.Config.Step = StepsDefault, 0
	}
	if !alg.judges(&o) {
		o.Folds = nil
	}
	name := alg.Name
	o.Algorithm, o.Measure, o.Seed = name, m, seed
	seconds, err = c.timed(func() error {
		r, err = Fit(c.ctx, train, o)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	c.warn(r.Warnings)
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

func (c *twoComparison) record(name string, m measure.Measure, r *Result, test Data, seconds float64) error {
	counts, err := Evaluate(c.ctx, test, &r.Model)
	if err != nil {
		return err
	}
	c.cells.add(m.Name(), name, m.Value(counts), seconds, r.Passes, r.Steps)
	return nil
}
