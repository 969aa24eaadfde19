package offpolicy

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/internal/compensated"
	"github.com/noregret/noregret/internal/vec"
)

// EvaluatorOptions describe the rewards and set the estimators. Begin with
// [DefaultEvaluatorOptions].
type EvaluatorOptions struct {
	// Arms is the number of arms, at least 1.
	Arms int
	// Low and High are the range of the rewards, finite, Low < High. Rows outside are refused.
	Low, High float64
	// MaxWeight bounds π(a)/p(a), at least 1, or +Inf if no bound is known. It must be known before
	// the rows are seen. Rows above it are refused. No interval needs it. It makes those of
	// SelfNormalized and DoublyRobust narrower, as Row.Propensities do, which bound the row's own
	// weight.
	MaxWeight float64
	// Rows is the number of rows for which the intervals at one look are to be the narrowest, 0 if
	// it is not known. They hold for every number of rows.
	Rows int64
	// Clip is M, the largest weight of [Clipped], finite and above 0.
	Clip float64
	// Switch is τ, the weight above which [Switch] uses the prediction alone, finite and above 0.
	Switch float64
}

// DefaultEvaluatorOptions are for rewards in [0, 1] and weights without a known bound; Clip and
// Switch are 10.
func DefaultEvaluatorOptions(arms int) EvaluatorOptions {
	return EvaluatorOptions{Arms: arms, Low: 0, High: 1, MaxWeight: math.Inf(1), Clip: 10, Switch: 10}
}

func (o EvaluatorOptions) check() error {
	switch {
	case o.Arms < 1:
		return noregret.BadInputf("arms", "%d: at least 1 is required", o.Arms)
	case !vec.IsFinite(o.Low) || !vec.IsFinite(o.High) || !(o.Low < o.High) || !vec.IsFinite(o.High-o.Low):
		return noregret.BadInputf("range", "[%v, %v]: two finite numbers in increasing order are required", o.Low,
			o.High)
	case !(o.MaxWeight >= 1):
		return noregret.BadInputf("max weight", "%v: at least 1 is required", o.MaxWeight)
	case !(o.Clip > 0) || !vec.IsFinite(o.Clip):
		return noregret.BadInputf("clip", "%v: a finite number above 0 is required", o.Clip)
	case !(o.Switch > 0) || !vec.IsFinite(o.Switch):
		return noregret.BadInputf("switch", "%v: a finite number above 0 is required", o.Switch)
	}
	return nil
}

// shrinkages are the λ among which [Shrinkage] chooses, beside +Inf: from the largest to the
// smallest, so that the variance falls and the bias grows.
var shrinkages = [...]float64{1e6, 1e5, 1e4, 1e3, 300, 100, 30, 10, 3, 1, 0.3, 0}

// terms are the sums of one estimator's terms.
type terms struct {
	sum compensated.Sum
	seq confseq.Sequence
}

func (t *terms) add(x float64) {
	t.sum.Add(x)
	// The error is of terms that are not finite, which Add of the evaluator has excluded.
	_ = t.seq.Add(x)
}

func (t *terms) mean() float64 { return t.sum.Value() / float64(t.seq.N) }

// shrunkTerms are the terms of [Shrinkage] for one λ, and their differences from those of
// [DoublyRobust].
type shrunkTerms struct {
	terms
	bias   confseq.Sequence
	weight float64 // Σ of the shrunk weights
}

// bettors bound the value from below, and the mean of one minus the reward from below: for one look
// and for all times. Rewards are scaled to [0, 1].
type bettors struct{ low, high [2]confseq.Betting }

func (b *bettors) init(rows int64) { b.low[0].Rows, b.high[0].Rows = rows, rows }

// add adds terms whose means are at most the value and at most one minus it, and which are at least
// −floor.
func (b *bettors) add(low, lowFloor, high, highFloor float64) {
	for k := range b.low {
		b.low[k].Add(low, lowFloor)
		b.high[k].Add(high, highFloor)
	}
}

// Evaluator estimates the value of a target policy from logged rows. Make one with [NewEvaluator].
// It keeps sums only: some hundred numbers per estimator, and some per arm for the predictions.
type Evaluator struct {
	o         EvaluatorOptions
	weight    terms
	squares   compensated.Sum // Σ w²
	ips       terms
	ratio     confseq.Pair // w·r and w
	clipped   terms
	robust    terms
	switching terms
	shrunk    [len(shrinkages)]shrunkTerms
	direct    terms // of given predictions
	given     int64 // rows with given predictions
	// The bettors of the terms w·r, min(w, M)·r, of Switch, and with the predictions of
	// DoublyRobust and of SelfNormalized as control variates.
	bets struct{ plain, clipped, switching, robust, ratio bettors }

	total  compensated.Sum // Σ r
	arms   []confseq.Sequence
	target []compensated.Sum // Σ π(a) by arm
	model  []float64         // predictions of the arm means, reused
}

