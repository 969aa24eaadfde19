package classify

import (
	"fmt"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
)

// twoClass is the common part of the learners of two classes, which have one output.
type twoClass struct {
	*online
	steps       twoClassStepper
	progressive measure.Confusion // of the scores before each step, since the last NextPass

	hinge  bool           // the reward is the hinge
	plain  bool           // all iterates count the same in the average
	factor [2]classFactor // of positives and of negatives, with known shares and mean weight
}

// classFactor is the factor of a class's examples of one weight.
type classFactor struct{ weight, factor float64 }

// positiveLabel is the list of labels of a positive example of two classes. It is not changed.
var positiveLabel = []int{0}

// labelOf is the list of labels of an example of two classes.
func labelOf(positive bool) []int {
	if positive {
		return positiveLabel
	}
	return nil
}

// twoClassStepper is the part in which the learners of two classes differ.
type twoClassStepper interface {
	// begin is that of [stepper].
	begin()
	// step learns from one example. The counters of online already include it.
	step(x Example) error
}

func newTwoClass(cfg Config, steps twoClassStepper) *twoClass {
	o := &twoClass{steps: steps}
	o.online = newOnline(cfg, o, newLabelChecker(1, false))
	_, o.hinge = cfg.Reward.(loss.Hinge)
	o.plain = cfg.Averaging != AverageNone && cfg.Steps != StepsBetting && cfg.Window == 0
	return o
}

func (o *twoClass) begin() { o.steps.begin() }

// Observe implements [Learner].
func (o *twoClass) Observe(x Example) error {
	if o.failed != nil {
		return o.failed
	}
	if !o.ready {
		return o.observe(LabelsExample{Index: x.Index, Value: x.Value, Labels: labelOf(x.Positive), Weight: x.Weight})
	}
	x, err := o.check(x)
	if err != nil {
		return err
	}
	if x.Weight == 0 {
		o.skipped++
		return nil
	}
	return o.learnRow(x)
}

// trusted returns Observe without its checks, for rows of a data set, which are checked already.
// During the burn-in it is Observe itself.
func (o *twoClass) trusted() func(Example) error {
	if !o.ready {
		return o.Observe
	}
	return o.learnRow
}

// observeRow is Observe for a row of a data set, whose entries are checked but for the dimension.
func (o *twoClass) observeRow(x Example) error {
	limit := o.cfg.Dim
	if limit == 0 {
		limit = o.cfg.MaxDim
	}
	if n := len(x.Index); !o.ready || o.failed != nil || x.Weight == 0 ||
		n > 0 && limit > 0 && int64(x.Index[n-1]) >= int64(limit) {
		return o.Observe(x)
	}
	return o.learnRow(x)
}

func (o *twoClass) learn(x LabelsExample) error {
	return o.learnRow(Example{Index: x.Index, Value: x.Value, Positive: len(x.Labels) > 0, Weight: x.Weight})
}

// learnRow is learn for an example of two classes. It counts without the loop over the outputs, and
// calls follow only where that has something to do.
func (o *twoClass) learnRow(x Example) error {
	if o.cfg.Decay > 0 {
		o.count(labelOf(x.Positive), x.Weight)
	} else {
		if x.Positive {
			o.pos += x.Weight
		} else {
			o.neg += x.Weight
		}
		o.rows++
		o.observed++
	}
	if n := len(x.Index); o.moments != nil || n > 0 && int(x.Index[n-1]) >= o.lin.Dim() {
		o.follow(x.Index, x.Value, x.Weight)
	}
	return o.fail(o.steps.step(x))
}

// NextPass implements [Learner].
func (o *twoClass) NextPass() {
	o.online.NextPass()
	o.progressive = measure.Confusion{}
}

// ResetAverage forgets the past iterates and keeps the current one: the model is then the average
// of the iterates from here on.
func (o *twoClass) ResetAverage() { o.lin.ResetAverage() }

// Score implements [Learner].
func (o *twoClass) Score(index []uint32, value []float32) float64 {
	return o.lin.AverageScore(index, value)
}

// Model implements [Learner].
func (o *twoClass) Model() Linear { return averaged(o.lin) }

// Progressive is the confusion of the predictions made before each step since the last NextPass:
// every example is a test example first (progressive validation, Blum, Kalai and Langford 1999). It
// measures the current iterates, which are worse than their average.
func (o *twoClass) Progressive() measure.Confusion { return o.progressive }

// Seen implements [Learner].
func (o *twoClass) Seen() (positives, negatives float64) { return o.pos, o.neg }

// countPrediction counts the prediction made before a step. It returns an error once the learner
// has diverged.
func (o *twoClass) countPrediction(z float64, positive bool, weight float64) error {
	o.progressive.Add(positive, z > 0, weight)
	return o.checkState(z)
}

// checkState returns an error if the score z or the weights are out of range.
func (o *twoClass) checkState(z float64) error {
	if o.lin.Diverged(z) {
		return o.diverged(fmt.Sprintf("step %d", o.t), z)
	}
	return nil
}

// weighedFactor is the factor ω/ω̄/q of an example's gradient, at most MaxExampleWeight.
func (o *twoClass) weighedFactor(positive bool, weight float64) float64 {
	if o.cfg.Positives == 0 || o.cfg.MeanWeight == 0 {
		return o.capped(o.relativeWeight(weight) / o.shareOf(positive))
	}
	known := &o.factor[0]
	if !positive {
		known = &o.factor[1]
	}
	if known.weight != weight {
		known.weight, known.factor = weight, o.capped(weight/o.cfg.MeanWeight/o.shareOf(positive))
	}
	return known.factor
}

// rewards returns the reward of a margin and its derivative. The usual one, the hinge, is called
// without an interface, so that the compiler can inline it.
func (o *twoClass) rewards(m float64) (r, dr float64) {
	if o.hinge {
		return loss.Hinge{}.Value(m), loss.Hinge{}.Derivative(m)
	}
	return o.cfg.Reward.Value(m), o.cfg.Reward.Derivative(m)
}

// accumulateRow is accumulate for the one output, decided in advance where all iterates count the
// same.
func (o *twoClass) accumulateRow() {
	if o.plain {
		o.lin.Accumulate(1)
		return
	}
	o.accumulate()
}

// ascendRow is ascend in the direction of the label. It returns an error once the learner has
// diverged.
func (o *twoClass) ascendRow(x Example, d oco.RowProducts, eta, factor float64) error {
	if factor == 0 && o.cfg.Lambda == 0 {
		return nil // nothing moves
	}
	if !x.Positive {
		factor = -factor
	}
	o.ascend(o.lin, x.Index, x.Value, &d, eta, factor)
	return o.checkState(o.lin.Bias())
}
