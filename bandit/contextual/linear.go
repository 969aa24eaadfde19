package contextual

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/policy"
)

// LinearOptions are the parameters of [LinUCB] and [LinThompson]. Begin with
// [DefaultLinearOptions].
type LinearOptions struct {
	PlayerOptions
	// Ridge is the multiple λ of the identity in each matrix A, from 1e-9 to 1e9.
	Ridge float64
	// Alpha multiplies the widths √(xᵀA⁻¹x), so it is in units of rewards, above 0 and at most
	// 1e30. The standard deviation of rewards is a natural choice.
	Alpha float64
	// Confidence, if it is set, replaces Alpha by the radius of a confidence ellipsoid.
	Confidence *Confidence
}

// DefaultLinearOptions are Ridge 1, Alpha 1, separate weights, no floor and 10,000 choices that
// wait.
func DefaultLinearOptions(arms, dim int) LinearOptions {
	return LinearOptions{PlayerOptions: defaultPlayerOptions(arms, dim), Ridge: 1, Alpha: 1}
}

// Confidence describes rewards for [LinUCB] with a guarantee.
type Confidence struct {
	// Noise is σ: the rewards' deviations from their means are σ-subgaussian, as those of rewards
	// in an interval of length 2σ are.
	Noise float64
	// Norm bounds the length of each vector of weights.
	Norm float64
	// Delta is the probability with which the confidence ellipsoid of one vector of weights may
	// ever fail.
	Delta float64
}

// Radius returns the radius of the confidence ellipsoid (Abbasi-Yadkori, Pál and Szepesvári 2011,
// Theorem 2): with probability 1 − Delta, in all rounds and for all x,
//
//	|⟨x, θ⟩ − score| ≤ radius·√(xᵀA⁻¹x),  radius = σ·√(ln(det A/λ^d) + 2·ln(1/δ)) + √λ·‖θ‖,
//
// given ln(det A/λ^d).
func (c Confidence) Radius(ridge, logVolume float64) float64 {
	return float64(c.Noise*math.Sqrt(logVolume+float64(2*portable.Log(1/c.Delta)))) + float64(math.Sqrt(ridge)*c.Norm)
}

func (c *Confidence) check() error {
	if c != nil && !(c.Noise >= 0 && c.Noise <= maxReward && c.Norm >= 0 && c.Norm <= maxReward && c.Delta > 0 &&
		c.Delta < 1) {
		return noregret.BadInputf("confidence",
			"noise %v, norm %v, delta %v: want two numbers of size at most 1e30 and one between 0 and 1", c.Noise,
			c.Norm, c.Delta)
	}
	return nil
}

// LinUCB draws the arm of the largest upper confidence bound ⟨x, θ_k⟩ + α·√(xᵀA_k⁻¹x), where θ_k is
// the ridge regression of the arm's rewards and A_k its matrix (Li, Chu, Langford and Schapire
// 2010, with separate or shared weights). Ties are broken at random. With a [Confidence] it is the
// algorithm OFUL of Abbasi-Yadkori, Pál and Szepesvári (2011), and [LinUCB.Bound] holds. A round
// costs O(arms·d²), less for sparse vectors.
type LinUCB struct {
	core
	confidence *Confidence
	ridge      float64
	bound      float64
}

// NewLinUCB returns the player. It returns an error of code bad_input if an option is out of its
// range.
func NewLinUCB(o LinearOptions) (*LinUCB, error) {
	l := &LinUCB{}
	if err := l.setUpLinear(policy.LinUCB, &o); err != nil {
		return nil, err
	}
	l.confidence, l.ridge = o.Confidence, o.Ridge
	return l, nil
}

// LinThompson draws each arm with the probability that it is the best if its score has the
// distribution N(⟨x, θ_k⟩, α²·xᵀA_k⁻¹x), independent of the others: Thompson sampling (Thompson
// 1933; Agrawal and Goyal 2013). The probabilities are those of the quadrature of
// policy.Linear.Distribution, so propensities are exact. With shared weights, the scores of
// different arms are dependent, and the distribution drawn from is the product of their own
// distributions instead. There is no function for its bound: the theorems (Agrawal and Goyal 2013;
// Abeille and Lazaric 2017) are about one vector of weights that all arms share, and one draw of
// it. A round costs O(arms·d²) and the quadrature.
type LinThompson struct {
	core
}

