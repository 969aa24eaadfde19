package offpolicy

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/internal/compensated"
	"github.com/noregret/noregret/internal/vec"
)

// Options describe the rewards and set the estimators. Begin with [DefaultOptions].
type Options struct {
	// Arms is the number of arms, at least 1.
	Arms int
	// Low and High are the range of the rewards, finite, Low < High. Rows outside are refused.
	Low, High float64
	// MaxWeight bounds π(a)/p(a), at least 1, or +Inf if no bound is known. It must be known before
	// the rows are seen. Rows above it are refused.
	MaxWeight float64
	// Clip is M, the largest weight of [Clipped], finite and above 0.
	Clip float64
	// Switch is τ, the weight above which [Switch] uses the prediction alone, finite and above 0.
	Switch float64
}

// DefaultOptions are for rewards in [0, 1] and weights without a known bound; Clip and Switch are
// 10.
func DefaultOptions(arms int) Options {
	return Options{Arms: arms, Low: 0, High: 1, MaxWeight: math.Inf(1), Clip: 10, Switch: 10}
}

func (o Options) check() error {
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

// bounds are a biased estimator's terms, and two others whose means are below and above the value.
type bounds struct {
	centre    terms
	low, high confseq.Sequence
}

func (b *bounds) add(centre, low, high float64) {
	b.centre.add(centre)
	_ = b.low.Add(low)
	_ = b.high.Add(high)
}

// Evaluator estimates the value of a target policy from logged rows. Make one with [NewEvaluator].
// It keeps sums only: O(1) numbers per estimator, and two per arm for the predictions.
type Evaluator struct {
	o         Options
	weight    terms
	squares   compensated.Sum // Σ w²
	ips       terms
	ratio     confseq.Pair // w·r and w
	clipped   bounds
	robust    terms
	switching bounds
	total     compensated.Sum   // Σ r
	sums      []compensated.Sum // Σ r by arm
	counts    []float64         // rows by arm
	model     []float64         // predictions of the arm means, reused
}

// NewEvaluator returns an evaluator without rows. It returns an error of code bad_input if an
// option is out of its range.
func NewEvaluator(o Options) (*Evaluator, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	return &Evaluator{
		o: o, sums: make([]compensated.Sum, o.Arms), counts: make([]float64, o.Arms), model: make([]float64, o.Arms),
	}, nil
}

// Add adds a row. Target are the target policy's probabilities in the row's place, one per arm with
// the sum 1. Model are the predicted rewards of the arms in that place, within the range of the
// rewards; they must not depend on the row's own arm and reward. If model is nil, the prediction of
// an arm is the mean of its earlier rewards and of one more, the mean of all earlier rewards.
//
// Add returns an error of code bad_input, and changes nothing, if the row breaks a rule. It takes
// O(Arms) time and allocates nothing.
func (e *Evaluator) Add(r *Row, target, model []float64) error {
	if err := e.check(r, target, model); err != nil {
		return err
	}
	if model == nil {
		model = e.armMeans()
	}
	o, reward := &e.o, r.Reward
	w := target[r.Arm] / r.Propensity
	e.weight.add(w)
	e.squares.AddProduct(w, w)
	e.ips.add(float64(w * reward))
	e.ratio.Add(float64(w*reward), w)
	c := min(w, o.Clip)
	e.clipped.add(float64(c*reward), o.Low+float64(c*(reward-o.Low)), o.High-float64(c*(o.High-reward)))

	var direct compensated.Sum // Σ π(a)·m(a)
	least, most := model[0], model[0]
	for a, m := range model {
		direct.AddProduct(target[a], m)
		least, most = min(least, m), max(most, m)
	}
	d, residual := direct.Value(), reward-model[r.Arm]
	e.robust.add(d + float64(w*residual))
	s := w
	if w > o.Switch {
		s = 0
	}
	// The arms of larger weight have the probability 1 − E[s] under the target policy. Their
	// rewards differ from the predictions by Low − most at least and High − least at most.
	centre := d + float64(s*residual)
	e.switching.add(centre, centre+float64((1-s)*(o.Low-most)), centre+float64((1-s)*(o.High-least)))

	e.total.Add(reward)
	e.sums[r.Arm].Add(reward)
	e.counts[r.Arm]++
	return nil
}

// armMeans returns the predictions from the rows so far. Without rows they are the middle of the
// range.
func (e *Evaluator) armMeans() []float64 {
	all := e.o.Low + float64(0.5*(e.o.High-e.o.Low))
	if n := e.weight.seq.N; n > 0 {
		all = e.total.Value() / float64(n)
	}
	for a := range e.model {
		m := (e.sums[a].Value() + all) / (e.counts[a] + 1)
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
