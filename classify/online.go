package classify

import (
	"encoding"
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/oco"
)

// Learner learns a linear classifier one example at a time. A learner is deterministic: the same
// examples in the same order give the same model, bit for bit. It is not safe for concurrent use.
// Observe costs O(nnz) time, with adaptive steps also O(number of centred columns), and after the
// first examples allocates nothing.
type Learner interface {
	// Observe learns from one example. A bad one (an index out of range or repeated, a value or
	// weight that is not finite, a negative weight) is refused with an error of code bad_input and
	// leaves the learner as it was. An error of code diverged ends the learner's use.
	Observe(x Example) error
	// ResetAverage makes the model the average of the iterates from here on.
	ResetAverage()
	// NextPass tells the learner that a pass over the data has ended.
	NextPass()
	// Finish ends the stream: a learner still holding back its first examples learns from them.
	// Call it before Model when the stream may have been shorter than the burn-in.
	Finish() error
	// Score is the score of a row under the averaged model, in O(nnz); 0 during the burn-in.
	Score(index []uint32, value []float32) float64
	// Model is the averaged model on raw features. O(d).
	Model() Linear
	// Snapshots: state to and from bytes; continuing after a restore is bit-identical.
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
	// Progressive is the confusion of the predictions made before each step of the running pass.
	Progressive() measure.Confusion
	// Seen reports the weight of the positive and of the negative examples learned from. A model
	// of a stream that lacked one class is of little use; check here.
	Seen() (positives, negatives float64)
}

// stepper is the part in which learners differ.
type stepper interface {
	// begin is called once when the scales are known, before the first step.
	begin()
	// count counts the labels of an example, in the counters of online and its own.
	count(labels []int, weight float64)
	// learn counts a valid example of positive weight and makes its step.
	learn(x LabelsExample) error
}

// online is the common part of all learners: validation, burn-in, class counts, step scale, and one
// descent for each label. Two classes have one label, the positive one.
type online struct {
	cfg     Config
	checker labelChecker
	lins    []*oco.LinearDescent // of each label
	lin     *oco.LinearDescent   // the first of lins
	algo    stepper
	// unsettled says that algo needs a burn-in even if the scales are known.
	unsettled bool

	pos, neg   float64 // weight of the pairs of example and label so far, those with it and without
	rows       float64 // number of examples of positive weight, discounted as pos and neg are
	observed   int64   // number of examples of positive weight
	before     int64   // number of examples before the learner's start, for errors
	t          int64   // steps taken
	meanSquare float64
	rate       float64 // of adaptive steps
	share      float64 // the share of positives from which the step sizes are computed
	gain       float64 // the weight of the current iterate in a discounted average
	ready      bool
	buffer     []LabelsExample // held back until ready
	moments    *moments        // of the stream, while scales are learned
	sorted     Example         // scratch
	skipped    int64           // examples of weight 0
	failed     error
}

// newOnline returns the common part of a learner of the labels that checker accepts.
func newOnline(cfg Config, algo stepper, checker labelChecker) *online {
	o := &online{cfg: cfg, algo: algo, checker: checker, rate: cfg.Step}
	for range checker.marks {
		o.lins = append(o.lins, newDescent(&cfg))
	}
	o.lin = o.lins[0]
	if o.rate == 0 {
		o.rate = cfg.StepScale * adaptiveRate
	}
	if cfg.Scaling == nil || cfg.MeanSquare == 0 {
		o.moments = new(moments)
	}
	return o
}

// open starts the learner at once if no burn-in is needed.
func (o *online) open() {
	if o.moments == nil && !o.unsettled {
		o.start()
	}
}

// start freezes the scales and starts the learner.
func (o *online) start() {
	o.freezeScales()
	o.freezeShare()
	o.algo.begin()
}

