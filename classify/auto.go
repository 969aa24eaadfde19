package classify

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/noregret/noregret"

	"golang.org/x/sync/errgroup"
)

// The algorithm "auto" chooses features, learner and threshold by cross-fitting on the training
// rows. Every candidate is a value of type recipe: the features that it makes, the scale that it
// puts them on, and a named algorithm. Candidates are compared on the same rows and folds, many on
// few rows and then few on more ([autoFit.compare]); of those that are within one standard error of
// the best the simplest is trained on all rows.
//
// The work of all that is bounded before it begins: by mostTrainings times that of one training
// with the usual algorithm, or leastBudget if that is more. It is counted in nanoseconds of a core
// of 2026 by the prices of file autoprice.go, which depend on the sizes of the data only: the same
// data give the same choice on every machine.

// Auto is the name of the algorithm that chooses among the others.
const Auto = "auto"

// The budget of a search with the training of what it has chosen.
const (
	mostTrainings = 4
	leastBudget   = 1e9 // one second
)

// ModelSearch says how [Auto] chose a model.
type ModelSearch struct {
	// Cost is what the search and the last training cost.
	Cost SearchCost `json:"cost"`
	// Tried are the candidates, the simplest first, with their last values.
	Tried []TriedRecipe `json:"tried"`
	// Chosen is the index of this model's in Tried.
	Chosen int `json:"chosen"`
}

// SearchCost is the work of a search and of the training of what it has chosen.
type SearchCost struct {
	// Steps is the number of examples visited, the last training included, and TrainingSteps that
	// of one training with the usual algorithm.
	Steps         int64 `json:"steps"`
	TrainingSteps int64 `json:"training_steps"`
	// Trainings is the estimated time, in trainings of the usual algorithm; Budget is its bound and
	// Own the part that is one training of what was chosen.
	Trainings float64 `json:"trainings"`
	Budget    float64 `json:"budget"`
	Own       float64 `json:"own"`
}

// TriedRecipe is a candidate of [Auto].
type TriedRecipe struct {
	Features  string  `json:"features"`
	Scale     string  `json:"scale"`
	Algorithm string  `json:"algorithm"`
	Lambda    float64 `json:"lambda"`
	Threshold string  `json:"threshold"` // zero, tuned, or own for that of the algorithm
	// Rows is the number of rows that it was last compared on, and Value its measure there; null if
	// it is undefined.
	Rows  int64    `json:"rows"`
	Value *float64 `json:"value"`
	// Behind is by how much it is behind the best candidate of the last comparison, and
	// StandardError the error of that; null for those that did not reach it.
	Behind        *float64 `json:"behind"`
	StandardError *float64 `json:"standard_error"`
}

// recipe is a candidate.
type recipe struct {
	features  features
	scale     string // standard, max-abs or none
	algorithm string
	lambda    float64 // per row: that of n rows is lambda/n
	own       bool    // whether the algorithm's threshold is taken
}

// The scales.
const (
	scaleStandard = "standard"
	scaleMaxAbs   = "max-abs"
	scaleNone     = "none"
)

// The sizes of the search.
const (
	// leastRowsOfLabel is the number of rows that every label needs.
	leastRowsOfLabel = 40
	// mostSearchRows and mostSearchNumbers bound the rows that candidates are compared on.
	mostSearchRows    = 32_000
	mostSearchNumbers = 4 << 20
	mostFirst         = 3_000
	mostSecond        = 8_000
	leastFirst        = 600
	// mostBatchRows is the number of rows up to which batch algorithms are trained at the end;
	// beyond it their counterparts by gradient steps are.
	mostBatchRows    = 1 << 20
	mostAutoFeatures = 1 << 20
	// finalists is the number of candidates in the last comparison.
	finalists = 3
	// mostAutoDense is the largest number of features with which products are tried.
	mostAutoDense = 1_000
	// The iterations of batch algorithms in the comparisons, and the fewest and most at the end.
	firstIterations, secondIterations, thirdIterations = 12, 20, 30
	leastChosenIterations, chosenIterations            = 20, 60
)

// autoFit is a run of [Auto].
type autoFit struct {
	ctx   context.Context
	data  Data
	opt   Options
	part  Part
	price prices
	out   ModelSearch
	// results are the last ones of each candidate.
	results map[recipe]comparedResult

	budget, work float64
}

