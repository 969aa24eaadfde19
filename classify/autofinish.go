package classify

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/noregret/noregret"
)

// finish chooses among the candidates of the last comparison, trains the chosen one on all rows and
// says how.
func (a *autoFit) finish(all []recipe, on *comparedOn) (*Result, error) {
	slices.SortStableFunc(all, func(x, y recipe) int { return cmp.Compare(a.complexity(x), a.complexity(y)) })
	choices := a.choices(all, on)
	at := a.report(all, choices, on)
	c := &choices[at]
	chosen, served, calibrating := c.recipe, a.served(c.recipe), on
	whole, err := a.halves(served, on)
	if err != nil {
		return nil, err
	}
	var figures *ModelFigures
	if whole == nil {
		figures = on.figures(a, a.expected(a.chosenWithout(choices, on), c, on), chosenErrors, nil)
		before := a.results[c.recipe].before
		if int64(on.rows) < a.part.Rows { // much is missing, and that was a rougher comparison
			if before, err = a.quarters(c.recipe, on); err != nil {
				return nil, err
			}
		}
		if before != nil {
			a.raise(figures, c, on, before)
		}
	} else {
		// Whether to tune is decided again, on all rows.
		both := a.choices([]recipe{served}, whole)
		c = &both[a.pick(both, whole, -1).at]
		if i := slices.IndexFunc(choices, func(x choiceOf) bool {
			return x.recipe == chosen && x.tuned == c.tuned
		}); i >= 0 {
			a.out.Chosen = i
		}
		figures = whole.figures(a, a.expected([]*choiceOf{c, c}, c, whole), chosenErrors, nil)
		before := on
		if served != chosen || a.needsQuarters(on, whole) {
			if before, err = a.quarters(served, whole); err != nil {
				return nil, err
			}
		}
		a.raise(figures, c, whole, before)
		if served == chosen {
			calibrating = whole
		} else { // which holds rows out itself, for its threshold and perhaps probabilities
			c = &choiceOf{recipe: chosen, result: c.result, tuned: c.tuned}
		}
	}
	r, err := a.trainChosen(c)
	if err != nil {
		return nil, err
	}
	if served != chosen {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s was compared on a part of the rows; there are more than %d, "+
			"so %s is trained on all of them", chosen.algorithm, mostBatchRows, r.Algorithm))
	}
	cost := &a.out.Cost
	cost.Steps += r.Steps
	cost.TrainingSteps = a.price.trainingSteps
	cost.Trainings, cost.Budget = a.work/a.price.training, a.budget/a.price.training
	r.Search, r.Figures = &a.out, figures
	if r.Calibration == nil && !chosen.own {
		r.Calibration, err = a.calibrated(chosen, calibrating, r)
	}
	return r, err
}

// calibrated returns the calibrations of a result by the cross-fitted scores of its recipe, nil if
// they cannot be had. Each row counts once: the scores are those of the first division. Those of
// two classes are moved to the spread of the result's own.
func (a *autoFit) calibrated(r recipe, on *comparedOn, of *Result) ([]Calibration, error) {
	if a.opt.Calibration == CalibrationNone {
		return nil, nil
	}
	scores, repeats := on.results[r].scores[:on.rows], float64(on.division.repeats)
	if a.data.Task == Multiclass {
		var rows classScores
		for i, z := range scores {
			rows.add(z, on.truth[i], float64(repeats*on.weight[i]))
		}
		return rows.calibrated(a.opt.Calibration, len(a.data.Labels))
	}
	examples := make([]Scored, len(scores))
	for i, z := range scores {
		examples[i] = Scored{Score: z[0], Weight: float64(repeats * on.weight[i]), Positive: on.truth[i] == 0}
	}
	if spreads := on.results[r].spreads; len(spreads) > 0 {
		own, err := a.data.spread(a.ctx, of.Transform, &of.Models[0], a.opt.Seed, mostSpreadRows)
		if err != nil {
			return nil, err
		}
		meanSpread(spreads[:on.division.folds]).onto(own, examples)
	}
	return calibrationOf(examples, a.opt.Calibration, sourceCrossFitted), nil
}