// freezeScales fixes the scaling of the outputs and the mean square, those of the options or those
// that were observed.
func (o *online) freezeScales() {
	s := o.cfg.Scaling
	if s == nil {
		s = o.moments.scaling(o.cfg.Dim, o.cfg.BiasFeature != 0)
	}
	for _, l := range o.lins {
		l.Standardize(s.Center, s.Inverse)
	}
	o.meanSquare = o.cfg.MeanSquare
	if o.meanSquare == 0 {
		o.meanSquare = o.moments.meanSquare(s, o.cfg.BiasFeature)
	}
	if o.meanSquare == 0 {
		o.meanSquare = 1 // only empty rows and no intercept: any step size will do
	}
	if o.cfg.Scaling != nil {
		o.moments = nil
	}
	o.ready = true
}

// freezeShare fixes the share of positives from which the step sizes are computed: the known one,
// or that of the burn-in with the prior and half an example added to each class.
func (o *online) freezeShare() {
	o.share = o.cfg.Positives
	if o.share == 0 {
		w, prior := o.rowWeight(), o.cfg.PriorWeight
		o.share = (o.pos + float64(0.5*w) + float64(prior*o.cfg.PriorShare)) / (o.pos + o.neg + w + prior)
	}
}

// observe learns from one example.
func (o *online) observe(x LabelsExample) error {
	if o.failed != nil {
		return o.failed
	}
	if err := o.checker.mark(x.Labels, o.rows); err != nil {
		return err
	}
	row, err := o.check(Example{Index: x.Index, Value: x.Value, Weight: x.Weight})
	if err != nil {
		return err
	}
	x.Index, x.Value = row.Index, row.Value
	switch {
	case x.Weight == 0:
		o.skipped++
		return nil
	case !o.ready:
		return o.holdBack(x)
	}
	return o.algo.learn(x)
}

// rowWeight is the mean example weight so far, 1 before the first.
func (o *online) rowWeight() float64 {
	if o.rows == 0 {
		return 1
	}
	return (o.pos + o.neg) / o.rows
}

// maxWeight is the largest example weight: sums of weights and their squares stay finite.
const maxWeight = 1e100

// check returns x with its entries in ascending order, or an error for a bad example.
func (o *online) check(x Example) (Example, error) {
	bad := func(j int, format string, args ...any) (Example, error) {
		number := o.before + int64(o.rows) + 1
		if o.cfg.Decay > 0 {
			number = o.before + o.observed + 1
		}
		place := fmt.Sprintf("example %d", number)
		if j >= 0 {
			place += fmt.Sprintf(", entry %d", j)
		}
		return x, noregret.BadInputf(place, format, args...)
	}
	if len(x.Index) != len(x.Value) {
		return bad(-1, "%d indices and %d values, want the same number", len(x.Index), len(x.Value))
	}
	if !(x.Weight >= 0) || math.IsInf(x.Weight, 0) {
		return bad(-1, "weight is %v, want a finite number ≥ 0", x.Weight)
	}
	if x.Weight > maxWeight {
		return bad(-1, "weight is %v, want at most %v", x.Weight, maxWeight)
	}
	ascending := true
	for j, v := range x.Value {
		if v-v != 0 { // NaN or ±Inf
			return bad(j, "value is %v, want a finite number", v)
		}
		if i := int64(x.Index[j]); o.cfg.Dim > 0 && i >= int64(o.cfg.Dim) {
			return bad(j, "index is %d, want one below the dimension %d", i, o.cfg.Dim)
		} else if o.cfg.Dim == 0 && o.cfg.MaxDim > 0 && i >= int64(o.cfg.MaxDim) {
			return bad(j, "index is %d, want one below the largest dimension %d", i, o.cfg.MaxDim)
		}
		if j > 0 && x.Index[j] <= x.Index[j-1] {
			ascending = false
		}
	}
	if ascending {
		return x, nil
	}
	return o.sort(x, bad)
}

// sort orders the entries of x in scratch memory. It returns an error for repeated indices.
func (o *online) sort(x Example, bad func(int, string, ...any) (Example, error)) (Example, error) {
	order := make([]int, len(x.Index))
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(x.Index[a]) - int(x.Index[b]) })
	s := &o.sorted
	s.Index, s.Value = s.Index[:0], s.Value[:0]
	for k, j := range order {
		if k > 0 && x.Index[j] == x.Index[order[k-1]] {
			return bad(j, "index %d appears twice, want each at most once", x.Index[j])
		}
		s.Index = append(s.Index, x.Index[j])
		s.Value = append(s.Value, x.Value[j])
	}
	x.Index, x.Value = s.Index, s.Value
	return x, nil
}

