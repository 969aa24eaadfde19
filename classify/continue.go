package classify

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/oco"
)

// Continuation goes on with the training of a [Model], one labelled row at a time: each makes a
// step of the model's algorithm, from the model's weights and scaling and with the step sizes that
// follow those of training. It is deterministic and not safe for concurrent use.
//
// A model file has the weights of training, not the state of the learner. What is missing (the mean
// square of a row, the sums of squared gradients of adaptive steps, SPADE's dual point) is
// estimated by the first rows: these are held back, 1,000 at most, or as soon as there are 200 with
// 5 of each class, while the model stays as it is. Then the learner learns from them, too. STAMP
// begins an epoch with the level that was reached in training; its stages have a quarter of the
// examples of training. The threshold stays.
//
// A row far larger than those held back would ruin the model, whatever its label: it is skipped.
// Its size is ‖x̂‖², of the scaled features; more than 900 times (30 in length) the size that nine
// of ten rows held back do not exceed is far.
type Continuation struct {
	model   *Model
	fit     resolved
	config  Config // without MeanSquare
	before  int64  // examples of the training
	checker *twoClass
	base    Linear // of the model

	held    []Example
	square  float64  // MeanSquare; 0 until the learner starts
	limit   float64  // the largest size that is learned from
	skipped int64    // rows that were larger
	learner Learner  // nil until it starts
	rows    [2]int64 // learned from or held back: negative and positive ones
	mapped  Example  // scratch
}

// The burn-in of a [Continuation].
const (
	mostHeld  = 1000
	leastHeld = 200
)

// farSize is the size of a row that is skipped, relative to that of nine of ten rows.
const farSize = 900

// Continue makes a continuation of a model. It fails with an error of code usage and the place
// "algorithm" that says why if the model cannot learn from single rows: its algorithm is none of
// spade, stamp and sgd-*, it bets (its past is not in the model), it is private, or its learner is
// one that restarts.
func Continue(m *Model) (*Continuation, error) {
	refuse := func(format string, args ...any) error {
		return noregret.Errorf(noregret.Usage, "algorithm", format, args...)
	}
	if m.Privacy != nil {
		return nil, refuse("the model is private: further rows would need a budget")
	}
	if m.Task != Binary {
		return nil, refuse("the model is of %d labels, and only models of two classes learn from single rows",
			len(m.Labels))
	}
	a := algorithmOf(Binary, m.Algorithm)
	if a == nil || a.learner == nil {
		return nil, refuse("%s learns from all rows at once, not from single ones: train with %s", m.Algorithm,
			streamLearners())
	}
	opt := m.Options.Options
	opt.Algorithm = m.Algorithm
	var err error
	if opt.Measure, err = m.ParsedMeasure(); err != nil {
		return nil, err
	}
	if err := opt.ClassWeights.refuse("class weights are not carried on to single rows"); err != nil {
		return nil, err
	}
	c := &Continuation{model: m, base: m.Models[0].linear(), before: 1}
	if c.fit, err = opt.resolve(Binary); err != nil {
		return nil, err
	}
	c.config = c.fit.learner
	switch d := c.fit.Drift; {
	case c.config.Steps == StepsBetting:
		return nil, refuse("the model was trained by coin betting: bets depend on a past that a model does not keep")
	case d.Kind == forget.Discount:
		c.config.Window = windowOf(d)
	case d.Kind != forget.None:
		return nil, refuse("the model was trained with drift %s, which starts anew: train with memory=N", driftText(d))
	}
	if h := m.Training.History; len(h) > 0 {
		c.before = max(1, h[m.Training.Chosen].Examples)
	}
	c.config.Dim, c.config.Scaling = max(m.Features(), 1), m.featureScaling()
	c.config.BiasFeature, c.config.NoIntercept = opt.Config.BiasFeature, opt.Config.BiasFeature == 0
	if l := m.Data.Train.Labels; len(l) == 2 && l[0].Weight > 0 && l[1].Weight > 0 {
		c.config.Positives = l[0].Weight / (l[0].Weight + l[1].Weight)
		c.config.MeanWeight = (l[0].Weight + l[1].Weight) / float64(m.Data.Train.Rows)
	}
	_, c.checker, err = c.newLearner(1)
	return c, err
}