// NewLinThompson returns the player. It returns an error of code bad_input if an option is out of
// its range or there is a Confidence.
func NewLinThompson(o LinearOptions) (*LinThompson, error) {
	if o.Confidence != nil {
		return nil, noregret.BadInputf("confidence", "only for LinUCB: set Alpha instead")
	}
	l := &LinThompson{}
	return l, l.setUpLinear(policy.LinThompson, &o)
}

// setUpLinear checks the options and sets up the player.
func (p *core) setUpLinear(kind string, o *LinearOptions) error {
	if o.Confidence == nil && !(o.Alpha > 0 && o.Alpha <= maxReward) {
		return noregret.BadInputf("alpha", "%v: want a number above 0, at most 1e30", o.Alpha)
	}
	if err := o.Confidence.check(); err != nil {
		return err
	}
	rule := policy.Rule{Kind: kind, Alpha: o.Alpha, Floor: o.Floor}
	text := fmt.Sprintf("%s(ridge=%v, alpha=%v)", kind, o.Ridge, o.Alpha)
	if o.Confidence != nil {
		rule.Alpha = 1
		text = fmt.Sprintf("%s(ridge=%v, confidence=%v)", kind, o.Ridge, *o.Confidence)
	}
	ridge, dim, confidence := o.Ridge, o.Dim, o.Confidence
	return p.setUp(o.PlayerOptions, text, func() policy.Rule { return rule }, func() (estimator, error) {
		g, err := NewRidge(dim, ridge)
		return &ridged{Ridge: g, confidence: confidence}, err
	})
}

// ridged is the estimator of [LinUCB] and [LinThompson].
type ridged struct {
	*Ridge
	confidence *Confidence
	radius     float64 // of the confidence, given the count of observations at that time
	known      bool
}

func (e *ridged) estimate(x []float64) (score, width float64, err error) {
	score, err = e.Predict(x)
	if err != nil {
		return 0, 0, err
	}
	width = e.s.width(e.work, x)
	if e.confidence != nil {
		if !e.known {
			e.radius, e.known = e.confidence.Radius(e.lambda, e.LogVolume()), true
		}
		width *= e.radius
	}
	return score, width, nil
}

func (e *ridged) observe(x []float64, reward, weight float64) error {
	e.known = false
	return e.Update(x, reward, weight)
}

func (e *ridged) state() ([]byte, error)    { return e.MarshalBinary() }
func (e *ridged) restore(data []byte) error { return e.UnmarshalBinary(data) }

// Draw draws an arm, see [Player].
func (l *LinUCB) Draw(r bandit.Rand, c Context) (Choice, error) {
	choice, err := l.core.Draw(r, c)
	if err == nil && l.confidence != nil {
		l.bound += float64(2 * l.widths[choice.Arm])
	}
	return choice, err
}

// Bound returns a bound on the regret of the draws of this process so far, Σ 2·radius·√(xᵀA⁻¹x)
// over the arms drawn. It holds with probability 1 − Delta·(number of vectors of weights), late and
// missing rewards included, if expected rewards are ⟨x, θ⟩ with ‖θ‖ ≤ Norm, deviations are
// subgaussian, and there is no floor. It is +Inf without a [Confidence].
func (l *LinUCB) Bound() float64 {
	if l.confidence == nil || l.o.Floor > 0 {
		return math.Inf(1)
	}
	return l.bound
}

// LinUCBBound returns the bound on the regret of [LinUCB] with the given confidence after rounds
// with immediate rewards, for vectors of length at most length:
//
//	2·radius·√(rounds·(v/ln(1 + v))·m·d·ln(1 + rounds·length²/(λ·m·d))),  v = length²/λ,
//
// where m is 1 if the arms share their weights and their number otherwise, and radius is that of
// [Confidence.Radius] at d·ln(1 + rounds·length²/(λd)) (Abbasi-Yadkori, Pál and Szepesvári 2011,
// Theorem 3, whose constants assume length ≤ √λ). It holds with probability 1 − m·Delta.
func LinUCBBound(o LinearOptions, rounds int, length float64) float64 {
	if o.Confidence == nil {
		return math.Inf(1)
	}
	m := float64(o.Arms)
	if o.Shared {
		m = 1
	}
	t, d, v := float64(rounds), float64(o.Dim), length*length/o.Ridge
	radius := o.Confidence.Radius(o.Ridge, d*portable.Log1p(t*v/d))
	return 2 * radius * math.Sqrt(t*v/portable.Log1p(v)*m*d*portable.Log1p(t*v/(m*d)))
}