// report lists all candidates with their results, the choices first, and returns the index of the
// choice.
func (a *autoFit) report(all []recipe, choices []choiceOf, on *comparedOn) int {
	picked := a.pick(choices, on, -1)
	for i := range choices {
		if i == picked.at {
			a.out.Chosen = len(a.out.Tried)
		}
		behind, se := picked.behind[i], picked.se[i]
		a.tried(&choices[i], int64(on.rows), &behind, &se)
	}
	for _, r := range all {
		c, ok := a.results[r]
		if !ok || c.on == on {
			continue
		}
		x := choiceOf{r, c.result, false, c.result.plain} // it did not reach the last comparison
		if c.result.tuned != nil && c.result.better() != c.result.plain.value {
			x.tuned, x.decided = true, *c.result.tuned
		}
		a.tried(&x, int64(c.on.rows), nil, nil)
	}
	return picked.at
}

// lastPrice is the price of training a recipe on all rows.
func (a *autoFit) lastPrice(r recipe, iterations int) float64 {
	p := &a.price
	switch {
	case isBatch(r.algorithm) && a.part.Rows <= mostBatchRows:
		return float64(p.rows*p.loading(r.features)) + p.solving(r, int(p.rows), float64(iterations))
	case r.algorithm == costSearch:
		passes := float64(max(1, defaultPasses(a.part.Rows, 1)/5))
		return float64(p.rows * 19 * passes * p.stepping(r.features))
	}
	return float64(p.training * p.stepping(r.features) / p.step(p.columns, p.nonZeros))
}

// trainChosen trains the choice on all rows: batch algorithms with as many iterations as the budget
// leaves, or if that is more allowedLast, or what the halves had if these had fewer. The comparison
// says where its thresholds are.
func (a *autoFit) trainChosen(c *choiceOf) (*Result, error) {
	iterations := allowedLast
	if a.warm != nil {
		iterations = min(iterations, a.warm.iterations)
	}
	for iterations < mostLast && a.work+a.lastPrice(c.recipe, iterations+iterations/4) <= a.budget {
		iterations = min(iterations+iterations/4, mostLast)
	}
	own := a.lastPrice(c.recipe, iterations)
	t, err := newTransform(a.ctx, a.data, c.recipe.features, a.price.products)
	if err != nil {
		return nil, err
	}
	batch, large := isBatch(c.recipe.algorithm), a.part.Rows > mostBatchRows
	var r *Result
	if batch && !large && a.fits(c.recipe) {
		var passes float64
		if r, passes, err = a.trainInMemory(t, c, iterations); err == nil {
			own = a.lastPrice(c.recipe, 0) + a.price.solving(c.recipe, int(a.part.Rows), passes)
		}
	} else {
		r, err = a.trainByFit(t, c, iterations)
	}
	if err != nil {
		return nil, err
	}
	if batch && !large && !a.fits(c.recipe) {
		own = a.lastPrice(c.recipe, r.Passes)
	}
	a.work += own
	a.out.Cost.Own = own / a.price.training
	r.Transform = t
	if c.tuned && !(batch && large) {
		for k, offset := range c.result.offsets {
			r.Models[k].Threshold += offset
		}
		if a.data.Task == Binary {
			r.History[r.Chosen].Threshold = r.Models[0].Threshold
		}
	}
	return r, nil
}

// fits reports whether all rows with the features of a recipe fit in memory.
func (a *autoFit) fits(r recipe) bool {
	return a.price.rows*a.price.numbers(r.features) <= mostDesignNumbers
}

// trainInMemory trains a batch algorithm on all rows and returns what that cost, in passes. Where
// it was compared by models without a preconditioner that ended early, it has none either: its
// optimum may fit the rows too well.
func (a *autoFit) trainInMemory(t *Transform, c *choiceOf, iterations int) (result *Result, passes float64, err error) {
	r := c.recipe
	m, err := newMappedMoments(a.ctx, a.data, t)
	if err != nil {
		return nil, 0, err
	}
	dim := a.data.Set.Info().Dim
	if t != nil {
		dim = t.Features()
	}
	scaling := m.scaled(r.scale, dim)
	x, err := newDesign(a.ctx, a.data, t, m, scaling)
	if err != nil {
		return nil, 0, err
	}
	from := a.warm.from(x, t)
	var hessian *hessianFactor
	if from != nil {
		hessian = a.warm.hessian
	}
	solved, err := a.solve(x, r, iterations, from, hessian, !c.result.early, lastPrecision)
	if err != nil {
		return nil, 0, err
	}
	for k, i := range x.column[x.kept:] {
		if inverse := x.inverse[x.kept+k]; inverse > 0 {
			scaling.Center[i], scaling.Inverse[i] = x.shift[x.kept+k]/inverse, inverse
		}
	}
	models := x.models(solved.w, max(1, dim))
	if r.algorithm == "omma" {
		w, bias := x.raw(solved.w)
		models[0].Intercept -= a.ommaThreshold(x, w, bias)
	}
	steps := int64(solved.passes) * int64(x.rows)
	return &Result{
		Task: a.data.Task, Models: models, Algorithm: r.algorithm, Folds: 1, Train: a.part,
		Holdout: Part{Labels: make([]LabelCount, len(a.part.Labels))}, Scaling: scaling, Passes: solved.passes,
		StepScale: 1, StepScales: []float64{1}, Steps: steps,
		History: []HistoryEntry{{
			Candidate: fmt.Sprintf("iteration %d", solved.iterations), Examples: steps, StepScale: 1,
		}},
	}, solved.work, nil
}

