package classify

import (
	"math"
	"slices"
)

// The iterations of a batch algorithm on each half of the rows, the fewest and, if the budget
// allows them, the most: with few the figures are too low. The training on all rows that goes on
// from there is planned with warmIterations. It may have as many as the halves, so that these can
// tell what it makes.
const leastHalvesIterations, mostHalvesIterations, warmIterations = 22, 40, 12

// warmStart is what a batch algorithm has found on the halves of the rows: the models on raw
// features, the transforms that make these, the last Hessian, and the iterations that they may have
// had.
type warmStart struct {
	models     [][]Linear
	transforms []*Transform
	hessian    *hessianFactor
	iterations int
}

// halves trains the chosen recipe on each half of all rows and decides the other half, unless the
// comparison had all rows, or too many are left for memory or, if it had most of them, for the
// budget. It is then nil. The last training begins with the mean of what batch algorithms have
// found there, so that all rows together cost little more than one training.
func (a *autoFit) halves(r recipe, on *comparedOn) (*comparedOn, error) {
	n := a.part.Rows
	if int64(on.rows) >= n || n > mostBatchRows || !a.fits(r) {
		return nil, nil
	}
	iterations, last := leastHalvesIterations, warmIterations
	if !isBatch(r.algorithm) {
		iterations, last = plannedLast, plannedLast
	}
	by := division{2, 1}
	priceOf := func(iterations int) float64 { return a.cost([]recipe{r}, by, iterations, int(n)) }
	left := a.budget - a.work - a.lastPrice(r, last)
	for isBatch(r.algorithm) && iterations < mostHalvesIterations && priceOf(iterations+2) <= left {
		iterations += 2
	}
	price := priceOf(iterations)
	if price > left && (!isBatch(r.algorithm) || int64(on.rows) >= n/2) {
		return nil, nil
	}
	whole, err := a.comparison(a.data, by, iterations)
	if err != nil {
		return nil, err
	}
	whole.last = true
	if !isBatch(r.algorithm) {
		_, err = a.compare([]recipe{r}, whole)
		return whole, err
	}
	out, warm := new(crossFitted), &warmStart{iterations: iterations}
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
	a.warm = warm
	return whole, nil
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

// halvesFigures are the figures of the decisions of a choice on halves of all rows, given the
// comparison before. A model of all rows is better than one of half of them. By how much is not
// known, but by how much the halves are better than the models of that comparison is: the upper end
// of an interval is moved up by this, or by its mean for twice the rows if it is of more.
func (a *autoFit) halvesFigures(c *choiceOf, whole, before *comparedOn) *ModelFigures {
	out := whole.figures(a, c.decided, chosenErrors)
	doublings := math.Log2(whole.trainedOn() / before.trainedOn())
	if !(doublings > 0) {
		return out
	}
	fewer := before.results[c.recipe].plain
	if c.tuned {
		fewer = *before.results[c.recipe].tuned
	}
	for _, m := range figureMeasures(a.data.Task, a.opt.Measure) {
		f := out.Of(m.Name())
		if f == nil {
			continue
		}
		if gain := (f.Value - a.value(m, fewer.cells)) / max(1, doublings); gain > 0 {
			f.High = max(f.High, min(f.High+gain, 1))
		}
	}
	return out
}

// trainedOn is the number of rows that the models of a comparison are trained on.
func (c *comparedOn) trainedOn() float64 {
	return float64(c.rows) * float64(c.division.folds-1) / float64(c.division.folds)
}
