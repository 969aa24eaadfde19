package classify

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/random"
)

// comparedResult is the result of a candidate with the comparison that it is of, and the one
// before, nil if there is none.
type comparedResult struct {
	result     *crossFitted
	on, before *comparedOn
}

// crossFitted is the result of a candidate on a part of the rows.
type crossFitted struct {
	scores  [][]float64 // of each entry by the model of its fold, less the model's thresholds
	plain   decided
	tuned   *decided    // nil if the threshold is not tuned
	offsets []float64   // the thresholds that are tuned on all rows
	without [][]float64 // those that are tuned without each fold
	// spreads are those of the models of the folds, of two classes and in a comparison that was
	// known to be the last before it began.
	spreads []spread
	steps   int64
	work    float64 // of a batch algorithm
	early   bool    // whether a batch algorithm without a preconditioner ended before its optimum
}

// decided is the outcome of decisions.
type decided struct {
	predicted []int
	cells     []float64 // the confusion, by label and prediction
	value     float64
}

// better returns the value of the better of the two decisions.
func (r *crossFitted) better() float64 {
	v := r.plain.value
	if r.tuned != nil && (r.tuned.value > v || v != v) {
		v = r.tuned.value
	}
	return v
}

// options are those of a fit of a recipe on data with its features, with no held-out part unless
// the algorithm tunes the threshold on it.
func (a *autoFit) options(ctx context.Context, r recipe, mapped Data) (Options, error) {
	o := Options{
		Algorithm: r.algorithm, Measure: a.opt.Measure, Seed: a.opt.Seed, AllowDegenerate: a.opt.AllowDegenerate,
		Unscaled: r.scale == scaleNone, Calibration: CalibrationNone, ClassWeights: a.opt.ClassWeights,
	}
	o.Config.Lambda = r.lambda / float64(mapped.Set.Info().Rows)
	if r.scale == scaleMaxAbs {
		m, err := newMappedMoments(ctx, mapped, nil)
		if err != nil {
			return o, err
		}
		o.Config.Scaling = m.scaled(r.scale, mapped.Set.Info().Dim)
	}
	if !r.own {
		o.Holdout = new(0.0)
	} else if a.data.Task == Binary {
		o.Folds = new(1)
	}
	return o, nil
}

// crossFit trains a recipe on a fold's other rows and appends the scores of the fold's.
func (a *autoFit) crossFit(ctx context.Context, out *crossFitted, r recipe, f *fold, on *comparedOn) (err error) {
	m := f.mapped[r.features]
	if isBatch(r.algorithm) {
		_, err = a.crossFitBatch(ctx, out, r, m.scales[r.scale], on)
	} else {
		err = a.crossFitSteps(ctx, out, r, m, on)
	}
	if err != nil {
		return fmt.Errorf("%s of features %s: %w", r.algorithm, r.features, err)
	}
	return nil
}

// crossFitSteps trains an online learner on one fold's other rows and appends the scores of the
// fold's.
func (a *autoFit) crossFitSteps(ctx context.Context, out *crossFitted, r recipe, m *mappedFold, on *comparedOn,
) error {
	train, err := m.fold.train.transformed(m.transform)
	if err != nil {
		return err
	}
	o, err := a.options(ctx, r, train)
	if err != nil {
		return err
	}
	o.Passes = new(searchPasses(train.Set.Info().Rows))
	result, err := Fit(ctx, train, o)
	if err != nil {
		return err
	}
	out.steps += result.Steps
	model := Classifier{Task: a.data.Task, Models: result.Models}
	if on.last && a.data.Task == Binary {
		seen, err := train.scores(ctx, []*Linear{&model.Models[0]}, nil)
		if err != nil {
			return err
		}
		out.spreads = append(out.spreads, spreadOf(seen[0]))
	}
	return m.fold.test.read(ctx, m.transform.reading(func(index []uint32, value []float32, _ uint16, _ float64) error {
		out.scores = append(out.scores, model.Scores(nil, index, value))
		return nil
	}))
}