// NewEvaluator returns an evaluator without rows. It returns an error of code bad_input if an
// option is out of its range.
func NewEvaluator(o EvaluatorOptions) (*Evaluator, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	e := &Evaluator{
		o: o, arms: make([]confseq.Sequence, o.Arms), target: make([]compensated.Sum, o.Arms),
		model: make([]float64, o.Arms),
	}
	for _, b := range []*bettors{&e.bets.plain, &e.bets.clipped, &e.bets.switching, &e.bets.robust, &e.bets.ratio} {
		b.init(o.Rows)
	}
	return e, nil
}

// Add adds a row. Target are the target policy's probabilities in the row's place, one per arm with
// the sum 1. Model are the predicted rewards of the arms in that place, within the range of the
// rewards; they must not depend on the row's own arm and reward. If model is nil, the prediction of
// an arm is the mean of its earlier rewards and of one more, the mean of all earlier rewards.
//
// Add returns an error of code bad_input, and changes nothing, if the row breaks a rule. It takes
// O(Arms) time and amortized allocates nothing.
func (e *Evaluator) Add(r *Row, target, model []float64) error {
	if err := e.check(r, target, model); err != nil {
		return err
	}
	given := model != nil
	if !given {
		model = e.armMeans()
	}
	o, reward := &e.o, r.Reward
	w := target[r.Arm] / r.Propensity
	row := term{w: w, reward: reward, model: model[r.Arm], bound: e.bound(r, target)}
	row.least, row.most = model[0], model[0]
	var direct compensated.Sum // Σ π(a)·m(a)
	for a, m := range model {
		direct.AddProduct(target[a], m)
		row.least, row.most = min(row.least, m), max(row.most, m)
		e.target[a].Add(target[a])
	}
	row.direct = min(max(direct.Value(), row.least), row.most)
	e.bet(&row)

	e.weight.add(w)
	e.squares.AddProduct(w, w)
	e.ips.add(float64(w * reward))
	e.ratio.Add(float64(w*reward), w)
	e.clipped.add(float64(min(w, o.Clip) * reward))
	residual := reward - row.model
	e.robust.add(row.direct + float64(w*residual))
	e.switching.add(row.direct + float64(row.switched(o.Switch)*residual))
	for i, lambda := range shrinkages {
		x := shrunk(w, lambda)
		e.shrunk[i].add(row.direct + float64(x*residual))
		_ = e.shrunk[i].bias.Add(float64((x - w) * residual))
		e.shrunk[i].weight += x
	}
	if given {
		e.direct.add(row.direct)
		e.given++
	}
	e.total.Add(reward)
	// The error is of rewards that are not finite, which check has excluded.
	_ = e.arms[r.Arm].Add(reward)
	return nil
}

// term is a row as the estimators see it.
type term struct {
	w, reward float64
	// The prediction for the row's arm, the least and the largest one, and Σ π(a)·m(a).
	model, least, most, direct float64
	// The bound of the weight, known before the arm was drawn; +Inf for none.
	bound float64
}

// switched is the weight of [Switch].
func (t *term) switched(tau float64) float64 {
	if t.w > tau {
		return 0
	}
	return t.w
}

// shrunk is the weight λ·w/(w² + λ) (Su, Dimakopoulou, Krishnamurthy and Dudík 2020): nearly w
// where w² is below λ, and falling above.
func shrunk(w, lambda float64) float64 {
	if w <= 0 || lambda <= 0 {
		return 0
	}
	return w / (1 + float64(w*(w/lambda)))
}

// bound is the largest weight that the row could have: by the options, and by the logged
// probabilities of all arms. It is +Inf if one of the target's arms had no probability.
func (e *Evaluator) bound(r *Row, target []float64) float64 {
	bound := e.o.MaxWeight
	if len(r.Propensities) != e.o.Arms {
		return bound
	}
	largest := 1.0
	for a, p := range r.Propensities {
		if target[a] > 0 {
			largest = max(largest, target[a]/p) // +Inf for p = 0
		}
	}
	if math.IsInf(largest, 1) || target[r.Arm]/r.Propensity > largest*(1+sumTolerance) {
		return math.Inf(1) // also if the row contradicts itself
	}
	if largest = float64(largest * (1 + sumTolerance)); bound*(1+2*sumTolerance) >= largest {
		return largest // a stated bound that is the true one changes no bit
	}
	return bound
}

