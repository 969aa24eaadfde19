package classify

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/compensated"

	"golang.org/x/sync/errgroup"
)

// ModelFigures are the values of measures to expect on new rows: every row is predicted by a model
// that has not seen it. What the rows also choose, such as the threshold and the candidate of
// [Auto], is that of the model, without the profit from having seen them: see
// docs/how-to/algorithm.md.
type ModelFigures struct {
	// Source says by which models: "cross-fitted" by models of other rows; "held out" by this model
	// or, after a merge, by those of the shards, at a threshold of other rows that were held out;
	// "progressive" by the model of the rows of a stream that came before.
	Source string `json:"source"`
	// Rows is the number of rows that were predicted and Folds that of the models; 1 on a stream.
	Rows  int64 `json:"rows"`
	Folds int   `json:"folds"`
	// Values has every measure of the task without a parameter that is defined.
	Values []Figure `json:"values"`
}

// Figure is the value of a measure on new rows, with an interval of 95 % within the values that the
// measure can have: with very few rows of a label it may be all of them. The upper end of those of
// [Auto] is moved up by what the rows may give that the models which decided lacked.
type Figure struct {
	Measure string  `json:"measure"`
	Value   float64 `json:"value"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
}

// Of returns the figure of a measure, nil if there is none.
func (f *ModelFigures) Of(measure string) *Figure {
	if f == nil {
		return nil
	}
	i := slices.IndexFunc(f.Values, func(x Figure) bool { return x.Measure == measure })
	if i < 0 {
		return nil
	}
	return &f.Values[i]
}

// check returns an error of code bad_input for figures that cannot have been.
func (f *ModelFigures) check() error {
	if f == nil {
		return nil
	}
	if f.Source != sourceHeldOut && f.Source != sourceCrossFitted && f.Source != sourceProgressive {
		return noregret.BadInputf("figures.source", "%q, want %q, %q or %q", f.Source, sourceHeldOut, sourceCrossFitted,
			sourceProgressive)
	}
	if f.Rows < 1 || f.Folds < 1 {
		return noregret.BadInputf("figures", "%d rows and %d folds, want at least 1 of both", f.Rows, f.Folds)
	}
	for i, x := range f.Values {
		if !allFinite(x.Value, x.Low, x.High) {
			return noregret.BadInputf(fmt.Sprintf("figures.values[%d]", i), "a number is not finite")
		}
		if !(x.Low <= x.Value && x.Value <= x.High) {
			return noregret.BadInputf(fmt.Sprintf("figures.values[%d]", i), "%v is not from %v to %v: an interval has "+
				"its value", x.Value, x.Low, x.High)
		}
	}
	return nil
}

// The sizes of [Result.CrossFigures]: models, rows that are predicted, steps of one run of a model
// on all of these unless it has leastFigurePasses, and rows of each label.
const (
	figureFolds       = 5
	mostFigureRows    = 20_000
	mostFigureSteps   = 400_000
	leastFigurePasses = 3
	leastFigureLabel  = 6
)

// CrossFigures adds the figures of a training of [Fit] with the same data and options, if it has
// none yet, and changes nothing else: five times it trains on four fifths of at most 20,000 rows
// and predicts the rest of them. Passes are those of the training, or fewer where they would take
// more than 400,000 steps. The models see fewer rows than the one that is trained on all, so the
// figures are rather too low. The intervals are for the draw of the rows and for how far the five
// are apart. There are none for rows with several labels and for separate held-out data. Where a
// label has fewer than six rows (with macro_f1 and the like in the mean), or a model of fewer rows
// cannot be trained, there are none either, and a warning says so. With 20,000 rows or fewer it
// takes up to four times as long as the training. Options.Progress is told of each of the five as a
// pass. Errors are those of reading the data, and ctx's.
func (r *Result) CrossFigures(ctx context.Context, data Data, opt Options) error {
	if r.Figures != nil || data.Task == Multilabel || opt.Valid != nil {
		return nil
	}
	weighted, err := data.withWeight(ctx)
	if err != nil {
		return err
	}
	a := &autoFit{ctx: ctx, data: weighted, opt: opt}
	if a.part, err = weighted.sizes(); err != nil {
		return err
	}
	if few := weighted.fewFor(opt.Measure, a.part, leastFigureLabel); few != "" {
		if a.part.Rows < data.Set.Info().Rows {
			few += ", not counting rows of weight 0"
		}
		r.Warnings = append(r.Warnings, "there are no figures on new rows: "+few)
		return nil
	}
	var untrained error
	if r.Figures, untrained, err = a.crossFigures(r); untrained != nil {
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("there are no figures on new rows: a model of fewer rows cannot be trained: %v", untrained))
	}
	return err
}

// fewFor says what a measure lacks if every label is to have the rows needed, "" if nothing: where
// a class without a right prediction costs its share only, as in macro_f1, they need them in the
// mean.
func (d Data) fewFor(m measure.Objective, part Part, needed int64) string {
	if !isAverage(m) {
		return d.fewRows(part, needed)
	}
	if n := needed * int64(len(part.Labels)); part.Rows < n {
		return fmt.Sprintf("%d labels have %d rows and %d are needed", len(part.Labels), part.Rows, n)
	}
	return ""
}

// fewRows says which label is the first with fewer rows than needed, "" if none is.
func (d Data) fewRows(part Part, needed int64) string {
	k := slices.IndexFunc(part.Labels, func(l LabelCount) bool { return l.Rows < needed })
	if k < 0 {
		return ""
	}
	names := d.names()
	label := "label " + names[k]
	if k > 0 && d.Task == Binary && len(names) > 2 {
		label = "the negative class"
	}
	return fmt.Sprintf("%s has %d rows and %d are needed", label, part.Labels[k].Rows, needed)
}

// crossFigures is [Result.CrossFigures] for data that have figures. The error untrained is that of
// the first fold that has no model.
func (a *autoFit) crossFigures(r *Result) (f *ModelFigures, untrained, err error) {
	d, err := a.draw(a.data, "figures", min(a.part.Rows, mostFigureRows))
	if err != nil {
		return nil, nil, err
	}
	on, err := a.comparison(d, division{figureFolds, 1}, 0)
	if err != nil {
		return nil, nil, err
	}
	opt := a.opt
	opt.Progress, opt.Calibration = nil, CalibrationNone
	done := a.foldsProgress(r.Algorithm, len(on.folds), int64(on.rows))
	opt.Passes = new(min(a.passesOf(r), max(leastFigurePasses, mostFigureSteps/on.rows)))
	of, errs := make([]foldOutcome, len(on.folds)), make([]error, len(on.folds))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range on.folds {
		group.Go(func() error {
			of[i], errs[i] = a.outcome(&on.folds[i], opt, d)
			done()
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	if err := a.ctx.Err(); err != nil {
		return nil, nil, err
	}
	for _, err := range errs {
		if err != nil {
			return nil, err, nil
		}
	}
	n := a.labels()
	own := make([]float64, n*n)
	var all, moved [][]float64
	for k := range of {
		all = append(all, of[k].all)
		for i, w := range of[k].own {
			own[i] += w
		}
		if cells := on.movedTo(of, k); cells != nil {
			moved = append(moved, cells)
		}
	}
	apart := func(m measure.Objective) float64 {
		x, y := a.apart(m, all), a.apart(m, moved)
		if y != y || x < y {
			return x
		}
		return y
	}
	return on.figures(a, own, namedErrors, apart), nil, nil
}

// foldsProgress reports that the models of folds begin, and returns what reports another as done.
// It may be called at the same time.
func (a *autoFit) foldsProgress(algorithm string, folds int, rows int64) (done func()) {
	if a.opt.Progress == nil {
		return func() {}
	}
	var one sync.Mutex
	now := Progress{
		Algorithm: algorithm + " for figures", Pass: 1, Passes: folds, Total: int64(folds) * rows,
		Measure: a.opt.Measure.Name(), Value: math.NaN(),
	}
	a.opt.Progress(now)
	return func() {
		one.Lock()
		defer one.Unlock()
		now.Examples += rows
		a.opt.Progress(now)
		now.Pass = min(folds, now.Pass+1)
	}
}

// passesOf is the number of passes of one run of a training by steps. Other algorithms have the one
// of the options or the default.
func (a *autoFit) passesOf(r *Result) int {
	online := slices.ContainsFunc(algorithms, func(x Algorithm) bool { return x.Name == r.Algorithm && x.online })
	if runs := max(1, r.Folds) * max(1, len(r.StepScales)); online && r.Passes >= runs {
		return r.Passes / runs
	}
	if a.opt.Passes != nil {
		return *a.opt.Passes
	}
	return defaultPasses(a.part.Rows, 1)
}

// foldOutcome is what the model of a fold makes of all rows. The outcomes say how far the model of
// all rows may be from those of the folds. There are two ways to see it. One compares the
// confusions of all rows: it is too wide where models fit the rows that they have seen too well.
// The other applies the threshold of each fold to the scores of the others: it is too wide where
// the scores of models differ in more than their spread. The smaller counts.
type foldOutcome struct {
	all, own []float64 // the confusions of all rows and of those of the fold
	// With Binary, the scores of the fold's rows, less the threshold, and the spread of those of
	// the rows that the model has seen.
	scores []float64
	spread spread
}

// outcome trains on the other rows of a fold and decides all rows.
func (a *autoFit) outcome(f *fold, opt Options, all Data) (out foldOutcome, err error) {
	r, err := Fit(a.ctx, f.train, opt)
	if err != nil {
		return out, err
	}
	model, n := r.Classifier(), a.labels()
	out.all, out.own = make([]float64, n*n), make([]float64, n*n)
	row, scores, thresholds := int64(0), []float64(nil), make([]float64, len(model.Models))
	var seen []Scored
	err = all.read(a.ctx, func(index []uint32, value []float32, class uint16, weight float64) error {
		scores = model.Scores(scores[:0], index, value)
		held, cell := f.held.Get(row), all.labelIndex(class)*n+decision(scores, thresholds)
		out.all[cell] += weight
		if held {
			out.own[cell] += weight
		}
		switch {
		case a.data.Task != Binary:
		case held:
			out.scores = append(out.scores, scores[0])
		default:
			seen = append(seen, Scored{Score: scores[0], Weight: weight})
		}
		row++
		return nil
	})
	out.spread = spreadOf(seen)
	return out, err
}

// movedTo is the confusion of the rows of all folds, with Binary, at the threshold of one of them.
// For the scores of another fold it is as many mean distances from their mean as it is in its own.
// Without scores, or where these do not differ, the confusion is nil.
func (c *comparedOn) movedTo(of []foldOutcome, fold int) []float64 {
	cells, at, t := make([]float64, 4), 0, of[fold].spread
	for j, f := range of {
		threshold := []float64{0}
		if j != fold {
			by := f.spread.deviation / t.deviation
			if !(by > 0) || math.IsInf(by, 0) {
				return nil
			}
			threshold[0] = f.spread.mean - float64(by*t.mean)
		}
		for _, z := range f.scores {
			cells[c.truth[at]*2+decision([]float64{z}, threshold)] += c.weight[at]
			at++
		}
	}
	if at == 0 {
		return nil
	}
	return cells
}

// choiceOf is a candidate with one of its two kinds of decisions.
type choiceOf struct {
	recipe  recipe
	result  *crossFitted
	tuned   bool
	decided decided
}

// choices are the candidates of a comparison, in the order given, with each kind of decisions:
// first those at threshold 0, which is a guess for a measure that is not a concave function of the
// recalls, and so comes second there.
func (a *autoFit) choices(all []recipe, on *comparedOn) []choiceOf {
	tunedFirst := a.data.Task == Binary && !isConcave(a.opt.Measure)
	var out []choiceOf
	for _, r := range all {
		c := on.results[r]
		if c == nil {
			continue
		}
		out = append(out, choiceOf{r, c, false, c.plain})
		if c.tuned == nil {
			continue
		}
		out = append(out, choiceOf{r, c, true, *c.tuned})
		if k := len(out); tunedFirst {
			out[k-2], out[k-1] = out[k-1], out[k-2]
		}
	}
	return out
}

// picked is a choice among candidates.
type picked struct {
	at         int       // the index of the chosen one
	behind, se []float64 // by how much each is behind the best, and the error of that
}

// withinFeatures is the number of standard errors within which a simpler candidate of the same
// features is taken: less than the one of the rule, as it saves less.
const withinFeatures = 0.5

// pick chooses the features of the first of the candidates that are within one standard error of
// the best, and of the candidates with these features the first that is within half a standard
// error of the best, on the rows outside a fold; -1 leaves none out.
func (a *autoFit) pick(choices []choiceOf, on *comparedOn, without int) picked {
	value := make([]float64, len(choices))
	influences := make([][]float64, len(choices))
	best := 0
	for i := range choices {
		cells := choices[i].decided.cells
		if without >= 0 {
			cells = a.cells(on, choices[i].decided.predicted, without)
		}
		value[i] = a.value(a.opt.Measure, cells)
		influences[i] = a.influence(choices[i].decided.predicted, cells, on)
		if v, top := value[i], value[best]; v > top || top != top {
			best = i
		}
	}
	p := picked{at: best, behind: make([]float64, len(choices)), se: make([]float64, len(choices))}
	simplest := best
	for i := range choices {
		p.behind[i] = value[best] - value[i]
		p.se[i] = a.errorOfDifference(influences[best], influences[i], on, without)
		if i < simplest && p.behind[i] <= p.se[i] {
			simplest = i
		}
	}
	of := func(i int) bool { return choices[i].recipe.features == choices[simplest].recipe.features }
	top := simplest
	for i := range choices {
		if of(i) && value[i] > value[top] {
			top = i
		}
	}
	p.at = top
	for i := range top {
		se := a.errorOfDifference(influences[top], influences[i], on, without)
		if of(i) && value[top]-value[i] <= float64(withinFeatures*se) {
			p.at = i
			break
		}
	}
	return p
}

// span is the place of a fold's entries.
func (c *comparedOn) span(fold int) (from, to int) {
	if fold == 0 {
		return 0, c.ends[0]
	}
	return c.ends[fold-1], c.ends[fold]
}

// chosenWithout returns the candidate that is chosen without each fold.
func (a *autoFit) chosenWithout(choices []choiceOf, on *comparedOn) []*choiceOf {
	out := make([]*choiceOf, len(on.folds))
	for k := range out {
		out[k] = &choices[a.pick(choices, on, k).at]
	}
	return out
}

// expected is the confusion to expect of a choice on new rows: that of the folds, each decided by
// what is chosen and tuned without it, moved by how differently all rows are decided by the choice
// and, in the mean, by those without a fold. These have seen all rows but a fold, so that they
// profit there from what they have seen as the choice does, and it cancels.
//
// The decisions of the folds alone would be as right in the mean, but measures that hardly matter
// to the choice move with it: where F1 is flat around its best threshold, those of the folds lie
// far from the one that is served, and their specificity many standard errors from that to come.
func (a *autoFit) expected(without []*choiceOf, c *choiceOf, on *comparedOn) []float64 {
	n := a.labels()
	out, all, mean := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
	for i, k := range on.truth {
		all[k*n+c.decide(i, -1)] += on.weight[i]
	}
	for fold, x := range without {
		from, to := on.span(fold)
		for i, k := range on.truth {
			cell := k*n + x.decide(i, fold)
			mean[cell] += on.weight[i]
			if from <= i && i < to {
				out[cell] += on.weight[i]
			}
		}
	}
	for k := range n {
		row, weight, above, below := out[k*n:(k+1)*n], 0.0, 0.0, false
		for j, v := range row {
			weight += v
			row[j] = v + (all[k*n+j] - mean[k*n+j]/float64(len(without)))
			above += max(0, row[j])
			below = below || row[j] < 0
		}
		for j := 0; j < n && below; j++ {
			row[j] = max(0, row[j]) * weight / above
		}
	}
	return out
}

// decide is the decision of an entry by the thresholds that are tuned without a fold, -1 for those
// that are tuned on all rows.
func (c *choiceOf) decide(entry, without int) int {
	switch {
	case !c.tuned:
		return c.decided.predicted[entry]
	case without < 0:
		return decision(c.result.scores[entry], c.result.offsets)
	}
	return decision(c.result.scores[entry], c.result.without[without])
}

// slopes are the derivatives of a measure by the cells of a confusion.
func (a *autoFit) slopes(m measure.Objective, cells []float64) []float64 {
	if multi, ok := m.(measure.Multi); ok && a.data.Task != Binary {
		return multi.Slopes(a.classes(cells), stepOf(cells))
	}
	return slopes(func(cells []float64) float64 { return a.value(m, cells) }, cells)
}

// stepOf is the length of a difference of cells.
func stepOf(cells []float64) float64 {
	total := 0.0
	for _, c := range cells {
		total += c
	}
	return float64(1e-5 * total)
}

// slopes are the derivatives of a function of a few cells of a confusion, by differences.
func slopes(value func(cells []float64) float64, cells []float64) []float64 {
	h := stepOf(cells)
	out := make([]float64, len(cells))
	moved := slices.Clone(cells)
	for i, c := range cells {
		moved[i] = c + h
		up := value(moved)
		low := max(c-h, 0)
		moved[i] = low
		down := value(moved)
		moved[i] = c
		if s := (up - down) / (c + h - low); s-s == 0 {
			out[i] = s
		}
	}
	return out
}

// influence is by how much each row moves the measure of decisions with the given confusion, up to
// a constant of its label.
func (a *autoFit) influence(predicted []int, cells []float64, on *comparedOn) []float64 {
	n := a.labels()
	s := a.slopes(a.opt.Measure, cells)
	out := make([]float64, on.rows)
	for i, p := range predicted {
		out[on.row[i]] += float64(on.weight[i] * s[on.truth[i]*n+p])
	}
	return out
}

// errorOfDifference is the standard error of the difference of the measures of two candidates'
// decisions for the rows outside a fold, of which the numbers of each row are given.
func (a *autoFit) errorOfDifference(x, y []float64, on *comparedOn, without int) float64 {
	n := a.labels()
	sum, squares, rows := make([]float64, n), make([]float64, n), make([]float64, n)
	for i, row := range on.row[:on.rows] { // the first division has each row once
		if !on.outside(without, i) {
			continue
		}
		k := on.truth[i]
		d := x[row] - y[row]
		sum[k] += d
		squares[k] += float64(d * d)
		rows[k]++
	}
	variance := 0.0
	for k := range n {
		if rows[k] > 0 {
			variance += max(0, squares[k]-float64(sum[k]*sum[k])/rows[k])
		}
	}
	return math.Sqrt(variance)
}

// The number of standard errors of the draw of the rows on both sides of a figure's value: more
// than 1.96 because the models of the folds are not the one that is trained on all rows. Where
// the models of the folds are compared, apartErrors times their standard deviation is added in
// squares: more than 1.96 as there are five of them. What share of values the intervals then hold
// is in lab/docs/auto.md.
const (
	namedErrors  = 2.2
	chosenErrors = 2.6
	apartErrors  = 3
)

// figures are the values of all measures of a confusion, with so many standard errors to both
// sides, and for how far the models of the folds are apart unless that is nil.
func (c *comparedOn) figures(a *autoFit, cells []float64, by float64, apart func(measure.Objective) float64,
) *ModelFigures {
	out := &ModelFigures{Source: sourceCrossFitted, Rows: int64(c.rows), Folds: len(c.folds), Values: []Figure{}}
	for _, m := range figureMeasures(a.data.Task, a.opt.Measure) {
		v := a.value(m, cells)
		if v-v != 0 {
			continue
		}
		half := float64(by * a.standardError(m, cells, c))
		if apart != nil {
			if models := float64(apartErrors * apart(m)); models > 0 { // else it is not known
				half = math.Sqrt(float64(half*half) + float64(models*models))
			}
		}
		out.Values = append(out.Values, figureOf(m.Name(), v, half, a.lowest(m, cells)))
	}
	return out
}

// apart is the standard deviation of a measure over the confusions for which it is defined, NaN if
// there are fewer than two.
func (a *autoFit) apart(m measure.Objective, confusions [][]float64) float64 {
	var values []float64
	var sum, squares compensated.Sum
	for _, cells := range confusions {
		if v := a.value(m, cells); v-v == 0 {
			values = append(values, v)
			sum.Add(v)
		}
	}
	if len(values) < 2 {
		return math.NaN()
	}
	mean := sum.Value() / float64(len(values))
	for _, v := range values {
		squares.AddProduct(v-mean, v-mean)
	}
	return math.Sqrt(squares.Value() / float64(len(values)-1))
}

// figureMeasures are the measures of a task without a parameter, and the one that was trained for.
func figureMeasures(task Task, trained measure.Objective) []measure.Objective {
	names := measure.Names()
	if task != Binary {
		names = measure.MultiNames(false)
	}
	if !slices.Contains(names, trained.Name()) {
		names = append([]string{trained.Name()}, names...)
	}
	var out []measure.Objective
	for _, name := range names {
		if m, err := task.Measure(name); err == nil { // else a form with a parameter
			out = append(out, m)
		}
	}
	return out
}

// figureOf is the figure of a value with so much to both sides, between lowest and 1 and never
// without the value, which may be a rounding beyond these.
func figureOf(name string, value, half, lowest float64) Figure {
	return Figure{
		Measure: name, Value: value,
		Low: min(value, max(value-half, lowest)), High: max(value, min(value+half, 1)),
	}
}

// lowest is the value of a measure where every row is predicted wrong, which bounds an interval.
func (a *autoFit) lowest(m measure.Objective, cells []float64) float64 {
	n := a.labels()
	wrong := make([]float64, len(cells))
	for k := range n {
		for j := range n {
			wrong[k*n+(k+1)%n] += cells[k*n+j]
		}
	}
	if v := a.value(m, wrong); v == v {
		return v
	}
	return 0
}

// standardError is that of a measure of decisions by the delta method, for rows that are drawn with
// their labels: the outcomes of the rows of a label are multinomial, with half a row added to each
// outcome that the label can have, and so are the numbers of rows of the labels.
func (a *autoFit) standardError(m measure.Objective, cells []float64, on *comparedOn) float64 {
	n := a.labels()
	s := a.slopes(m, cells)
	rows, weight := make([]float64, n), make([]float64, n)
	for i, k := range on.truth {
		rows[k] += 1 / float64(on.division.repeats)
		weight[k] += on.weight[i]
	}
	within, between, sum, all := 0.0, 0.0, 0.0, 0.0
	for k := range n {
		if rows[k] == 0 || weight[k] == 0 {
			continue
		}
		var mean, square float64
		for j := range n {
			p := (float64(cells[k*n+j]/weight[k]*rows[k]) + 0.5) / (rows[k] + float64(float64(n)/2))
			mean += float64(p * s[k*n+j])
			square += float64(p * s[k*n+j] * s[k*n+j])
		}
		within += float64(weight[k] * weight[k] * max(0, square-float64(mean*mean)) / rows[k])
		// A comparison on a part of the rows weighs the labels as all rows do.
		count := rows[k]
		if k < len(a.part.Labels) {
			count = float64(a.part.Labels[k].Rows)
		}
		between += float64(weight[k] * weight[k] * mean * mean / count)
		sum += float64(weight[k] * mean)
		all += count
	}
	if all == 0 {
		return 0
	}
	return math.Sqrt(within + max(0, between-float64(sum*sum)/all))
}