// featureScaling returns the scaling of the features of the linear models in full.
func (m *Model) featureScaling() *Scaling {
	s := Identity(max(m.Features(), 1))
	if m.Scaling != nil {
		for j, i := range m.Scaling.Index {
			s.Center[i], s.Inverse[i] = m.Scaling.Center[j], m.Scaling.Inverse[j]
		}
	}
	return s
}

// newLearner returns a learner with the model's weights that has made no step.
func (c *Continuation) newLearner(square float64) (Learner, *twoClass, error) {
	cfg := c.config
	cfg.MeanSquare = square
	l, err := c.fit.alg.learner(&c.fit, cfg)
	if err != nil {
		return nil, nil, err
	}
	two := l.(interface{ two() *twoClass }).two()
	if l, ok := l.(*STAMP); ok {
		l.setLevel(c.level())
		l.stage = int(min(l.longestStage(), max(float64(l.stage), float64(c.before/4))))
	}
	two.lin.Assign(c.base.Weights, c.base.Intercept)
	two.lin.ResetAverage()
	two.t = c.before
	return l, two, nil
}

// level is the value of the measure that training reached, in [0, 1].
func (c *Continuation) level() float64 {
	v, ok := c.model.HoldoutValue()
	if !ok {
		v = firstLevel
		if h := c.model.Training.History; len(h) > 0 && h[c.model.Training.Chosen].Progressive != nil {
			v = *h[c.model.Training.Chosen].Progressive
		}
	}
	return min(max(v, 0), 1)
}

// Observe learns from a labelled row of the model's schema. A bad one is refused with an error of
// code bad_input and changes nothing. An error of code diverged ends the use.
func (c *Continuation) Observe(x Example) error {
	x, err := c.features(x)
	if err != nil || x.Weight == 0 {
		return err
	}
	if c.learner != nil {
		if c.size(x) > c.limit {
			c.skipped++
			return nil
		}
		err = c.learner.Observe(x)
	} else {
		x.Index, x.Value = slices.Clone(x.Index), slices.Clone(x.Value)
		c.held = append(c.held, x)
	}
	if err != nil {
		return err
	}
	c.rows[classOf(x)]++
	if n := len(c.held); n >= mostHeld || n >= leastHeld && min(c.rows[0], c.rows[1]) >= 5 {
		return c.start()
	}
	return nil
}

// features checks a row and returns it in the features of the linear models.
func (c *Continuation) features(x Example) (Example, error) {
	x, err := c.checker.check(x)
	if err != nil || c.model.Transform == nil {
		return x, err
	}
	if n := len(x.Index); n > 0 && int(x.Index[n-1]) >= c.model.Dim() {
		return x, noregret.BadInputf("", "index is %d, want one below the dimension %d", x.Index[n-1], c.model.Dim())
	}
	c.mapped.Index, c.mapped.Value = c.model.Transform.Apply(x.Index, x.Value, c.mapped.Index[:0], c.mapped.Value[:0])
	x.Index, x.Value = c.mapped.Index, c.mapped.Value
	return x, nil
}

// size is ‖x̂‖² of a row, but for what rows without values have, too.
func (c *Continuation) size(x Example) float64 {
	s, sum := c.config.Scaling, 0.0
	for j, i := range x.Index {
		center, inverse := 0.0, 1.0
		if int(i) < len(s.Inverse) {
			center, inverse = s.Center[i], s.Inverse[i]
		}
		z := (float64(x.Value[j]) - center) * inverse
		sum += float64(z * z)
	}
	return sum
}

