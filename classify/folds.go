package classify

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/noregret/noregret"

	"golang.org/x/sync/errgroup"
)

// defaultFolds is the number of folds for data with few positives. The other constants define few,
// and the numbers of examples and features up to which the scores and models of several folds fit
// in memory.
const (
	defaultFolds      = 5
	fewPositives      = 2_000
	mostFoldsRows     = 500_000
	mostFoldsFeatures = 1 << 17
)

// foldsFor returns the number of folds of a fit, 1 without cross-fitting; see [Options.Folds].
func (r *resolved) foldsFor(data Data) (int, error) {
	opt, folds := &r.Options, openNumber(r.Folds)
	if data.Task != Binary {
		return 1, nil
	}
	c, err := data.Classes()
	if err != nil {
		return 0, err
	}
	switch {
	case folds == 1:
		return 1, nil
	case folds > 1:
		if few := min(c.Positives, c.Negatives); int64(folds) > few {
			return 0, noregret.BadInputf("", "folds is %d, want at most the %d examples of the smaller class",
				folds, few)
		}
		return folds, nil
	}
	small := c.Positives < fewPositives && c.Rows() <= mostFoldsRows && data.Set.Info().Dim <= mostFoldsFeatures
	free := opt.Holdout == nil && opt.Valid == nil && r.tunes
	adaptive := r.alg.adaptive.crossFits && r.learner.Steps.perWeight()
	if !adaptive || !small || !free || min(c.Positives, c.Negatives) < 2 {
		return 1, nil
	}
	return int(min(defaultFolds, c.Positives, c.Negatives)), nil
}

// pool holds the candidates of one fold, or of several added up.
type pool struct {
	slots []slot
	truth []Scored // the held-out examples, with the score of the last candidate
}

// slot sums the folds' candidates of one name and step scale.
type slot struct {
	entry  HistoryEntry
	model  Linear    // sum
	level  float64   // sum
	scores []float64 // of the pool's examples
	folds  int
}

// add takes a candidate of the pool's fold with its scores of the held-out examples.
func (p *pool) add(c candidate, scores []Scored) {
	s := slot{entry: c.entry, model: c.model, scores: make([]float64, len(scores)), folds: 1}
	if c.key != "" {
		s.entry.Candidate = c.key
	}
	if c.entry.Level != nil {
		s.level = *c.entry.Level
	}
	for i, x := range scores {
		s.scores[i] = x.Score
	}
	p.slots = append(p.slots, s)
	if p.truth == nil {
		p.truth = slices.Clone(scores)
	}
}

// merge adds the candidates of one more fold. Candidates that a fold lacks are dropped.
func (p *pool) merge(q *pool) {
	p.truth = append(p.truth, q.truth...)
	kept := p.slots[:0]
	for _, s := range p.slots {
		i := slices.IndexFunc(q.slots, func(x slot) bool {
			return x.entry.Candidate == s.entry.Candidate && x.entry.StepScale == s.entry.StepScale
		})
		if i < 0 {
			continue
		}
		x := q.slots[i]
		for j, w := range x.model.Weights {
			s.model.Weights[j] += w
		}
		s.model.Intercept += x.model.Intercept
		s.level += x.level
		s.entry.Examples += x.entry.Examples
		s.scores = append(s.scores, x.scores...)
		s.folds++
		kept = append(kept, s)
	}
	clear(p.slots[len(kept):])
	p.slots = kept
}

// candidate is the mean of slot i over its folds, and its scores.
func (p *pool) candidate(i int) (candidate, []Scored) {
	s := p.slots[i]
	k := float64(s.folds)
	for j := range s.model.Weights {
		s.model.Weights[j] /= k
	}
	s.model.Intercept /= k
	if s.entry.Level != nil {
		level := s.level / k
		s.entry.Level = &level
	}
	s.entry.Progressive = nil // one of each fold, of unequal stages
	for j := range p.truth {
		p.truth[j].Score = s.scores[j]
	}
	return candidate{model: s.model, entry: s.entry}, slices.Clone(p.truth)
}

