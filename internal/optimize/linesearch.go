package optimize

import (
	"math"

	"github.com/noregret/noregret/internal/vec"
)

// The constants of the strong Wolfe conditions, φ(s) ≤ φ(0) + c₁sφ'(0) and |φ'(s)| ≤ c₂|φ'(0)|, as
// Nocedal and Wright recommend them for quasi-Newton methods.
const (
	wolfeDecrease  = 1e-4
	wolfeCurvature = 0.9
	// wolfeRounding is the relative difference of two values that may be rounding.
	wolfeRounding = 0x1p-50
	// mostTrials limits the points that one search evaluates.
	mostTrials = 20
	// leastGrowth and mostGrowth bound the next step, in units of the last advance, while no
	// minimum is bracketed.
	leastGrowth, mostGrowth = 1.1, 4
	// margin is the share of an interval that the next point keeps from its ends.
	margin = 0.1
)

// trial is a point of a line search: the step, and value and slope there.
type trial struct{ s, f, g float64 }

// lineSearch finds a step s > 0 along a descent direction, φ(s) = f(x + s·d), that meets the strong
// Wolfe conditions (Nocedal and Wright, algorithms 3.5 and 3.6, with cubic interpolation). Near the
// minimum, where the difference of two values is lost in rounding, the condition of decrease is
// replaced by one on slopes that is the same for a quadratic, φ'(s) ≤ (2c₁ - 1)φ'(0) (Hager and
// Zhang 2005). Its arithmetic has the same bits on every machine.
type lineSearch struct {
	start  trial
	step   float64 // the next one to look at
	trials int     // points looked at

	low       trial // the lowest point so far that meets the condition of decrease, or the start
	high      trial // the other end of the interval, once bracketed
	bracketed bool
	widths    [2]float64 // of the interval, before the last two points
}

func newLineSearch(f, slope, step float64) *lineSearch {
	s := trial{0, f, slope}
	return &lineSearch{start: s, low: s, step: step, widths: [2]float64{math.Inf(1), math.Inf(1)}}
}

// judge takes the value and slope at the step and reports whether the step is accepted. If not, it
// sets the next one.
func (l *lineSearch) judge(f, slope float64) bool {
	l.trials++
	at := trial{l.step, f, slope}
	if !vec.IsFinite(f) || !vec.IsFinite(slope) { // beyond where the function can be computed
		l.bracket(l.low, trial{at.s, math.Inf(1), 0})
		return false
	}
	least, g0 := l.start.f, l.start.g
	decreased := f <= least+float64(wolfeDecrease*at.s*g0)
	level := math.Abs(f-least) <= float64(wolfeRounding*math.Abs(least)) && slope <= float64((2*wolfeDecrease-1)*g0)
	if (decreased || level) && math.Abs(slope) <= float64(-wolfeCurvature*g0) {
		return true
	}
	switch {
	case !decreased || (l.low.s > 0 && f >= l.low.f):
		l.bracket(l.low, at)
	case l.bracketed:
		other := l.high
		if float64(slope*(other.s-l.low.s)) >= 0 {
			other = l.low
		}
		l.bracket(at, other)
	case slope >= 0:
		l.bracket(at, l.low)
	default: // still decreasing: take a longer step
		advance := at.s - l.low.s
		next := cubicMinimum(l.low, at)
		if !(next > at.s) {
			next = math.Inf(1)
		}
		l.step = min(max(next, at.s+float64(leastGrowth*advance)), at.s+float64(mostGrowth*advance))
		l.low = at
	}
	return false
}

// bracket sets the interval and the next step in it: the minimum of the cubic through its ends,
// kept from these, or the middle when the interval has not shrunk to two thirds within two points.
func (l *lineSearch) bracket(low, high trial) {
	l.low, l.high, l.bracketed = low, high, true
	span := high.s - low.s
	width := math.Abs(span)
	middle := low.s + float64(0.5*span)
	l.step = middle
	if width <= float64(l.widths[0]*2/3) && !math.IsInf(high.f, 0) {
		if next := cubicMinimum(low, high); vec.IsFinite(next) {
			a, b := low.s+float64(margin*span), high.s-float64(margin*span)
			l.step = min(max(next, min(a, b)), max(a, b))
		}
	}
	l.widths[0], l.widths[1] = l.widths[1], width
}

// cubicMinimum is the minimiser of the cubic with the values and slopes of a and b (Nocedal and
// Wright, 3.59), NaN when it has none.
func cubicMinimum(a, b trial) float64 {
	d := a.g + b.g - float64(3*(a.f-b.f))/(a.s-b.s)
	// √(d² - a.g·b.g), scaled so that nothing over- or underflows
	scale := max(math.Abs(d), math.Abs(a.g), math.Abs(b.g))
	root := float64(scale * math.Sqrt(float64((d/scale)*(d/scale))-float64((a.g/scale)*(b.g/scale))))
	if b.s < a.s {
		root = -root
	}
	return b.s - float64((b.s-a.s)*((b.g+root-d)/(b.g-a.g+float64(2*root))))
}
