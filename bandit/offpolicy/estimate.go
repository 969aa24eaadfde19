package offpolicy

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/internal/portable"
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
)

// Methods returns all methods.
func Methods() []Method { return []Method{IPS, SelfNormalized, Clipped, DoublyRobust, Switch} }

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
	// weights are 0. It may leave the range of the rewards, except that of SelfNormalized.
	Value float64
	// StandardError is that of Value, NaN below two rows. That of SelfNormalized is by the delta
	// method. It leaves out the bias of Clipped and Switch.
	StandardError float64
	// Bernstein holds at one number of rows, fixed before, for independent rows (Maurer and Pontil
	// 2009, Theorem 4). Both intervals are cut to the range of the rewards: one that has shrunk to
	// an end of it is a sign of wrong propensities.
	Bernstein Interval
	// Sequence holds at all numbers of rows at once, also if the logging policy learns.
	Sequence Interval
	// Asymptotic is true if the level of Sequence is only approached as the number of rows grows,
	// because the weights have no known bound.
	Asymptotic bool
}

// Estimate returns the value by a method; each of its intervals contains the value with probability
// at least 1 − alpha. It returns an error of code bad_input if the method is unknown or alpha is
// not in (0, 1). O(1), a few microseconds, and some 300 for SelfNormalized.
func (e *Evaluator) Estimate(m Method, alpha float64) (Estimate, error) {
	if !(alpha > 0 && alpha < 1) {
		return Estimate{}, noregret.BadInputf("alpha", "%v: a number between 0 and 1 is required", alpha)
	}
	o, r := &e.o, e.o.High-e.o.Low
	w := o.MaxWeight
	out := Estimate{Method: m, Rows: e.weight.seq.N, Asymptotic: math.IsInf(w, 1)}
	switch m {
	case IPS:
		low, high := min(0, scale(w, o.Low)), max(0, scale(w, o.High))
		e.unbiased(&out, &e.ips, alpha, low, high)
	case DoublyRobust:
		e.unbiased(&out, &e.robust, alpha, o.Low-float64(w*r), o.High+float64(w*r))
	case SelfNormalized:
		e.normalized(&out, alpha)
	case Clipped:
		e.biased(&out, &e.clipped, alpha, [2]float64{o.Low, o.Low + float64(o.Clip*r)},
			[2]float64{o.High - float64(o.Clip*r), o.High})
	case Switch:
		// Add has the terms: low is d − (most − Low) + s·(r − m + most − Low), with a factor of s
		// in [0, 2·(High − Low)], and the first part at least Low − (High − Low) and at most Low.
		t := float64(2 * o.Switch * r)
		e.biased(&out, &e.switching, alpha, [2]float64{o.Low - r, o.Low + t}, [2]float64{o.High - t, o.High + r})
	default:
		return Estimate{}, noregret.BadInputf("method", "%q is unknown: the methods are %q", m, Methods())
	}
	return out, nil
}

// scale is w·x with 0 for x = 0, even if w is infinite.
func scale(w, x float64) float64 {
	if x == 0 {
		return 0
	}
	return float64(w * x)
}

// within cuts an interval to the range of the value. If rounding or a broken assumption puts it
// outside, the nearest end of the range remains.
func (e *Evaluator) within(low, high float64) Interval {
	lo, hi := e.o.Low, e.o.High
	return Interval{Low: min(max(low, lo), hi), High: max(min(high, hi), lo)}
}

// unbiased fills in the estimate by terms in [low, high] whose mean is the value.
func (e *Evaluator) unbiased(out *Estimate, t *terms, alpha, low, high float64) {
	out.Value, out.StandardError = t.mean(), standardError(&t.seq)
	radius := bernsteinRadius(&t.seq, high-low, alpha/2)
	out.Bernstein = e.within(t.seq.Mean-radius, t.seq.Mean+radius)
	out.Sequence = e.within(t.seq.Interval(alpha, low, high))
}

