package classify

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// The algorithm "auto" chooses features, learner and threshold by cross-fitting on the training
// rows. Every candidate is a value of type recipe: the features that it makes, the scale that it
// puts them on, and a named algorithm. Candidates are compared on the same rows and folds, many on
// few rows and then few on more ([autoFit.compare]); of those that are within one standard error of
// the best the simplest is trained on all rows.
//
// All that may cost mostTrainings times one training with the usual algorithm. It is planned before
// it begins, within plannedTrainings or leastBudget if that is more, in nanoseconds of a core of
// 2026 by the prices of file autoprice.go, which depend on the sizes of the data only: the same
// data give the same choice on every machine.

// Auto is the name of the algorithm that chooses among the others.
const Auto = "auto"

// The budget of a search with the training of what it has chosen.
const (
	mostTrainings = 4
	// plannedTrainings is what the estimates may come to. The rest is for what they miss.
	plannedTrainings = 3
	leastBudget      = 3e8 // three tenths of a second
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
	// Trainings is the estimated time, in trainings of the usual algorithm; Budget is what was
	// planned at most and Own the part that is one training of what was chosen.
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
	// leastRowsOfLabel is the number of rows that every label needs, and fewRowsOfLabel that up to
	// which the rows are divided into folds repeatedly.
	leastRowsOfLabel = 10
	fewRowsOfLabel   = 60
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
	// mostFinalists is the number of candidates in the last comparison.
	mostFinalists = 3
	// mostAutoDense is the largest number of features that occur with which products are tried.
	mostAutoDense = 1_000
	// The iterations of batch algorithms in the comparisons.
	firstIterations, secondIterations, thirdIterations = 12, 20, 30
	// The iterations of the last training: as many as are planned for, as it may have whatever the
	// search has cost, and at most. Most trainings end as soon as planned. One on rows that nearly
	// separate the labels does not, and is far from its optimum then.
	plannedLast, allowedLast, mostLast = 20, 30, 500
	// plannedIterations is the number of them that is expected where a preconditioner helps.
	plannedIterations = 20
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

	// weights are the class weights by label, or nil.
	weights []float64

	budget, work float64
	// warm is what was found on halves of the rows, where the last training begins, or nil.
	warm *warmStart

	logsOnce sync.Once
	logs     []float64 // of drawnLogs
}

// searches reports whether [Auto] chooses for data: not for rows with several labels, for options
// that are a learner's, for too few rows of a label or for very many features. It is then the
// [DefaultAlgorithm]. If that is for the data and not for the options, it says why.
func (o Options) searches(d Data) (ok bool, why string) {
	if o.Algorithm != Auto || d.Task == Multilabel || o.Valid != nil || !o.plain() {
		return false, ""
	}
	part, err := d.sizes()
	if err != nil {
		return false, "" // the training returns it
	}
	if dim := d.Set.Info().Dim; dim > mostAutoFeatures {
		return false, fmt.Sprintf("there are %d features and at most %d are compared", dim, mostAutoFeatures)
	}
	if few := d.fewFor(o.Measure, part, leastRowsOfLabel); few != "" {
		return false, few
	}
	if isAverage(o.Measure) {
		return true, ""
	}
	if slices.ContainsFunc(part.Labels, func(l LabelCount) bool { return l.Weight == 0 }) {
		return false, "the rows of a label have no weight"
	}
	return true, ""
}

// rarest is the number of rows of the rarest label, or of a label in the mean if the measure counts
// a class without a right prediction as nothing more than that.
func (a *autoFit) rarest() int64 {
	if averageOf(a.opt.Measure).Of != nil {
		return a.part.Rows / int64(len(a.part.Labels))
	}
	return slices.MinFunc(a.part.Labels, func(x, y LabelCount) int { return cmp.Compare(x.Rows, y.Rows) }).Rows
}

// plain reports whether all settings of a learner have their defaults.
func (o Options) plain() bool {
	given, standard := o.EnsureDefaults(), Options{}.EnsureDefaults()
	if o.Config.Reward != nil && o.Config.Reward.Name() != standard.Config.Reward.Name() {
		return false
	}
	for _, s := range settings {
		if s.Name != "seed" && s.Name != "rate" && s.Name != "calibration" &&
			s.Name != "class-weight" && s.number(&given) != s.number(&standard) {
			return false
		}
	}
	return given.Holdout == nil
}