// setLimit sets the largest size that is learned from, and drops the rows held back that are
// larger.
func (c *Continuation) setLimit() {
	sizes := make([]float64, len(c.held))
	for i, x := range c.held {
		sizes[i] = c.size(x)
	}
	slices.Sort(sizes)
	if c.limit = farSize * sizes[len(sizes)*9/10]; c.limit == 0 {
		c.limit = math.MaxFloat64
	}
	c.held = slices.DeleteFunc(c.held, func(x Example) bool {
		far := c.size(x) > c.limit
		if far {
			c.skipped++
			c.rows[classOf(x)]--
		}
		return far
	})
}

// classOf is 1 for a positive example, otherwise 0.
func classOf(x Example) int {
	if x.Positive {
		return 1
	}
	return 0
}

// start makes the learner and passes the rows held back to it.
func (c *Continuation) start() error {
	c.setLimit()
	var m moments
	for _, x := range c.held {
		m.observe(x.Index, x.Value, x.Weight)
	}
	bias := c.config.BiasFeature
	if c.square = m.meanSquare(c.config.Scaling, bias); c.square == 0 {
		c.square = 1
	}
	l, two, err := c.newLearner(c.square)
	if err != nil {
		return err
	}
	if two.cfg.Steps == StepsAdaptive {
		if err := c.setSquares(two); err != nil {
			return err
		}
	}
	if l, ok := l.(*SPADE); ok {
		c.setDual(l)
	}
	c.learner = l
	held := c.held
	c.held = nil
	for _, x := range held {
		if err := l.Observe(x); err != nil {
			return err
		}
	}
	return nil
}

// standing is a rate at which weights do not move.
const standing = 1e-300

// setSquares gives adaptive steps the sums of squares that the steps of training would have at the
// model's weights: those of the rows held back, times the number of steps for each of them.
func (c *Continuation) setSquares(two *twoClass) error {
	config := c.config
	c.config.Step = standing
	l, probe, err := c.newLearner(c.square)
	c.config = config
	if err != nil {
		return err
	}
	for _, x := range c.held {
		if err := l.Observe(x); err != nil {
			return err
		}
	}
	factor := float64(c.before) / float64(len(c.held))
	seen, state := probe.lin.State(), two.lin.State()
	state.Squares = make([]float64, len(state.V))
	for i, q := range seen.Squares {
		state.Squares[i] = factor * q
	}
	state.BiasSquares = factor * seen.BiasSquares
	lin, err := oco.RestoreLinearDescent(state)
	if err != nil {
		return err
	}
	two.lin, two.lins[0] = lin, lin
	return nil
}

// setDual sets SPADE's dual to the point for the mean rewards of the rows held back.
func (c *Continuation) setDual(l *SPADE) {
	var sums, n [2]float64
	for _, x := range c.held {
		margin, k := c.base.Score(x.Index, x.Value), 1
		if !x.Positive {
			margin, k = -margin, 0
		}
		sums[k] += l.opt.DualReward.of(margin, l.opt.Reward.Value(margin))
		n[k]++
	}
	d := solveDual(l.opt.Measure, sums[1]/max(n[1], 1), sums[0]/max(n[0], 1), DualPoint{Alpha: l.alpha, Beta: l.beta})
	l.alpha, l.beta = d.Alpha, d.Beta
}

// Learned returns the number of rows that were learned from, and of those held back.
func (c *Continuation) Learned() (learned, held int64) {
	held = int64(len(c.held))
	return c.rows[0] + c.rows[1] - held, held
}

// Skipped returns the number of rows that were not learned from, as they were too large. Those held
// back are not judged yet.
func (c *Continuation) Skipped() int64 { return c.skipped }

// Score returns the score of a row of the model's schema. O(nnz).
func (c *Continuation) Score(index []uint32, value []float32) float64 {
	if c.model.Transform != nil {
		index, value = c.model.Transform.Apply(index, value, nil, nil)
	}
	if c.learner == nil {
		return c.base.Score(index, value)
	}
	return c.learner.Score(index, value)
}

