package classify

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret/internal/portable"
)

// The iterations of a batch algorithm on each half of the rows, the fewest and, if the budget
// allows them, the most: with few the figures are too low. The training on all rows that goes on
// from there is planned with warmIterations, and may always have as many as the halves: with more
// it makes a better model than these can tell.
const leastHalvesIterations, mostHalvesIterations, warmIterations = 22, 40, 12

// leastDoublings is how often the rows to train on are doubled from the last comparison to halves,
// at least, for the gain to tell what as many rows again would give.
const leastDoublings = 0.5

// leastStep is a step in doublings that is more than rounding: both comparisons may have had all
// rows of a rare class.
const leastStep = 0.01

// mostAhead bounds what the rows that are missing may give, in steps between two comparisons: the
// next doublings give less than the one before.
const mostAhead = 2

// mostHalvesRows is the number of rows up to which all are halved, if they fit in memory. Of more
// so many are drawn, or fewer wide ones: more scores would take memory and tell little more.
const mostHalvesRows = 1 << 17

// warmStart is what a batch algorithm has found on the halves of the rows: the models on raw
// features, the transforms that make these, the last Hessian, and the iterations that they may have
// had.
type warmStart struct {
	models     [][]Linear
	transforms []*Transform
	hessian    *hessianFactor
	iterations int
}

// halves trains the chosen recipe on each half of all rows, or of some that are drawn where these
// are too many, and decides the other half, unless the comparison had nearly as many or, if it had
// half of them, they cost more than the budget leaves. If it had fewer, a learner of single rows
// may exceed the budget by one training. Without halves the result is nil. The last training begins
// with the mean of what batch algorithms have found there, if all rows fit in memory, so that all
// rows together cost little more than one training.
func (a *autoFit) halves(r recipe, on *comparedOn) (*comparedOn, error) {
	n := a.halvesRows(r)
	if int64(on.rows) >= n || n < a.part.Rows && n < 2*int64(on.rows) {
		return nil, nil
	}
	warms := a.part.Rows <= mostBatchRows && a.fits(r)
	iterations, last := leastHalvesIterations, warmIterations
	switch {
	case !isBatch(r.algorithm):
		iterations, last = plannedLast, plannedLast
	case !warms:
		last = allowedLast
	}
	by := division{2, 1}
	priceOf := func(iterations int) float64 { return a.cost([]recipe{r}, by, iterations, int(n)) }
	left := a.budget - a.work - a.lastPrice(r, last)
	if price := priceOf(iterations); price > left {
		if int64(on.rows) >= n/2 || !isBatch(r.algorithm) && price > left+a.price.training {
			return nil, nil
		}
	}
	rows, err := a.draw(a.data, "halves", n)
	if err != nil {
		return nil, err
	}
	whole, err := a.comparison(rows, by, iterations)
	if err != nil {
		return nil, err
	}
	if isBatch(r.algorithm) {
		all := 1.0
		if a.needsQuarters(on, whole) {
			all = 1.5 // quarters have half of the rows
		}
		for whole.iterations < mostHalvesIterations && float64(all*priceOf(whole.iterations+2)) <= left {
			whole.iterations += 2
		}
	}
	whole.last = true
	if !isBatch(r.algorithm) {
		_, err = a.compare([]recipe{r}, whole)
		return whole, err
	}
	out, warm := new(crossFitted), &warmStart{iterations: whole.iterations}
	for i := range whole.folds { // one after the other: memory is for one
		m := &mappedFold{fold: &whole.folds[i]}
		if err := m.make(a.ctx, r.features, a.price.products); err != nil {
			return nil, err
		}
		s := new(scaledFold)
		if err := s.make(a.ctx, m, r.scale); err != nil {
			return nil, err
		}
		solved, err := a.crossFitBatch(a.ctx, out, r, s, whole)
		if err != nil {
			return nil, err
		}
		warm.models = append(warm.models, s.train.models(solved.w, m.dim()))
		warm.transforms = append(warm.transforms, m.transform)
		warm.hessian = solved.hessian
	}
	a.work += a.cost([]recipe{r}, by, 0, int(n)) + out.work
	a.decide(out, r, whole)
	whole.results[r] = out
	a.out.Cost.Steps += out.steps
	if warms {
		a.warm = warm
	}
	return whole, nil
}

// halvesRows is the number of rows that are halved.
func (a *autoFit) halvesRows(r recipe) int64 {
	fit, scores := mostDesignNumbers/max(1, a.price.numbers(r.features)), mostSearchNumbers/a.price.outputs
	if n := min(mostHalvesRows, int64(min(fit, scores))); a.part.Rows > n {
		return min(n, int64(mostSearchNumbers/max(1, a.price.nonZeros)))
	}
	return a.part.Rows
}