// crossFitBatch is crossFitSteps for an algorithm that ends at an optimum, which it returns.
func (a *autoFit) crossFitBatch(ctx context.Context, out *crossFitted, r recipe, s *scaledFold, on *comparedOn) (
	solved lbfgsResult, err error,
) {
	if err := ctx.Err(); err != nil {
		return solved, err
	}
	x := s.train
	solved, err = a.solve(x, r, on.iterations, nil, nil, on.last, searchPrecision)
	if err != nil {
		return solved, err
	}
	out.steps += int64(solved.passes) * int64(x.rows)
	out.work += a.price.solving(r, x.rows, solved.work)
	out.early = out.early || !solved.converged && solved.hessian == nil
	w, bias := x.raw(solved.w)
	threshold := 0.0
	if r.algorithm == "omma" {
		threshold = a.ommaThreshold(x, w, bias)
	}
	flat, test := make([]float64, s.test.rows*x.outputs), s.test.reader()
	for i := range s.test.rows {
		z := flat[i*x.outputs : (i+1)*x.outputs : (i+1)*x.outputs]
		test.scores(z, w, bias, i)
		z[0] -= threshold
		out.scores = append(out.scores, z)
	}
	if on.last && a.data.Task == Binary {
		seen, rows, z := make([]Scored, x.rows), x.reader(), [1]float64{}
		for i := range seen {
			rows.scores(z[:], w, bias, i)
			seen[i] = Scored{Score: z[0] - threshold, Weight: x.weight[i]}
		}
		out.spreads = append(out.spreads, spreadOf(seen))
	}
	return solved, nil
}

// solve trains a batch algorithm on rows, from the given weights or, with nil, from 0. With a
// preconditioner it begins with the given Hessian, if not nil.
func (a *autoFit) solve(x *design, r recipe, iterations int, from []float64, hessian *hessianFactor,
	conditioned bool, precision float64,
) (lbfgsResult, error) {
	if from == nil {
		from = make([]float64, (x.columns+1)*x.outputs)
	}
	weights := x.labelWeights(a.labels(), r.algorithm)
	for k, w := range a.weights {
		weights[k] *= w
	}
	passes := 0
	if conditioned {
		passes = iterations
	}
	p := x.problem(weights, r.lambda/float64(x.rows), passes)
	p.preconditioner.startFrom(hessian)
	return p.solve(from, iterations, precision)
}

// The relative size of the gradient at which batch algorithms end: while candidates are compared,
// and in the last training if its rows fit in memory.
const searchPrecision, lastPrecision = 1e-4, 1e-6

// labelWeights are the weights of the labels for an algorithm.
func (x *design) labelWeights(labels int, algorithm string) []float64 {
	w := make([]float64, labels)
	if algorithm != "logistic-balanced" && algorithm != "softmax-balanced" {
		for k := range w {
			w[k] = 1
		}
		return w
	}
	total := 0.0
	for i, y := range x.truth {
		w[y] += x.weight[i]
		total += x.weight[i]
	}
	for k, v := range w {
		if v > 0 {
			w[k] = total / float64(float64(labels)*v)
		}
	}
	return w
}

// ommaThreshold is the threshold of [runOMMA] on the rows to train on, given a solution by raw.
func (a *autoFit) ommaThreshold(x *design, w, bias []float64) float64 {
	two := a.opt.Measure.(measure.Measure)
	m := newOnlineThreshold(two)
	var z [1]float64
	rows := x.reader()
	for _, i := range random.New(a.opt.Seed, "auto/omma").Perm(x.rows) {
		rows.scores(z[:], w, bias, i)
		m.observe(x.truth[i] == 0, z[0], x.weight[i])
	}
	return m.threshold
}

// decide makes the decisions of a cross-fitted candidate at threshold 0 and, unless the threshold
// is the algorithm's own, at thresholds tuned on the other folds.
func (a *autoFit) decide(out *crossFitted, r recipe, on *comparedOn) {
	n := len(on.truth)
	predict := func(dst []int, from, to int, thresholds []float64) []int {
		for _, z := range out.scores[from:to] {
			dst = append(dst, decision(z, thresholds))
		}
		return dst
	}
	out.plain = a.counted(on, predict(nil, 0, n, make([]float64, len(out.scores[0]))))
	if r.own || r.algorithm == "omma" {
		return
	}
	order := a.tuningOrder(out.scores)
	out.without = nil // of a comparison that was not known to be the last before
	var tuned []int
	for k := range on.folds {
		from, to := on.span(k)
		out.without = append(out.without, a.tune(out.scores, order, on, k))
		tuned = predict(tuned, from, to, out.without[k])
	}
	d := a.counted(on, tuned)
	out.tuned, out.offsets = &d, a.tune(out.scores, order, on, -1)
}