// trainByFit trains a choice on all rows as its algorithm does by name, or by its counterpart that
// makes one step an example where there are too many rows.
func (a *autoFit) trainByFit(t *Transform, c *choiceOf, iterations int) (*Result, error) {
	mapped, err := a.data.transformed(t)
	if err != nil {
		return nil, err
	}
	served := a.served(c.recipe)
	o, err := a.options(a.ctx, served, mapped)
	if err != nil {
		return nil, err
	}
	o.most, o.Progress, o.Folds, o.Calibration = iterations, a.opt.Progress, nil, a.opt.Calibration
	if served != c.recipe {
		o.Holdout = nil
		if a.data.Task == Binary && (c.tuned || c.recipe.algorithm == "omma") {
			o.Threshold = ThresholdTuned
		}
	}
	return Fit(a.ctx, mapped, o)
}

// served is the recipe that is trained on all rows: a batch algorithm's counterpart that makes one
// step an example where there are too many rows, unless it would lack the class weights.
func (a *autoFit) served(r recipe) recipe {
	switch {
	case !isBatch(r.algorithm) || a.part.Rows <= mostBatchRows || a.data.Task == Multiclass && a.weights != nil:
		return r // no softmax by steps has class weights
	case a.data.Task == Multiclass:
		r.algorithm, r.lambda = a.usual(), 0
		r.own = algorithmOf(a.data.Task, r.algorithm).TunesThreshold
	case r.algorithm == "logistic-balanced":
		r.algorithm, r.lambda = "sgd-balanced", 0
	default:
		r.algorithm = "sgd-logistic"
	}
	return r
}

// describe returns the line of a candidate.
func (a *autoFit) describe(c *choiceOf, rows int64, behind, se *float64) TriedRecipe {
	threshold := "zero"
	switch {
	case c.tuned:
		threshold = "tuned"
	case c.recipe.own:
		threshold = "own"
	}
	v := c.decided.value
	return TriedRecipe{
		Features: c.recipe.features.String(), Scale: c.recipe.scale, Algorithm: c.recipe.algorithm,
		Lambda: c.recipe.lambda, Threshold: threshold, Rows: rows, Value: finite(&v), Behind: behind, StandardError: se,
	}
}

func (a *autoFit) tried(c *choiceOf, rows int64, behind, se *float64) {
	a.out.Tried = append(a.out.Tried, a.describe(c, rows, finite(behind), finite(se)))
}

// check returns an error of code bad_input for a search that cannot have been.
func (s *ModelSearch) check() error {
	if s == nil {
		return nil
	}
	c := &s.Cost
	if c.Steps < 0 || c.TrainingSteps < 0 || !allFinite(c.Trainings, c.Budget, c.Own) ||
		s.Chosen < 0 || s.Chosen >= len(s.Tried) {
		return noregret.BadInputf("search", "the candidate chosen is %d of %d and the cost %+v, want one of the "+
			"candidates and finite numbers", s.Chosen, len(s.Tried), *c)
	}
	for i, t := range s.Tried {
		v := []*float64{t.Value, t.Behind, t.StandardError, &t.Lambda}
		if slices.ContainsFunc(v, func(x *float64) bool { return x != nil && finite(x) == nil }) {
			return noregret.BadInputf(fmt.Sprintf("search.tried[%d]", i), "a number is not finite")
		}
	}
	return nil
}