// from returns where a training on x begins, with features by t: the mean of the models of the
// halves, nil if these are of other features.
func (s *warmStart) from(x *design, t *Transform) []float64 {
	if s == nil {
		return nil
	}
	w := make([]float64, (x.columns+1)*x.outputs)
	part := 1 / float64(len(s.models))
	for j, models := range s.models {
		if !t.alike(s.transforms[j]) {
			return nil
		}
		for c := range models {
			bias := models[c].Intercept
			for k, i := range x.column {
				if int(i) >= len(models[c].Weights) || x.inverse[k] == 0 {
					continue
				}
				v := models[c].Weights[i] / x.inverse[k]
				w[k*x.outputs+c] += float64(part * v)
				bias += float64(v * x.shift[k])
			}
			w[x.columns*x.outputs+c] += float64(part * bias)
		}
	}
	return w
}

// alike reports whether two transforms make the same features but for their centres, scales and
// knots.
func (t *Transform) alike(other *Transform) bool {
	if t == nil || other == nil {
		return t == other
	}
	return t.Dim == other.Dim && slices.EqualFunc(t.Columns, other.Columns, func(a, b ColumnMap) bool {
		return a.Index == b.Index && (len(a.Knots) > 0) == (len(b.Knots) > 0)
	}) && slices.EqualFunc(t.Products, other.Products, func(a, b ProductColumn) bool { return a.Index == b.Index })
}

// raise moves the upper ends of the figures of a choice, given a comparison before that had fewer
// rows to train on than that of the figures. The model of all rows has seen more than both: twice
// the rows of halves, a fold more than those of five folds. By how much this moves a measure is
// guessed from how it moved between the two, in proportion to the doublings but for no more than
// mostAhead of that: where it rises, the upper end of the interval does. The comparison may have
// had a few iterations more and chose its winner, which makes the guess too low, or no
// preconditioner, which makes it too high.
func (a *autoFit) raise(figures *ModelFigures, c *choiceOf, on, before *comparedOn) {
	had, has := before.trainedOn(a.labels()), on.trainedOn(a.labels())
	doublings := a.doublings(had, has)
	if doublings < leastStep {
		return
	}
	ahead := min(mostAhead, a.doublings(has, a.part.rows())/doublings)
	fewer := before.results[c.recipe].plain
	if c.tuned {
		fewer = *before.results[c.recipe].tuned
	}
	for _, m := range figureMeasures(a.data.Task, a.opt.Measure) {
		f := figures.Of(m.Name())
		if f == nil {
			continue
		}
		if rise := float64(ahead * (f.Value - a.value(m, fewer.cells))); rise > 0 {
			f.High = max(f.High, min(f.High+rise, 1))
		}
	}
}

// needsQuarters reports whether the step from a comparison to halves is too small for the gain to
// tell what as many rows again would give.
func (a *autoFit) needsQuarters(on, halves *comparedOn) bool {
	return a.doublings(on.trainedOn(a.labels()), halves.trainedOn(a.labels())) < leastDoublings
}

// quarters trains a recipe on half of the rows that a comparison trained it on, and decides the
// rows that were decided there: what the comparison gains on that is what twice the rows give. It
// costs half of what the comparison does with a batch algorithm, and up to as much with a learner
// of single rows, which passes over few rows more often. It may exceed the budget, as nothing else
// tells it.
func (a *autoFit) quarters(r recipe, whole *comparedOn) (*comparedOn, error) {
	out := *whole
	out.folds, out.results = nil, map[recipe]*crossFitted{}
	out.rows /= 2 // of which it costs the training
	for i, f := range whole.folds {
		parts, err := f.train.Set.Folds(a.opt.Seed, fmt.Sprintf("auto/quarter/%d", i), 2)
		if err != nil {
			return nil, err
		}
		out.folds = append(out.folds, fold{
			train: f.train.withSet(parts[0].Rest), test: f.test, held: f.held, mapped: map[features]*mappedFold{},
		})
	}
	_, err := a.compare([]recipe{r}, &out)
	return &out, err
}

// doublings is how often the rows to train on are doubled from some numbers of the labels' rows to
// others: of two labels those of the rarer, of which a draw may have most, and of several those of
// a label in the mean. Labels that one of the two lacks do not count.
func (a *autoFit) doublings(before, after []float64) float64 {
	sum, labels, rarest, least := 0.0, 0.0, 0.0, math.Inf(1)
	for k, n := range after {
		if n == 0 || before[k] == 0 {
			continue
		}
		d := portable.Log(n/before[k]) / math.Ln2
		sum += d
		labels++
		if n < least {
			rarest, least = d, n
		}
	}
	if labels == 0 || a.data.Task == Binary {
		return rarest
	}
	return sum / labels
}

// trainedOn is the number of rows of each label that a model of the comparison is trained on.
func (c *comparedOn) trainedOn(labels int) []float64 {
	rows := make([]float64, labels)
	for _, f := range c.folds {
		for class, l := range f.train.Set.Info().Labels {
			rows[f.train.labelIndex(uint16(class))] += float64(l.Rows) / float64(len(c.folds))
		}
	}
	return rows
}

// rows is the number of rows of each label.
func (p *Part) rows() []float64 {
	rows := make([]float64, len(p.Labels))
	for k, l := range p.Labels {
		rows[k] = float64(l.Rows)
	}
	return rows
}