// bet adds a row to the bettors.
func (e *Evaluator) bet(t *term) {
	o := &e.o
	width := o.High - o.Low
	unit := func(v float64) float64 { return min(max((v-o.Low)/width, 0), 1) }
	reward, model, direct, least, most := unit(t.reward), unit(t.model), unit(t.direct), unit(t.least), unit(t.most)
	e.bets.plain.add(float64(t.w*reward), 0, float64(t.w*(1-reward)), 0)
	c := min(t.w, o.Clip)
	e.bets.clipped.add(float64(c*reward), 0, float64(c*(1-reward)), 0)
	// The arms of larger weight have the probability 1 − E[s] under the target policy. Their
	// rewards differ from the predictions by −most at least and 1 − least at most.
	s := t.switched(o.Switch)
	e.bets.switching.add(
		direct-most+float64(s*(reward-model+most)), max(most-direct, 0),
		least-direct+float64(s*(model-reward+1-least)), max(direct-least, 0))
	if math.IsInf(t.bound, 1) {
		return
	}
	control := func(b *bettors, model, direct, least, most float64) {
		b.add(direct+float64(t.w*(reward-model)), max(float64(t.bound*most)-direct, 0),
			1-direct+float64(t.w*(model-reward)), max(float64(t.bound*(1-least))-(1-direct), 0))
	}
	control(&e.bets.robust, model, direct, least, most)
	v := 0.5
	if e.ratio.Y > 0 { // the self-normalized estimate of the rows before
		v = unit(e.ratio.X / e.ratio.Y)
	}
	control(&e.bets.ratio, v, v, v, v)
}

// armMeans returns the predictions from the rows so far. Without rows they are the middle of the
// range.
func (e *Evaluator) armMeans() []float64 {
	all := e.o.Low + float64(0.5*(e.o.High-e.o.Low))
	if n := e.weight.seq.N; n > 0 {
		all = e.total.Value() / float64(n)
	}
	for a := range e.model {
		n := float64(e.arms[a].N)
		m := (float64(n*e.arms[a].Mean) + all) / (n + 1)
		e.model[a] = min(max(m, e.o.Low), e.o.High)
	}
	return e.model
}

// weightSlack is the relative rounding error that a weight at its bound may have.
const weightSlack = 1e-12

func (e *Evaluator) check(r *Row, target, model []float64) error {
	o := &e.o
	if r.Arm < 0 || r.Arm >= o.Arms {
		return noregret.BadInputf("arm", "arm %d does not exist: the arms are 0 to %d", r.Arm, o.Arms-1)
	}
	if !(r.Propensity > 0 && r.Propensity <= 1) {
		return noregret.BadInputf("propensity", "%v: a probability in (0, 1] is required", r.Propensity)
	}
	if !(r.Reward >= o.Low && r.Reward <= o.High) {
		return noregret.BadInputf("reward", "%v is outside the range [%v, %v]", r.Reward, o.Low, o.High)
	}
	if err := checkDistribution("target", target, o.Arms); err != nil {
		return err
	}
	w := target[r.Arm] / r.Propensity
	if w > o.MaxWeight*(1+weightSlack) {
		return noregret.BadInputf("weight", "%v/%v of arm %d is %v: the stated bound is %v",
			target[r.Arm], r.Propensity, r.Arm, w, o.MaxWeight)
	}
	// Squares of the terms must be finite too.
	if largest := max(math.Abs(o.Low), math.Abs(o.High), 1); !(w <= 1e100) || !(w*largest <= 1e120) {
		return noregret.BadInputf("weight", "%v of arm %d is too large to compute with", w, r.Arm)
	}
	if model == nil {
		return nil
	}
	if len(model) != o.Arms {
		return noregret.BadInputf("model", "%d predictions for %d arms: one per arm is required", len(model), o.Arms)
	}
	for a, m := range model {
		if !(m >= o.Low && m <= o.High) {
			return noregret.BadInputf("model", "the prediction %v for arm %d is outside the range [%v, %v]", m, a,
				o.Low, o.High)
		}
	}
	return nil
}

// Weights describes the weights w of the rows.
type Weights struct {
	// Rows is the number of rows.
	Rows int64
	// Mean is near 1 if the propensities are right and the logging policy chooses all arms of the
	// target. Without rows it is NaN.
	Mean float64
	// Largest is the largest weight, 0 without rows.
	Largest float64
	// Effective is the effective sample size (Σ w)²/Σ w² (Kish 1965), at most Rows.
	Effective float64
}

// Weights returns the description of the weights so far. O(1).
func (e *Evaluator) Weights() Weights {
	w := Weights{Rows: e.weight.seq.N, Mean: e.weight.mean(), Largest: e.weight.seq.High}
	w.Effective = effective(e.weight.sum.Value(), e.squares.Value())
	return w
}

// effective is Kish's effective sample size, 0 if all weights are.
func effective(sum, squares float64) float64 {
	if !(squares > 0) {
		return 0
	}
	return sum / squares * sum
}
