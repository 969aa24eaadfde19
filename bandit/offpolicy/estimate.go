package offpolicy

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/internal/compensated"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/vec"
)

// Method is an estimator of the value.
type Method string

// The methods. The package comment has their formulas.
const (
	IPS            Method = "ips"
	SelfNormalized Method = "self-normalized"
	Clipped        Method = "clipped"
	DoublyRobust   Method = "doubly-robust"
	Switch         Method = "switch"
	Shrinkage      Method = "shrinkage"
	Direct         Method = "direct"
)

// Methods returns all methods.
func Methods() []Method {
	return []Method{IPS, SelfNormalized, Clipped, DoublyRobust, Switch, Shrinkage, Direct}
}

// Interval is an interval for the value.
type Interval struct{ Low, High float64 }

// Contains reports whether x is in the interval, its ends included.
func (i Interval) Contains(x float64) bool { return i.Low <= x && x <= i.High }

// Estimate is the value of the target policy by one method.
type Estimate struct {
	Method Method
	// Rows is the number of rows.
	Rows int64
	// Value is the estimate, NaN if it is undefined: without rows, or for SelfNormalized while all
	// weights are 0. It may leave the range of the rewards, except that of SelfNormalized and
	// Direct.
	Value float64
	// StandardError is that of Value, NaN below two rows. That of SelfNormalized is by the delta
	// method. It leaves out the bias of Clipped, Switch, Shrinkage and Direct.
	StandardError float64
	// Approximate is Value ± the normal quantile times StandardError. It guarantees nothing: its
	// level is near the stated one if the effective rows are many and the method has no bias.
	Approximate Interval
	// OneLook holds at one number of rows, fixed before. Both intervals are cut to the range of the
	// rewards: one that has shrunk to an end of it is a sign of wrong propensities.
	OneLook Interval
	// Sequence holds at all numbers of rows at once.
	Sequence Interval
	// Lambda is the λ that Shrinkage has chosen by the data, +Inf for DoublyRobust without
	// shrinkage; 0 for other methods.
	Lambda float64
}

// Estimate returns the value by a method; each of its intervals but Approximate contains the value
// with probability at least 1 − alpha. It returns an error of code bad_input if the method is
// unknown or alpha is not in (0, 1). Some milliseconds at most.
func (e *Evaluator) Estimate(m Method, alpha float64) (Estimate, error) {
	if !(alpha > 0 && alpha < 1) {
		return Estimate{}, noregret.BadInputf("alpha", "%v: a number between 0 and 1 is required", alpha)
	}
	out := Estimate{Method: m, Rows: e.weight.seq.N}
	bets, control := &e.bets.plain, (*bettors)(nil)
	switch m {
	case IPS:
		out.of(&e.ips)
	case DoublyRobust:
		out.of(&e.robust)
		control = &e.bets.robust
	case SelfNormalized:
		e.normalized(&out)
		control = &e.bets.ratio
	case Clipped:
		out.of(&e.clipped)
		bets = &e.bets.clipped
	case Switch:
		out.of(&e.switching)
		bets = &e.bets.switching
	case Shrinkage:
		e.shrinkage(&out)
		control = &e.bets.robust
	case Direct:
		e.directly(&out)
		control = &e.bets.robust
	default:
		return Estimate{}, noregret.BadInputf("method", "%q is unknown: the methods are %q", m, Methods())
	}
	out.OneLook, out.Sequence = e.interval(bets, control, 0, alpha), e.interval(bets, control, 1, alpha)
	z := stat.NormalAbove(alpha / 2)
	out.Approximate = Interval{e.o.Low, e.o.High}
	if half := float64(z * out.StandardError); vec.IsFinite(half) && vec.IsFinite(out.Value) {
		out.Approximate = e.within(out.Value-half, out.Value+half)
	}
	return out, nil
}

// of fills in the estimate by the mean of terms.
func (out *Estimate) of(t *terms) { out.Value, out.StandardError = t.mean(), standardError(&t.seq) }

// within cuts an interval to the range of the value. If rounding or a broken assumption puts it
// outside, the nearest end of the range remains.
func (e *Evaluator) within(low, high float64) Interval {
	lo, hi := e.o.Low, e.o.High
	return Interval{Low: min(max(low, lo), hi), High: max(min(high, hi), lo)}
}