// searches reports whether [Auto] chooses for data: not for rows with several labels, for options
// that are a learner's, for too few rows of a label or for very many features. It is then the
// [DefaultAlgorithm].
func (o Options) searches(d Data) bool {
	if o.Algorithm != Auto || d.Task == Multilabel || o.Valid != nil || !o.plain() {
		return false
	}
	part, err := d.sizes()
	if err != nil || d.Set.Info().Dim > mostAutoFeatures {
		return false
	}
	if averageOf(o.Measure).Of != nil { // a class without a right prediction costs its share only
		return part.Rows >= leastRowsOfLabel*int64(len(part.Labels))
	}
	return !slices.ContainsFunc(part.Labels, func(l LabelCount) bool {
		return l.Rows < leastRowsOfLabel || l.Weight == 0
	})
}

// plain reports whether all settings of a learner have their defaults.
func (o Options) plain() bool {
	given, standard := o.EnsureDefaults(), Options{}.EnsureDefaults()
	if o.Config.Reward != nil && o.Config.Reward.Name() != standard.Config.Reward.Name() {
		return false
	}
	for _, s := range settings {
		if s.Name != "seed" && s.Name != "rate" && s.Name != "calibration" && s.number(&given) != s.number(&standard) {
			return false
		}
	}
	return given.Holdout == nil
}

// fitAuto is [Fit] by [Auto].
func fitAuto(ctx context.Context, data Data, opt Options) (*Result, error) {
	a := &autoFit{ctx: ctx, data: data, opt: opt, results: map[recipe]comparedResult{}}
	if err := a.data.check(); err != nil {
		return nil, err
	}
	var err error
	if a.part, err = data.sizes(); err != nil {
		return nil, err
	}
	if err = a.setPrices(); err != nil {
		return nil, err
	}
	base, err := a.draw(data, "base", a.baseRows())
	if err != nil {
		return nil, err
	}
	tried, last, err := a.search(base)
	if err != nil {
		return nil, err
	}
	return a.finish(tried, last)
}

// search compares the candidates and returns them with the last comparison.
func (a *autoFit) search(base Data) ([]recipe, *comparedOn, error) {
	forSearch := a.budget / 2
	all := a.featureRecipes(base)
	first, err := a.rung(base, "first", 2, firstIterations, all, forSearch*0.25, leastFirst, mostFirst)
	if err != nil {
		return nil, nil, err
	}
	order, err := a.compare(all, first)
	if err != nil {
		return nil, nil, err
	}
	best := []recipe{}
	for _, k := range order[:min(len(order), finalists)] {
		best = append(best, all[k])
	}
	learners := append(a.learnerRecipes(all, best[0]), productRecipes(all, order)...)
	next := append(best, learners...)
	second, err := a.rung(base, "second", 2, secondIterations, next, forSearch*0.35, first.rows, mostSecond)
	if err != nil {
		return nil, nil, err
	}
	if order, err = a.compare(next, second); err != nil {
		return nil, nil, err
	}
	last := []recipe{}
	for _, k := range order[:min(len(order), finalists)] {
		last = append(last, next[k])
	}
	if simplest := a.simplest(next); !slices.Contains(last, simplest) {
		last = append(last, simplest) // the rule of one standard error may come back to it
	}
	third, err := a.rung(base, "third", 5, thirdIterations, last, forSearch*0.4, leastFirst, mostSearchRows)
	if err != nil {
		return nil, nil, err
	}
	if _, err = a.compare(last, third); err != nil {
		return nil, nil, err
	}
	return append(all, learners...), third, nil
}