// Model returns the model of the rows so far. Its figures are gone, as they are those of the model
// before, and a warning says that its calibration and its data are. O(d).
func (c *Continuation) Model() (*Model, error) {
	learned, _ := c.Learned()
	out := *c.model
	if learned == 0 {
		return &out, nil
	}
	lin := c.learner.Model()
	if n := c.model.Features(); len(lin.Weights) > n {
		lin.Weights = lin.Weights[:n]
	}
	w, err := sparseWeights(lin.Weights)
	if err != nil {
		return nil, err
	}
	threshold := c.base.Threshold
	out.Models = []ModelLinear{{Weights: w, Intercept: lin.Intercept, Threshold: threshold}}
	out.Shard, out.Figures, out.Search = nil, nil, nil
	out.Warnings = append(slices.Clone(out.Warnings), fmt.Sprintf("learned from %d more rows, one by one: the data, "+
		"the options and the calibration are those of the training before", learned))
	last := HistoryEntry{
		Candidate: fmt.Sprintf("%d more rows", learned), Examples: c.before + learned, Threshold: threshold,
	}
	if h := c.model.Training.History; len(h) > 0 {
		last.StepScale = h[c.model.Training.Chosen].StepScale
	}
	out.Training.History = append(slices.Clone(out.Training.History), last)
	out.Training.Chosen = len(out.Training.History) - 1
	return &out, out.Validate()
}

// continuationState is the whole state of a continuation.
type continuationState struct {
	Held                []Example
	Negatives, Positive int64
	Square, Limit       float64
	Skipped             int64
	Learner             []byte
}

// kind identifies the model in a snapshot.
func (c *Continuation) kind() (string, error) {
	sum, err := c.model.Checksum()
	return "continuation of " + sum, err
}

// MarshalBinary implements [encoding.BinaryMarshaler]: the whole state, but not the model.
// Continuing after UnmarshalBinary into a continuation of the same model is bit-identical.
func (c *Continuation) MarshalBinary() ([]byte, error) {
	kind, err := c.kind()
	if err != nil {
		return nil, err
	}
	s := continuationState{
		Held: c.held, Negatives: c.rows[0], Positive: c.rows[1], Square: c.square, Limit: c.limit, Skipped: c.skipped,
	}
	if c.learner != nil {
		if s.Learner, err = c.learner.MarshalBinary(); err != nil {
			return nil, err
		}
	}
	return seal(kind, s)
}

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]. A snapshot that is damaged or of another
// model is refused with an error of code bad_input, and the continuation is as it was.
func (c *Continuation) UnmarshalBinary(data []byte) error {
	kind, err := c.kind()
	if err != nil {
		return err
	}
	var s continuationState
	if err := unseal(data, kind, &s); err != nil {
		return err
	}
	if s.Negatives < 0 || s.Positive < 0 || math.IsNaN(s.Square) || s.Square < 0 || math.IsInf(s.Square, 0) ||
		len(s.Held) >= mostHeld || len(s.Held) > 0 && int64(len(s.Held)) != s.Negatives+s.Positive ||
		(s.Learner == nil) != (s.Square == 0) || (s.Learner == nil) != (s.Limit == 0) || !(s.Limit >= 0) ||
		s.Skipped < 0 {
		return badSnapshot("damaged: %d rows are held back of %d and %d", len(s.Held), s.Negatives, s.Positive)
	}
	for _, x := range s.Held {
		if _, err := c.checker.check(x); err != nil || x.Weight == 0 {
			return badSnapshot("damaged: a row that was held back is not valid: %v", err)
		}
	}
	var l Learner
	if s.Learner != nil {
		if l, _, err = c.newLearner(s.Square); err != nil {
			return err
		}
		if err := l.UnmarshalBinary(s.Learner); err != nil {
			return err
		}
	}
	c.held, c.rows, c.square, c.learner = s.Held, [2]int64{s.Negatives, s.Positive}, s.Square, l
	c.limit, c.skipped = s.Limit, s.Skipped
	return nil
}

// two returns the common part of a learner of two classes.
func (o *twoClass) two() *twoClass { return o }