// newAutoFit measures the data and sets the budget.
func newAutoFit(ctx context.Context, data Data, opt Options) (*autoFit, error) {
	a := &autoFit{ctx: ctx, data: data, opt: opt, results: map[recipe]comparedResult{}}
	if err := a.data.check(); err != nil {
		return nil, err
	}
	var err error
	if a.part, err = data.sizes(); err != nil {
		return nil, err
	}
	if a.weights, err = opt.ClassWeights.by(data, a.part); err != nil {
		return nil, err
	}
	return a, a.setPrices()
}

// fitAuto is [Fit] by [Auto].
func fitAuto(ctx context.Context, data Data, opt Options) (*Result, error) {
	a, err := newAutoFit(ctx, data, opt)
	if err != nil {
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
	all, err := a.featureRecipes(base)
	if err != nil {
		return nil, nil, err
	}
	first, err := a.rung(base, "first", 2, firstIterations, all, forSearch*0.25, leastFirst, mostFirst)
	if err != nil {
		return nil, nil, err
	}
	order, err := a.compare(all, first)
	if err != nil {
		return nil, nil, err
	}
	best := []recipe{}
	for _, k := range order[:min(len(order), mostFinalists)] {
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
	last, third, err := a.finalists(base, next, order, second.rows)
	if err != nil {
		return nil, nil, err
	}
	if !isBatch(last[0].algorithm) && a.data.Task == Binary && isEither(a.opt.Measure) {
		// It costs as much as all others: it is tried where what it searches over is ahead, if the
		// last comparison can still have as many rows as the one before.
		search := recipe{scale: scaleStandard, algorithm: costSearch, own: true}
		with := append(slices.Clone(last), search)
		if on, err := a.third(base, with); err != nil {
			return nil, nil, err
		} else if on.rows >= second.rows {
			third, last, learners = on, with, append(learners, search)
		}
	}
	third.last = true
	tried := append(all, learners...)
	if third.rows < second.rows { // no more could be known of them
		second.last = true
		for _, r := range last {
			a.decide(second.results[r], r, second)
		}
		return tried, second, nil
	}
	_, err = a.compare(last, third)
	return tried, third, err
}

// finalists returns the candidates of the last comparison and its rows: the best of those tried, in
// the given order, and the simplest, to which the rule of one standard error may come back. There
// are as many as leave the comparison the given number of rows, mostFinalists at most.
func (a *autoFit) finalists(base Data, tried []recipe, order []int, rows int) ([]recipe, *comparedOn, error) {
	simplest := a.simplest(tried)
	for n := min(len(order), mostFinalists); ; n-- {
		last := []recipe{}
		for _, k := range order[:n] {
			last = append(last, tried[k])
		}
		if !slices.Contains(last, simplest) {
			last = append(last, simplest)
		}
		third, err := a.third(base, last)
		if err != nil || n == 1 || third.rows >= rows {
			return last, third, err
		}
	}
}

// third draws the rows of the last comparison.
func (a *autoFit) third(base Data, recipes []recipe) (*comparedOn, error) {
	share := max((a.budget/2)*0.4, a.left(recipes)/2)
	return a.rung(base, "third", 5, thirdIterations, recipes, share, leastFirst, mostSearchRows)
}

// left is what the budget leaves after a last training with the most expensive of recipes.
func (a *autoFit) left(recipes []recipe) float64 {
	last := 0.0
	for _, r := range recipes {
		last = max(last, a.lastPrice(r, plannedLast))
	}
	return a.budget - a.work - last
}

// compare cross-fits recipes, in parallel, and returns their numbers, the best first: of equal
// values that of the lower number; an undefined value is the worst. The result does not depend on
// how many are compared at a time.
func (a *autoFit) compare(recipes []recipe, on *comparedOn) ([]int, error) {
	a.work += a.cost(recipes, on.division, 0, on.rows) // of all but the batch algorithms
	results := make([]*crossFitted, len(recipes))
	for i := range results {
		results[i] = &crossFitted{scores: make([][]float64, 0, len(on.truth))}
	}
	inParallel := func(do func(ctx context.Context, i int) error) error {
		group, ctx := errgroup.WithContext(a.ctx)
		group.SetLimit(runtime.GOMAXPROCS(0))
		for i := range recipes {
			group.Go(func() error { return do(ctx, i) })
		}
		return group.Wait()
	}
	for k := range on.folds { // one after the other: memory is for one
		f := &on.folds[k]
		if err := f.prepare(a, recipes); err != nil {
			return nil, err
		}
		err := inParallel(func(ctx context.Context, i int) error {
			return a.crossFit(ctx, results[i], recipes[i], f, on)
		})
		if err != nil {
			return nil, err
		}
		clear(f.mapped)
	}
	err := inParallel(func(_ context.Context, i int) error {
		a.decide(results[i], recipes[i], on)
		return nil
	})
	if err != nil {
		return nil, err
	}
	order := make([]int, len(recipes))
	for i, r := range recipes {
		order[i] = i
		on.results[r] = results[i]
		a.out.Cost.Steps += results[i].steps
		a.results[r] = comparedResult{results[i], on, a.results[r].on}
		a.work += results[i].work
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(results[j].better(), results[i].better()) // NaN is less than all others
	})
	return order, nil
}

// featureRecipes are the candidates that differ in their features and scales only. Logarithms and
// ranks are among them if d has columns that they change.
func (a *autoFit) featureRecipes(d Data) ([]recipe, error) {
	learner := a.firstLearner()
	var out []recipe
	for _, scale := range []string{scaleStandard, scaleMaxAbs, scaleNone} {
		out = append(out, recipe{scale: scale, algorithm: learner, lambda: 1})
	}
	t, err := newTransform(a.ctx, d, features{columns: "log"}, 0)
	if err != nil {
		return nil, err
	}
	if t != nil {
		a.price.mapped = float64(len(t.Columns))
		for _, c := range []string{"log", "rank"} {
			f := features{columns: c}
			out = append(out, recipe{features: f, scale: scaleStandard, algorithm: learner, lambda: 1})
		}
	}
	products := recipe{features: features{products: true}, scale: scaleStandard, algorithm: learner, lambda: 1}
	cheap := isDense(a.price.columns, a.price.nonZeros) || a.fits(products) ||
		a.lastPrice(products, plannedLast) <= a.budget
	if a.price.columns <= mostAutoDense && cheap {
		out = append(out, products)
	}
	return out, nil
}

// firstLearner is the algorithm that features are compared with: an optimum with the weights of the
// labels that suit the measure.
func (a *autoFit) firstLearner() string {
	switch {
	case a.data.Task == Multiclass && (averageOf(a.opt.Measure).Of != nil || a.weights != nil):
		return "softmax"
	case a.data.Task == Multiclass:
		return "softmax-balanced"
	case isConcave(a.opt.Measure) && a.weights == nil:
		return "logistic-balanced"
	}
	return "logistic"
}

// productRecipes are the products of changed columns, the better change first, if products are
// among the best so far, given the order of the first candidates.
func productRecipes(all []recipe, order []int) []recipe {
	var out []recipe
	products := false
	for place, k := range order {
		r := all[k]
		products = products || r.features.products && place < mostFinalists
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
// simplest. Few rows of a label are for batch algorithms only.
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
		if lambda < 1 {
			other.features, other.scale = features{}, scaleStandard
			add(other)
		}
	}
	for _, name := range a.batchLearners() {
		k.algorithm = name
		add(k)
	}
	if a.weights != nil { // the others weigh the classes themselves
		k.features, k.scale = features{}, scaleStandard
		add(k)
		return out
	}
	if a.rarest() < fewRowsOfLabel {
		return out // an online learner and its threshold follow single rows
	}
	k.algorithm, k.lambda = a.usual(), 0
	k.own = algorithmOf(a.data.Task, k.algorithm).TunesThreshold
	if !k.features.products { // their many columns would cost more than all other candidates
		add(k)
	}
	k.features, k.scale = features{}, scaleStandard
	add(k)
	if a.data.Task == Multiclass {
		k.algorithm, k.own = "sgd-balanced", false
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
	switch {
	case a.data.Task == Multiclass && a.weights != nil:
		return []string{"softmax"}
	case a.data.Task == Multiclass:
		return []string{"softmax", "softmax-balanced"}
	case a.weights != nil:
		return []string{"logistic"}
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

// complexity orders recipes: by their features, those with the same by their algorithm, that which
// compares the features first, and then by their scale, the standard one first. An optimum of few
// weights is the same after another draw of rows; the last step of an online learner is not, and
// the less so the fewer rows there are.
func (a *autoFit) complexity(r recipe) int {
	n := 0
	switch r.features.columns {
	case "log":
		n = 4
	case "rank":
		n = 8
	}
	if r.features.products {
		n += 12
	}
	if r.algorithm != a.firstLearner() {
		n += 2
	}
	if r.scale != scaleStandard {
		n++
	}
	return n
}