// compare cross-fits recipes, in parallel, and returns their numbers, the best first: of equal
// values that of the lower number; an undefined value is the worst. The result does not depend on
// how many are compared at a time.
func (a *autoFit) compare(recipes []recipe, on *comparedOn) ([]int, error) {
	if err := on.prepare(a, recipes); err != nil {
		return nil, err
	}
	results := make([]*crossFitted, len(recipes))
	group, ctx := errgroup.WithContext(a.ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, r := range recipes {
		group.Go(func() (err error) {
			results[i], err = a.crossFit(ctx, r, on)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	order := make([]int, len(recipes))
	for i, r := range recipes {
		order[i] = i
		on.results[r] = results[i]
		a.out.Cost.Steps += results[i].steps
		a.results[r] = comparedResult{results[i], on}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(results[j].better(), results[i].better()) // NaN is less than all others
	})
	return order, nil
}

// featureRecipes are the candidates that differ in their features and scales only.
func (a *autoFit) featureRecipes(d Data) []recipe {
	learner := "logistic"
	switch {
	case a.data.Task == Multiclass && averageOf(a.opt.Measure).Of != nil:
		learner = "softmax"
	case a.data.Task == Multiclass:
		learner = "softmax-balanced"
	case isConcave(a.opt.Measure):
		learner = "logistic-balanced"
	}
	var out []recipe
	for _, scale := range []string{scaleStandard, scaleMaxAbs, scaleNone} {
		out = append(out, recipe{scale: scale, algorithm: learner, lambda: 1})
	}
	columns := []string{""}
	if 4*a.price.nonZeros >= a.price.columns || a.price.columns <= mostAutoDense {
		columns = []string{"", "log", "rank"}
	}
	for _, c := range columns[1:] {
		out = append(out, recipe{features: features{columns: c}, scale: scaleStandard, algorithm: learner, lambda: 1})
	}
	if a.price.columns <= mostAutoDense {
		f := features{products: true}
		out = append(out, recipe{features: f, scale: scaleStandard, algorithm: learner, lambda: 1})
	}
	return out
}

// productRecipes are the products of changed columns, the better change first, if products are
// among the best so far, given the order of the first candidates.
func productRecipes(all []recipe, order []int) []recipe {
	var out []recipe
	products := false
	for place, k := range order {
		r := all[k]
		products = products || r.features.products && place < finalists
		if r.features.columns != "" {
			r.features.products = true
			out = append(out, r)
		}
	}
	if !products {
		return nil
	}
	return out
}

// learnerRecipes are the candidates with the features of the best one so far, and with the
// simplest.
func (a *autoFit) learnerRecipes(tried []recipe, k recipe) []recipe {
	var out []recipe
	add := func(r recipe) {
		if !slices.Contains(tried, r) && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	for _, lambda := range []float64{1.0 / 900, 1.0 / 30, 30} {
		other := k
		other.lambda = lambda
		add(other)
	}
	for _, name := range a.batchLearners() {
		k.algorithm = name
		add(k)
	}
	k.algorithm, k.lambda = a.usual(), 0
	k.own = algorithmOf(a.data.Task, k.algorithm).TunesThreshold
	if !k.features.products { // their many columns would cost more than all other candidates
		add(k)
	}
	k.features, k.scale = features{}, scaleStandard
	add(k)
	if a.data.Task == Binary && isEither(a.opt.Measure) {
		k.algorithm, k.own = costSearch, true
		add(k)
	}
	return out
}

// simplest is the recipe of the least complexity.
func (a *autoFit) simplest(recipes []recipe) recipe {
	return slices.MinFunc(recipes, func(x, y recipe) int { return cmp.Compare(a.complexity(x), a.complexity(y)) })
}

// batchLearners are the algorithms that end at an optimum.
func (a *autoFit) batchLearners() []string {
	if a.data.Task == Multiclass {
		return []string{"softmax", "softmax-balanced"}
	}
	if isSmooth(a.opt.Measure) {
		return []string{"logistic", "logistic-balanced", "omma"}
	}
	return []string{"logistic", "logistic-balanced"}
}

// isBatch reports whether an algorithm is among the batchLearners of a task.
func isBatch(name string) bool {
	return slices.Contains([]string{"logistic", "logistic-balanced", "omma", "softmax", "softmax-balanced"}, name)
}

// usual is the algorithm that has the measure as its objective.
func (a *autoFit) usual() string { return DefaultAlgorithm(a.data.Task, a.opt.Measure) }

// complexity orders recipes: by their features, and those with the same by their algorithm, that of
// the measure first.
func (a *autoFit) complexity(r recipe) int {
	n := 0
	switch r.features.columns {
	case "log":
		n = 2
	case "rank":
		n = 4
	}
	if r.features.products {
		n += 6
	}
	if r.algorithm != a.usual() {
		n++
	}
	return n
}

// finish chooses among the candidates of the last comparison, trains the chosen one on all rows and
// says how.
func (a *autoFit) finish(all []recipe, on *comparedOn) (*Result, error) {
	slices.SortStableFunc(all, func(x, y recipe) int { return cmp.Compare(a.complexity(x), a.complexity(y)) })
	choices := a.choices(all, on)
	at := a.report(all, choices, on)
	c := &choices[at]
	offsets := c.result.offsets
	whole, err := a.onAllRows(c.recipe, on)
	if err != nil {
		return nil, err
	}
	var figures *ModelFigures
	if whole == nil {
		figures = on.figures(a, a.nested(choices, on), chosenErrors)
	} else {
		result := whole.results[c.recipe]
		d := result.plain
		if c.tuned {
			d, offsets = *result.tuned, result.offsets
		}
		figures, on = whole.figures(a, d, chosenErrors), whole
	}
	r, err := a.trainChosen(c, offsets)
	if err != nil {
		return nil, err
	}
	cost := &a.out.Cost
	cost.Steps += r.Steps
	cost.TrainingSteps = a.price.trainingSteps
	cost.Trainings, cost.Budget = a.work/a.price.training, a.budget/a.price.training
	r.Search, r.Figures = &a.out, figures
	if r.Calibration == nil && !c.recipe.own {
		r.Calibration = a.calibrated(c.recipe, on)
	}
	return r, nil
}

// calibrated returns the calibrations by the cross-fitted scores of a recipe, nil if they cannot be
// had.
func (a *autoFit) calibrated(r recipe, on *comparedOn) []Calibration {
	if a.opt.Calibration == CalibrationNone {
		return nil
	}
	scores := on.results[r].scores
	var out []Calibration
	for k := range a.data.Task.outputs(len(a.data.Labels)) {
		examples := make([]Scored, len(scores))
		for i, z := range scores {
			examples[i] = Scored{Score: z[k], Weight: on.weight[i], Positive: on.truth[i] == k}
		}
		if a.data.Task == Binary {
			return calibrationOf(examples, a.opt.Calibration, sourceCrossFitted)
		}
		c, ok := newCalibration(examples, a.opt.Calibration, sourceCrossFitted)
		if !ok {
			return nil
		}
		out = append(out, c)
	}
	return out
}

// report lists all candidates with their results and returns the index of the choice.
func (a *autoFit) report(all []recipe, choices []choiceOf, on *comparedOn) int {
	picked := a.pick(choices, on, -1)
	for i := range choices {
		if i == picked.at {
			a.out.Chosen = len(a.out.Tried)
		}
		behind, se := picked.behind[i], picked.se[i]
		a.tried(&choices[i], on.rows, &behind, &se)
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
		a.tried(&x, c.on.rows, nil, nil)
	}
	return picked.at
}

// onAllRows cross-fits the chosen recipe with two folds of all rows, if the comparison had only a
// part of them and the budget allows it; else it returns nil.
func (a *autoFit) onAllRows(r recipe, on *comparedOn) (*comparedOn, error) {
	n := a.part.Rows
	if on.rows >= n || n > mostBatchRows || !a.fits(r) {
		return nil, nil
	}
	price := a.cost([]recipe{r}, 2, leastChosenIterations, n)
	if a.work+price+a.lastPrice(r, leastChosenIterations) > a.budget {
		return nil, nil
	}
	whole, err := a.comparison(a.data, 2, leastChosenIterations)
	if err != nil {
		return nil, err
	}
	a.work += price
	_, err = a.compare([]recipe{r}, whole)
	return whole, err
}

// lastPrice is the price of training a recipe on all rows.
func (a *autoFit) lastPrice(r recipe, iterations int) float64 {
	p := &a.price
	columns, nonZeros := p.width(r.features)
	load := float64(p.rows * loadNumber * nonZeros)
	switch {
	case isBatch(r.algorithm) && a.part.Rows <= mostBatchRows:
		return load + float64(p.rows*float64(iterations)*p.visit(columns, nonZeros))
	case r.algorithm == costSearch:
		passes := float64(max(1, defaultPasses(a.part.Rows, 1)/5))
		return float64(p.rows * 19 * passes * p.step(nonZeros))
	}
	return float64(p.training * p.step(nonZeros) / p.step(p.nonZeros))
}

// trainChosen trains the choice on all rows: batch algorithms with as many iterations as the budget
// leaves.
func (a *autoFit) trainChosen(c *choiceOf, offsets []float64) (*Result, error) {
	iterations := leastChosenIterations
	for iterations < chosenIterations && a.work+a.lastPrice(c.recipe, iterations+iterations/4) <= a.budget {
		iterations += iterations / 4
	}
	own := a.lastPrice(c.recipe, iterations)
	a.work += own
	a.out.Cost.Own = own / a.price.training
	t, err := newTransform(a.ctx, a.data, c.recipe.features, a.price.products)
	if err != nil {
		return nil, err
	}
	batch, large := isBatch(c.recipe.algorithm), a.part.Rows > mostBatchRows
	var r *Result
	if batch && !large && a.fits(c.recipe) {
		r, err = a.trainInMemory(t, c.recipe, iterations)
	} else {
		r, err = a.trainByFit(t, c, iterations)
	}
	if err != nil {
		return nil, err
	}
	r.Transform = t
	if c.tuned && !(batch && large) {
		for k := range r.Models {
			r.Models[k].Threshold += offsets[k]
		}
		if a.data.Task == Binary {
			r.History[r.Chosen].Threshold = r.Models[0].Threshold
		}
	}
	return r, nil
}

// fits reports whether all rows with the features of a recipe fit in memory.
func (a *autoFit) fits(r recipe) bool {
	columns, nonZeros := a.price.width(r.features)
	return a.price.rows*min(columns, 2*nonZeros) <= mostDesignNumbers
}

// trainInMemory trains a batch algorithm on all rows.
func (a *autoFit) trainInMemory(t *Transform, r recipe, iterations int) (*Result, error) {
	m, err := newMappedMoments(a.ctx, a.data, t)
	if err != nil {
		return nil, err
	}
	dim := a.data.Set.Info().Dim
	if t != nil {
		dim = t.Features()
	}
	scaling := m.scaled(r.scale, dim)
	x, err := newDesign(a.ctx, a.data, t, m, scaling)
	if err != nil {
		return nil, err
	}
	solved, err := a.solve(x, r, iterations)
	if err != nil {
		return nil, err
	}
	models := x.models(solved.w, max(1, dim))
	if r.algorithm == "omma" {
		models[0].Intercept -= a.ommaThreshold(x, solved.w, x.biases(solved.w, 1, 1))
	}
	steps := int64(solved.passes) * int64(x.rows)
	return &Result{
		Task: a.data.Task, Models: models, Algorithm: r.algorithm, Folds: 1, Train: a.part,
		Holdout: Part{Labels: make([]LabelCount, len(a.part.Labels))}, Scaling: scaling, Passes: solved.passes,
		StepScale: 1, StepScales: []float64{1}, Steps: steps,
		History: []HistoryEntry{{
			Candidate: fmt.Sprintf("iteration %d", solved.iterations), Examples: steps, StepScale: 1,
		}},
	}, nil
}

// trainByFit trains a choice on all rows as its algorithm does by name, or by its counterpart that
// makes one step an example where there are too many rows.
func (a *autoFit) trainByFit(t *Transform, c *choiceOf, iterations int) (*Result, error) {
	mapped, err := a.data.transformed(t)
	if err != nil {
		return nil, err
	}
	o, err := a.options(a.ctx, c.recipe, mapped)
	if err != nil {
		return nil, err
	}
	o.most, o.Progress, o.Folds, o.Calibration = iterations, a.opt.Progress, nil, a.opt.Calibration
	if !isBatch(c.recipe.algorithm) || a.part.Rows <= mostBatchRows {
		return Fit(a.ctx, mapped, o)
	}
	o = a.bySteps(o, c)
	r, err := Fit(a.ctx, mapped, o)
	if err == nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s was compared on a part of the rows; there are more than %d, "+
			"so %s is trained on all of them", c.recipe.algorithm, mostBatchRows, o.Algorithm))
	}
	return r, err
}

// bySteps replaces a batch algorithm by its counterpart that makes one step an example.
func (a *autoFit) bySteps(o Options, c *choiceOf) Options {
	lambda := o.Config.Lambda
	o.Config.Lambda, o.most, o.Holdout = 0, 0, nil
	switch {
	case a.data.Task == Multiclass:
		o.Algorithm = a.usual()
	case c.recipe.algorithm == "logistic-balanced":
		o.Algorithm = "sgd-balanced"
	default:
		o.Algorithm, o.Config.Lambda = "sgd-logistic", lambda
	}
	if a.data.Task == Binary && (c.tuned || c.recipe.algorithm == "omma") {
		o.Threshold = ThresholdTuned
	}
	return o
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