// biased fills in the estimate by bounds whose terms are in the ranges low and high.
func (e *Evaluator) biased(out *Estimate, b *bounds, alpha float64, low, high [2]float64) {
	out.Value, out.StandardError, out.Asymptotic = b.centre.mean(), standardError(&b.centre.seq), false
	out.Bernstein = e.within(
		b.low.Mean-bernsteinRadius(&b.low, low[1]-low[0], alpha/2),
		b.high.Mean+bernsteinRadius(&b.high, high[1]-high[0], alpha/2))
	// Each side of a sequence has half of alpha.
	from, _ := b.low.Interval(alpha, low[0], low[1])
	_, to := b.high.Interval(alpha, high[0], high[1])
	out.Sequence = e.within(from, to)
}

func standardError(s *confseq.Sequence) float64 { return math.Sqrt(s.Variance() / float64(s.N)) }

// bernsteinRadius is the deviation of Maurer and Pontil (2009, Theorem 4): with probability at
// least 1 − delta the mean of n independent observations with a range of the given width is at most
// √(2·V·ln(2/δ)/n) + 7·width·ln(2/δ)/(3·(n − 1)) below their expectation, where V is the sample
// variance. It is +Inf below two observations.
func bernsteinRadius(s *confseq.Sequence, width, delta float64) float64 {
	if s.N < 2 || math.IsInf(width, 1) {
		return math.Inf(1)
	}
	n, l := float64(s.N), portable.Log(2/delta)
	return math.Sqrt(float64(2*s.Variance()*l)/n) + float64(7*width*l)/(3*(n-1))
}

// normalized fills in the self-normalized estimate. The mean of w·(r − v) is 0 at the value v, so
// the intervals hold those v at which an interval for this mean contains 0.
func (e *Evaluator) normalized(out *Estimate, alpha float64) {
	o, p := &e.o, &e.ratio
	out.Value, out.StandardError = math.NaN(), math.NaN()
	centre := o.Low + float64(0.5*(o.High-o.Low))
	if sum := e.weight.sum.Value(); sum > 0 {
		centre = min(max(e.ips.sum.Value()/sum, o.Low), o.High)
		s := p.Contrast(centre)
		out.Value, out.StandardError = centre, standardError(&s)/p.Y
	}
	out.Bernstein = Interval{o.Low, o.High}
	if !vec.IsFinite(o.MaxWeight) {
		out.Sequence = Interval{o.Low, o.High}
		if _, low, high, ok := p.Interval(alpha); ok {
			out.Sequence = e.within(low, high)
		}
		return
	}
	w := o.MaxWeight
	out.Bernstein = e.invert(centre, func(v float64) (from, to float64) {
		s := p.Contrast(v)
		radius := bernsteinRadius(&s, float64(w*(o.High-o.Low)), alpha/2)
		return s.Mean - radius, s.Mean + radius
	})
	out.Sequence = e.invert(centre, func(v float64) (from, to float64) {
		s := p.Contrast(v)
		return s.Interval(alpha, float64(w*(o.Low-v)), float64(w*(o.High-v)))
	})
}

// invert returns the values v between which the interval of the mean of w·(r − v) contains 0.
// Centre is one of them. It looks at cells of the range from the ends inward and bisects the first
// in which the answer changes.
func (e *Evaluator) invert(centre float64, interval func(v float64) (from, to float64)) Interval {
	low := outermost(e.o.Low, centre, func(v float64) bool {
		from, _ := interval(v)
		return from <= 0
	})
	high := outermost(e.o.High, centre, func(v float64) bool {
		_, to := interval(v)
		return to >= 0
	})
	return e.within(low, high)
}

// The number of cells that outermost looks at and of bisections of a cell.
const (
	cells      = 64
	bisections = 50
)

// outermost returns the v nearest to end, up to centre, that is in a set of which centre is an
// element, or a v just outside. If end is not in the set, the set of the Bernstein interval has no
// gap between: the mean less its deviation is concave in v. That of the sequence, which joins many
// bounds, might have gaps. One narrower than a cell is not seen, so the elements beyond it may be
// missed.
func outermost(end, centre float64, in func(v float64) bool) float64 {
	if in(end) {
		return end
	}
	outside, inside := end, centre
	for k := 1; k < cells; k++ {
		v := end + float64((centre-end)*(float64(k)/cells))
		if in(v) {
			inside = v
			break
		}
		outside = v
	}
	for range bisections {
		middle := outside + float64(0.5*(inside-outside))
		if in(middle) {
			inside = middle
		} else {
			outside = middle
		}
	}
	return outside
}