// crossFit is [Fit] with folds.
func crossFit(ctx context.Context, data Data, opt resolved, k int) (*Result, error) {
	whole, err := newWhole(ctx, data, opt)
	if err != nil {
		return nil, err
	}
	folds, err := data.Set.Folds(opt.Seed, "crossfit", k)
	if err != nil {
		return nil, err
	}
	run := &crossFitting{whole: whole, done: make([]*training, k), progress: newFoldProgress(opt.Progress, k)}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for j, f := range folds {
		group.Go(func() error {
			t, err := run.fold(ctx, j, data.withSet(f.Rest), data.withSet(f.Part))
			if err != nil {
				return fmt.Errorf("fold %d of %d: %w", j+1, k, err)
			}
			run.finish(j, t)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return run.choose()
}

// newWhole returns the training on all data: every fold uses its feature scales, and the choice is
// made for its class ratio.
func newWhole(ctx context.Context, data Data, opt resolved) (*training, error) {
	t := startTraining(ctx, data, opt)
	if err := t.count(); err != nil {
		return nil, err
	}
	t.valid = &data
	if t.classes.Positives < minHoldoutPositives {
		t.warn("there are only %d positives, fewer than %d: the choice of model and threshold is uncertain",
			t.classes.Positives, minHoldoutPositives)
	}
	_, err := t.prepare()
	return t, err
}

// crossFitting is the state of a [crossFit].
type crossFitting struct {
	whole    *training
	progress *foldProgress

	mu     sync.Mutex
	done   []*training // of folds not merged yet
	merged int
	pool   pool
}

// fold trains on one fold's training part.
func (c *crossFitting) fold(ctx context.Context, j int, train, part Data) (*training, error) {
	o := c.whole.opt
	o.Valid, o.Folds, o.Progress = &part, new(1), c.progress.of(j)
	learned := &c.whole.config
	o.learner.Scaling, o.learner.MeanSquare, o.learner.Dim = learned.Scaling, learned.MeanSquare, learned.Dim
	t, err := newTraining(ctx, train, o)
	if err != nil {
		return nil, err
	}
	t.pool = new(pool)
	if o.Passes == nil {
		t.passes = t.passesFor(t.classes.Rows(), 2)
	}
	return t, t.run()
}

// finish merges the folds that are ready, in their order, so that sums do not depend on the order
// in which they end.
func (c *crossFitting) finish(j int, t *training) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[j] = t
	for ; c.merged < len(c.done) && c.done[c.merged] != nil; c.merged++ {
		t := c.done[c.merged]
		c.done[c.merged] = nil
		c.whole.steps += t.steps
		r := &c.whole.result
		r.Passes += t.result.Passes
		for _, w := range t.result.Warnings {
			if !slices.Contains(r.Warnings, w) {
				r.Warnings = append(r.Warnings, w)
			}
		}
		if c.merged == 0 {
			c.pool, r.StepScales = *t.pool, t.result.StepScales
		} else {
			c.pool.merge(t.pool)
		}
	}
}

// choose returns the result of the candidate that is best on the pooled scores.
func (c *crossFitting) choose() (*Result, error) {
	t := c.whole
	for i := range c.pool.slots {
		x, scores := c.pool.candidate(i)
		t.config.StepScale = x.entry.StepScale
		t.scores = [][]Scored{scores}
		t.consider(x, 0)
	}
	if t.best < 0 {
		return nil, fmt.Errorf("classify: algorithm %s proposed no model that all %d folds have", t.alg.Name,
			len(c.done))
	}
	r := t.finished(len(c.done))
	var err error
	r.Calibration, err = t.calibrated(sourceCrossFitted)
	return r, err
}

// foldProgress adds up the progress of the folds.
type foldProgress struct {
	mu    sync.Mutex
	to    func(Progress)
	folds []struct{ before, now int64 } // steps of the finished runs and of the current one
}

func newFoldProgress(to func(Progress), k int) *foldProgress {
	return &foldProgress{to: to, folds: make([]struct{ before, now int64 }, k)}
}

// of returns the callback of fold j, or nil if there is no listener.
func (p *foldProgress) of(j int) func(Progress) {
	if p.to == nil {
		return nil
	}
	return func(x Progress) {
		p.mu.Lock()
		defer p.mu.Unlock()
		f := &p.folds[j]
		if x.Examples < f.now {
			f.before += f.now // another step scale
		}
		f.now = x.Examples
		x.Examples, x.Total = 0, -1 // the number of runs depends on the algorithm
		for _, f := range p.folds {
			x.Examples += f.before + f.now
		}
		p.to(x)
	}
}