// holdBack stores an example of the burn-in and starts the learner when there are enough.
func (o *online) holdBack(x LabelsExample) error {
	if o.moments != nil {
		o.moments.observe(x.Index, x.Value, x.Weight)
	}
	o.buffer = append(o.buffer, LabelsExample{
		Index: slices.Clone(x.Index), Value: slices.Clone(x.Value), Labels: slices.Clone(x.Labels), Weight: x.Weight,
	})
	o.algo.count(x.Labels, x.Weight)
	n := len(o.buffer)
	if n >= o.cfg.BurnIn || burnInShare*n >= o.cfg.BurnIn && o.fewestHeld() >= 5 {
		return o.release()
	}
	return nil
}

// burnInShare says after what part of Config.BurnIn, one over it, a burn-in may end.
const burnInShare = 5

// fewestHeld is the number of examples held back of the rarest class, or of pairs of example and
// label of the rarer kind.
func (o *online) fewestHeld() int {
	labels := len(o.lins)
	if !o.checker.exclusive {
		var has, lacks int
		for i := range o.buffer {
			has += len(o.buffer[i].Labels)
			lacks += labels - len(o.buffer[i].Labels)
		}
		return min(has, lacks)
	}
	n := make([]int, labels)
	for i := range o.buffer {
		n[o.buffer[i].Labels[0]]++
	}
	return slices.Min(n)
}

// release starts the learner and replays the examples held back.
func (o *online) release() error {
	held := o.buffer
	o.buffer = nil
	o.start()
	o.pos, o.neg, o.rows, o.observed = 0, 0, 0, 0
	following := o.moments
	o.moments = nil // they already include the examples held back
	defer func() { o.moments = following }()
	for _, x := range held {
		if err := o.algo.learn(x); err != nil {
			return err
		}
	}
	return nil
}

// count counts the pairs of an example and the labels.
func (o *online) count(labels []int, weight float64) {
	if keep := 1 - o.cfg.Decay; keep < 1 {
		o.pos *= keep
		o.neg *= keep
		o.rows *= keep
	}
	for k := range o.lins {
		if hasLabel(labels, k) {
			o.pos += weight
		} else {
			o.neg += weight
		}
	}
	o.rows++
	o.observed++
}

// follow grows the outputs to the features of a row and keeps learning the scales of features that
// are not centred: those that are sparse or did not occur in the burn-in (see [Scaling]). The
// weights are rescaled with them, so that the function they compute does not change.
func (o *online) follow(index []uint32, value []float32, weight float64) {
	dim := 0
	if n := len(index); n > 0 {
		dim = int(index[n-1]) + 1
	}
	if dim > o.lin.Dim() {
		for _, l := range o.lins {
			l.Grow(dim)
		}
	}
	m := o.moments
	if m == nil {
		return
	}
	m.total += weight
	m.reach(dim)
	value = value[:len(index)]
	for j, i := range index {
		x := float64(value[j])
		if x == 0 || o.lin.Centred(i) {
			continue
		}
		f := &m.f[i]
		before := f.weight
		f.add(x, weight)
		if inverse, _ := o.lin.Standard(int(i)); sameStep(before, f.weight) && math.Abs(x)*inverse <= surprising {
			continue
		}
		if inverse := m.sparseInverse(f); !math.IsInf(inverse, 0) {
			for _, l := range o.lins {
				l.Rescale(i, inverse)
			}
		}
	}
}

// surprising is the size, in scaled units, of a value that changes a scale at once. Values of a
// usual size are below 6, as a feature's share counts as 1/1000 at least.
const surprising = 16

// sameStep reports whether two weights lie on the same of 32 steps between a power of two and the
// next one. A scale that is set anew once a step costs a feature O(log n) square roots in n rows.
func sameStep(a, b float64) bool { return math.Float64bits(a)>>47 == math.Float64bits(b)>>47 }