// decision is the label that follows from scores: with one of them 0 if it is above its threshold,
// else 1.
func decision(scores, thresholds []float64) int {
	if len(scores) == 1 {
		if scores[0] > thresholds[0] {
			return 0
		}
		return 1
	}
	best, top := 0, math.Inf(-1)
	for k, z := range scores {
		if v := z - thresholds[k]; v > top {
			best, top = k, v
		}
	}
	return best
}

// labels is the number of labels of the confusion: two with Binary.
func (a *autoFit) labels() int { return a.data.Task.counted(len(a.data.Labels)) }

// counted counts decisions.
func (a *autoFit) counted(on *comparedOn, predicted []int) decided {
	d := decided{predicted: predicted, cells: a.cells(on, predicted, -1)}
	d.value = a.value(a.opt.Measure, d.cells)
	return d
}

// cells is the confusion of decisions of the rows outside a fold; -1 leaves none out.
func (a *autoFit) cells(on *comparedOn, predicted []int, without int) []float64 {
	n := a.labels()
	cells := make([]float64, n*n)
	for i, p := range predicted {
		if on.outside(without, i) {
			cells[on.truth[i]*n+p] += on.weight[i]
		}
	}
	return cells
}

// value is a measure of the cells.
func (a *autoFit) value(m measure.Objective, cells []float64) float64 {
	c := Confusion{Two: measure.Confusion{}}
	if a.data.Task == Binary {
		c.Two = measure.Confusion{TP: cells[0], FN: cells[1], FP: cells[2], TN: cells[3]}
		return c.Value(m)
	}
	c.Classes = a.classes(cells)
	return c.presentValue(m)
}

// classes is the confusion of several classes with the given cells.
func (a *autoFit) classes(cells []float64) measure.MulticlassConfusion {
	n := a.labels()
	c, _ := measure.NewMulticlassConfusion(n) // there are two or more
	for i, w := range cells {
		if w != 0 {
			c.Add(i/n, i%n, w)
		}
	}
	return c
}

// tuningOrder is the order in which tune takes the entries: with two classes by descending scores,
// so that they are sorted once for all folds, of equal ones the first first.
func (a *autoFit) tuningOrder(scores [][]float64) []int32 {
	order := make([]int32, len(scores))
	for i := range order {
		order[i] = int32(i)
	}
	if a.data.Task == Binary {
		slices.SortFunc(order, func(i, j int32) int {
			return cmp.Or(cmp.Compare(scores[j][0], scores[i][0]), cmp.Compare(i, j))
		})
	}
	return order
}

// tune returns the thresholds that are best for the rows outside a fold. Those of several classes
// are the best of a few, and in the last comparison tuned jointly.
func (a *autoFit) tune(scores [][]float64, order []int32, on *comparedOn, without int) []float64 {
	if a.data.Task == Binary {
		scored := make([]Scored, 0, len(scores))
		for _, i := range order {
			if on.outside(without, int(i)) {
				scored = append(scored, Scored{
					Score: scores[i][0], Weight: on.weight[i], Positive: on.truth[i] == 0,
				})
			}
		}
		return []float64{a.steadyThreshold(scored, on.last)}
	}
	rows := classScores{repeats: on.division.repeats}
	for i, z := range scores {
		if on.outside(without, i) {
			rows.add(z, on.truth[i], on.weight[i])
			rows.row = append(rows.row, on.row[i])
		}
	}
	m := a.opt.Measure.(measure.Multi)
	if on.last {
		return jointThresholds(m, &rows, a.labels())
	}
	return shareThresholds(m, &rows, a.labels())
}