// interval returns the values that the bettors leave, for one look (0) or at all times (1), with
// half of alpha for each end. With a control variate each of the two bettors has half of the
// wealth. A control variate needs a bound of the weights: without one its half is not bet and is
// lost, so that a bound never makes the interval wider.
func (e *Evaluator) interval(bets, control *bettors, k int, alpha float64) Interval {
	end := func(of func(b *bettors) *confseq.Betting) float64 {
		plain := of(bets)
		if control == nil {
			return plain.Low(alpha/2, 1)
		}
		other := of(control)
		return confseq.LowOf(func(v float64) float64 {
			a := plain.LogWealth(v)
			if other.N() == 0 {
				return a - math.Ln2
			}
			b := other.LogWealth(v)
			return max(a, b) + portable.Log1p(portable.Exp(-math.Abs(a-b))) - math.Ln2
		}, alpha/2, 1)
	}
	width := e.o.High - e.o.Low
	low := end(func(b *bettors) *confseq.Betting { return &b.low[k] })
	high := end(func(b *bettors) *confseq.Betting { return &b.high[k] })
	return e.within(e.o.Low+float64(width*low), e.o.High-float64(width*high))
}

func standardError(s *confseq.Sequence) float64 { return math.Sqrt(s.Variance() / float64(s.N)) }

// normalized fills in the self-normalized estimate.
func (e *Evaluator) normalized(out *Estimate) {
	o, p := &e.o, &e.ratio
	out.Value, out.StandardError = math.NaN(), math.NaN()
	if sum := e.weight.sum.Value(); sum > 0 {
		out.Value = min(max(e.ips.sum.Value()/sum, o.Low), o.High)
		s := p.Contrast(out.Value)
		out.StandardError = standardError(&s) / p.Y
	}
}

// shrinkage chooses the λ of the smallest estimated mean squared error: the squared standard error,
// and the square of the bias, which is the difference from the estimate without shrinkage, less the
// squared standard error of that difference (as Su, Dimakopoulou, Krishnamurthy and Dudík 2020
// choose it, with a bound of the bias). Where the predictions are the arms' means, the error of
// these counts for the part of the weights that is shrunk away.
func (e *Evaluator) shrinkage(out *Estimate) {
	out.of(&e.robust)
	out.Lambda = math.Inf(1)
	least := float64(out.StandardError * out.StandardError)
	predicted := 0.0
	if e.given < e.weight.seq.N {
		var direct Estimate
		e.directly(&direct)
		predicted = direct.StandardError
	}
	for i := range e.shrunk {
		t := &e.shrunk[i]
		own, off := standardError(&t.seq), standardError(&t.bias)
		part := float64((1 - min(t.weight/e.weight.sum.Value(), 1)) * predicted)
		variance := float64(own*own) + float64(part*part)
		bias := max(float64(t.bias.Mean*t.bias.Mean)-float64(off*off), 0)
		if square := variance + bias; square < least {
			least, out.Lambda = square, shrinkages[i]
			out.Value, out.StandardError = t.mean(), math.Sqrt(variance)
		}
	}
}

// directly fills in the direct method: the mean over rows of Σ π(a)·m(a). Where all predictions are
// given that is the mean of theirs; else m(a) is the mean of the arm's rewards, and of one more,
// that of all.
func (e *Evaluator) directly(out *Estimate) {
	n := float64(e.weight.seq.N)
	if e.given == e.weight.seq.N {
		out.of(&e.direct)
		return
	}
	var value, square compensated.Sum
	for a, m := range e.armMeans() {
		share := e.target[a].Value() / n
		value.AddProduct(share, m)
		if s := &e.arms[a]; share > 0 {
			variance := s.Variance()
			if s.N < 2 { // nothing is known of the arm: the largest variance
				half := float64(0.5 * (e.o.High - e.o.Low))
				variance = float64(half * half)
			}
			square.Add(float64(share*share) * (variance / float64(max(s.N, 1))))
		}
	}
	out.Value = min(max(value.Value(), e.o.Low), e.o.High)
	if out.StandardError = math.Sqrt(square.Value()); n < 2 {
		out.StandardError = math.NaN()
	}
}