// fail ends the use of the learner if err is not nil.
func (o *online) fail(err error) error {
	if err != nil {
		o.failed = err
	}
	return err
}

// NextPass tells the learner that a pass over the data has ended.
func (o *online) NextPass() {
	for _, l := range o.lins {
		l.Refresh()
		if o.cfg.Averaging == AverageLastPass {
			l.ResetAverage()
		}
	}
}

// Finish ends the stream: a learner still holding back its first examples learns from them.
func (o *online) Finish() error {
	if o.failed != nil {
		return o.failed
	}
	if !o.ready && len(o.buffer) > 0 {
		return o.release()
	}
	if o.rows == 0 && o.skipped > 0 {
		return noregret.BadInputf("", "all %d examples have weight 0: there is nothing to learn from", o.skipped)
	}
	return nil
}

// shares are the shares of the two classes, known or running.
func (o *online) shares() (p, n float64) { return o.shareOf(true), o.shareOf(false) }

// shareOf is the share of one class. That of the negatives is not computed from the other, since
// 1 - p may round to 0.
func (o *online) shareOf(positive bool) float64 {
	c := &o.cfg
	if p := c.Positives; p > 0 {
		if positive {
			return p
		}
		return 1 - p
	}
	weight, prior := o.pos, c.PriorShare
	if !positive {
		weight, prior = o.neg, 1-c.PriorShare
	}
	share := (weight + float64(c.PriorWeight*prior)) / (o.pos + o.neg + c.PriorWeight)
	if c.Decay > 0 {
		return max(share, minDecayedShare)
	}
	return share
}

// minDecayedShare is the smallest class share with a Decay.
const minDecayedShare = 1e-6

// relativeWeight is ω/ω̄.
func (o *online) relativeWeight(weight float64) float64 {
	if o.cfg.MeanWeight > 0 {
		return weight / o.cfg.MeanWeight
	}
	return weight / o.rowWeight()
}

// capped applies MaxExampleWeight to the factor of an example's gradient.
func (o *online) capped(factor float64) float64 {
	if c := o.cfg.MaxExampleWeight; c > 0 {
		return min(factor, c)
	}
	return factor
}

// accumulate adds the current iterates to the averages.
func (o *online) accumulate() {
	c := &o.cfg
	for _, l := range o.lins {
		switch {
		case c.Averaging == AverageNone:
		case c.Steps == StepsBetting:
			l.AccumulateRising()
		case c.Window > 0:
			l.Accumulate(o.gain)
		default:
			l.Accumulate(1)
		}
	}
}

// stepSize is the default η₀ of base/m̄₂, scaled, unless an absolute one is given.
func (o *online) stepSize(base float64) float64 {
	if o.cfg.Step > 0 {
		return o.cfg.Step
	}
	return o.cfg.StepScale * base / o.meanSquare
}

// ascend moves output l, whose products with the row are d, by η·factor·x̂ after the decay of the
// regularisation, or by the adaptive step or the bets in that direction.
func (o *online) ascend(
	l *oco.LinearDescent, index []uint32, value []float32, d *oco.RowProducts, eta, factor float64,
) {
	switch {
	case !o.cfg.Steps.perWeight():
		if lambda := o.cfg.Lambda; lambda > 0 {
			l.Decay(1-float64(eta*lambda), d)
		}
		if c := float64(eta * factor); c != 0 {
			l.Step(index, value, *d, c)
		}
	case factor == 0:
	case o.cfg.Steps == StepsBetting:
		l.BettingStep(index, value, factor, bettingWealth)
	default:
		if o.cfg.Window > 0 {
			factor *= math.Sqrt(o.gain)
		}
		l.AdaptiveStep(index, value, factor, o.rate)
	}
}

// diverged returns the error of a learner whose score z or weights are out of range.
func (o *online) diverged(place string, z float64) error {
	if o.cfg.Steps == StepsBetting {
		return noregret.Errorf(noregret.Diverged, place, "the score is %v: diverged; choose another schedule of steps",
			z)
	}
	return noregret.Errorf(noregret.Diverged, place, "the score is %v: diverged; lower the step scale (now %v)", z,
		o.cfg.StepScale)
}
