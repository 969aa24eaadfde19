package convex

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
)

// CappedSimplex is {l ≤ x ≤ u : Σx = s}: a box cut by the plane of a given sum. The sum
// holds up to the rounding of d additions, (d+4)·2⁻⁵² of Σmax(|l_i|, |u_i|).
type CappedSimplex struct {
	lower, upper []float64 // all finite
	sum          float64
	scale        float64 // of the sum constraint
	spare        float64 // s − Σl
	diameter     float64
}

// NewCappedSimplex makes {0 ≤ x ≤ limit : Σx = sum} in ℝ^d; 0 < sum ≤ d·limit.
func NewCappedSimplex(d int, limit, sum float64) (*CappedSimplex, error) {
	if err := checkMemory("capped simplex", d, float64(5*float64(d))); err != nil {
		return nil, err
	}
	if err := checkPositive("capped simplex", "the cap", limit); err != nil {
		return nil, err
	}
	if err := checkPositive("capped simplex", "the sum", sum); err != nil {
		return nil, err
	}
	return NewBoundedSimplex(make([]float64, d), slices.Repeat([]float64{limit}, d), sum)
}

// NewBoundedSimplex makes {lower ≤ x ≤ upper : Σx = sum}. Lower sides and the sum are finite, upper
// sides may be +Inf, lower ≤ upper and Σlower ≤ sum ≤ Σupper. The slices are copied.
func NewBoundedSimplex(lower, upper []float64, sum float64) (*CappedSimplex, error) {
	const what = "capped simplex"
	box, err := NewBox(lower, upper)
	if err != nil {
		return nil, err
	}
	if err := checkFinite(what, "lower", lower); err != nil {
		return nil, err
	}
	if sum-sum != 0 {
		return nil, noregret.BadInputf(what, "the sum is %v, want a finite number", sum)
	}
	d := len(lower)
	c := &CappedSimplex{lower: box.lower, upper: box.upper, sum: sum}
	least := vec.Sum(lower)
	rounding := 0.0
	for _, l := range lower {
		rounding += math.Abs(l)
	}
	rounding = float64(slack(d) * (rounding + math.Abs(sum)))
	c.spare = sum - least
	if c.spare < 0 && c.spare >= -rounding {
		c.spare = 0
	}
	if c.spare < 0 {
		return nil, noregret.BadInputf(what,
			"the sum is %v and the lower sides sum to %v, want the sum at least that", sum, least)
	}
	most := 0.0
	for i, l := range c.lower { // no coordinate can exceed its lower side by more
		c.upper[i] = min(c.upper[i], l+c.spare)
		most += c.upper[i]
		c.scale += max(math.Abs(l), math.Abs(c.upper[i]))
	}
	if most < sum-float64(slack(d)*c.scale) {
		return nil, noregret.BadInputf(what,
			"the sum is %v and the upper sides sum to %v, want the sum at most that", sum, most)
	}
	c.scale = max(c.scale, math.Abs(sum))
	c.diameter = c.diameterBound(max(0, min(c.spare, most-sum)))
	return c, nil
}

// diameterBound fills |x−y| from the widest coordinate down: no coordinate differs by more than its
// width, and the positive and the negative differences each sum to at most spare.
func (c *CappedSimplex) diameterBound(spare float64) float64 {
	widths := make([]float64, len(c.lower))
	for i := range widths {
		widths[i] = min(c.upper[i]-c.lower[i], spare)
	}
	slices.SortFunc(widths, func(a, b float64) int { return cmp.Compare(b, a) })
	left := 2 * spare
	for i, w := range widths {
		widths[i] = min(w, left)
		left -= widths[i]
	}
	return vec.Norm2(widths)
}

// Dim implements [Set].
func (c *CappedSimplex) Dim() int { return len(c.lower) }

// Bounds returns the sides of coordinate i; an upper side is at most what the sum allows.
func (c *CappedSimplex) Bounds(i int) (lower, upper float64) { return c.lower[i], c.upper[i] }

// Sum is s.
func (c *CappedSimplex) Sum() float64 { return c.sum }

// Project writes clip(v − τ, l, u) with the τ for which it sums to s, found without sorting and
// without scratch by Newton's method with a bracket on that decreasing, piecewise linear function:
// usually 10 to 30 passes, at most 100. Where v is large compared with the sides, at most 220 more
// passes find τ relative to one of the v_i, so that the result is as accurate as the sides are.
// O(d) per pass.
func (c *CappedSimplex) Project(dst, v []float64) {
	if c.Contains(v, 0) {
		copy(dst, v)
		return
	}
	base, tau := c.threshold(v)
	for i, x := range v {
		dst[i] = clip((x-base)-tau, c.lower[i], c.upper[i])
	}
}

// excess is Σclip(v − base − τ, l, u) − s and the number of coordinates strictly between their
// sides.
func (c *CappedSimplex) excess(v []float64, base, tau float64) (f float64, free int) {
	for i, x := range v {
		x = (x - base) - tau
		switch {
		case x <= c.lower[i]:
			f += c.lower[i]
		case x >= c.upper[i]:
			f += c.upper[i]
		default:
			f += x
			free++
		}
	}
	return f - c.sum, free
}

func (c *CappedSimplex) threshold(v []float64) (base, tau float64) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for i, x := range v {
		lo = min(lo, x-c.upper[i]) // all at the upper sides
		hi = max(hi, x-c.lower[i]) // all at the lower sides
	}
	small := float64(slack(len(v)) * c.scale * 0.125)
	return refined(lo, hi, (vec.Sum(v)-c.sum)/float64(len(v)), small, func(base, tau float64) (float64, float64) {
		f, n := c.excess(v, base, tau)
		return f, float64(n)
	})
}

// refined finds the root base + tau of a decreasing, piecewise linear function with f ≥ 0 at lo and
// f ≤ 0 at hi. The callback f returns its value and minus its slope. The root is first found to the
// precision of a float64, which becomes the base, and then relative to that base.
func refined(lo, hi, guess, small float64, f func(base, tau float64) (value, slope float64)) (base, tau float64) {
	base = newton(lo, hi, guess, 0, small, f)
	if v, _ := f(base, 0); math.Abs(v) <= small {
		return base, polish(base, 0, f)
	}
	below, above := bisect(lo, hi, func(x float64) bool { v, _ := f(x, 0); return v >= 0 })
	best := math.Inf(1)
	for _, at := range [2]float64{below, above} {
		// Breakpoints lie next to the two, so a float64 resolves the root relative to one of the
		// two.
		t, next := bisect(-math.MaxFloat64, math.MaxFloat64, func(x float64) bool { v, _ := f(at, x); return v >= 0 })
		for _, t := range [2]float64{t, next} {
			t = polish(at, t, f)
			if v, _ := f(at, t); math.Abs(v) < best {
				best, base, tau = math.Abs(v), at, t
			}
		}
	}
	return base, tau
}

// bisect returns neighbouring float64s in [lo, hi]: the last at which holds is true and the first
// at which it is false, for a condition that is true at lo and changes once. They are equal if it
// is true at hi. It bisects the bits: at most 64 steps.
func bisect(lo, hi float64, holds func(x float64) bool) (below, above float64) {
	if holds(hi) {
		return hi, hi
	}
	a, b := orderedBits(lo), orderedBits(hi)
	for b-a > 1 || b-a < 0 { // the difference may overflow
		mid := a>>1 + b>>1 + a&b&1
		if holds(fromOrderedBits(mid)) {
			a = mid
		} else {
			b = mid
		}
	}
	return fromOrderedBits(a), fromOrderedBits(b)
}

// newton is Newton's method in a bracket, which is bisected where a step leaves it or four passes
// did not halve it.
func newton(lo, hi, tau, base, small float64, f func(base, tau float64) (value, slope float64)) float64 {
	if !(tau > lo && tau < hi) {
		tau = lo + float64(0.5*(hi-lo))
	}
	width := hi - lo
	for pass := range 100 {
		v, slope := f(base, tau)
		if math.Abs(v) <= small {
			break
		}
		if v > 0 {
			lo = tau
		} else {
			hi = tau
		}
		next := lo + float64(0.5*(hi-lo))
		if slope > 0 && (pass%4 != 3 || hi-lo <= 0.5*width) {
			if t := tau + v/slope; t >= lo && t <= hi {
				next = t
			}
		}
		if pass%4 == 3 {
			width = hi - lo
		}
		if next == tau {
			break
		}
		tau = next
	}
	return tau
}

// polish takes up to two more Newton steps and keeps each only if it reduces the error.
func polish(base, tau float64, f func(base, tau float64) (value, slope float64)) float64 {
	v, slope := f(base, tau)
	for range 2 {
		if v == 0 || slope == 0 {
			break
		}
		next := tau + v/slope
		after, s := f(base, next)
		if !(math.Abs(after) < math.Abs(v)) {
			break
		}
		tau, v, slope = next, after, s
	}
	return tau
}

// Minimize fills the coordinates from the smallest c_i up, ties from the lowest index up, until the
// sum is reached. The c_i at which it is reached is found by bisection on the bits of a float64: at
// most 66 passes. O(d).
func (c *CappedSimplex) Minimize(dst, cost []float64) (float64, error) {
	_, most := vec.ArgMax(cost)
	_, least := vec.ArgMin(cost)
	lo, hi := orderedBits(least), orderedBits(most)
	for lo < hi { // the smallest level at which everything up to it suffices
		mid := lo>>1 + hi>>1 + lo&hi&1 // hi−lo may overflow
		if c.fill(cost, fromOrderedBits(mid)) >= c.spare {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	level := fromOrderedBits(lo)
	left := c.spare
	for i, v := range cost {
		if v < level {
			left -= c.upper[i] - c.lower[i]
		}
	}
	sum := 0.0
	for i, v := range cost {
		x := c.lower[i]
		switch {
		case v < level:
			x = c.upper[i]
		case v == level && left > 0:
			w := c.upper[i] - x
			if w <= left {
				x = c.upper[i]
			} else {
				x += left
			}
			left -= w
		}
		dst[i] = x
		sum += float64(v * x)
	}
	return sum, nil
}

// fill returns the total by which the coordinates of cost at most level can exceed their lower
// sides.
func (c *CappedSimplex) fill(cost []float64, level float64) float64 {
	sum := 0.0
	for i, v := range cost {
		if v <= level {
			sum += c.upper[i] - c.lower[i]
		}
	}
	return sum
}

// orderedBits maps float64s to integers of the same order, 0 and -0 to the same integer.
func orderedBits(x float64) int64 {
	b := int64(math.Float64bits(x))
	if b < 0 {
		return math.MinInt64 - b
	}
	return b
}

func fromOrderedBits(b int64) float64 {
	if b < 0 {
		b = math.MinInt64 - b
	}
	return math.Float64frombits(uint64(b))
}

// Contains implements [Set]; the size is s − Σl for the sum and the width for a coordinate. O(d).
func (c *CappedSimplex) Contains(x []float64, tol float64) bool {
	sum := 0.0
	for i, v := range x {
		lo, hi := c.lower[i], c.upper[i]
		if !(v >= lo && v <= hi) {
			t := sideAllowance(tol, lo, hi)
			if !(v >= lo-t && v <= hi+t) {
				return false
			}
		}
		sum += v
	}
	return math.Abs(sum-c.sum) <= float64(tol*c.spare)+float64(slack(len(x))*c.scale)
}

// Diameter is an upper bound. It is exact where s − Σl is an even number of equal caps or fits into
// one of them.
func (c *CappedSimplex) Diameter() float64 { return c.diameter }

// Moved implements [Mover]: the moved capped simplex.
func (c *CappedSimplex) Moved(f float64, x0 []float64) (Set, error) {
	sum := float64(f * c.sum)
	for _, v := range x0 {
		sum += v
	}
	return NewBoundedSimplex(image(c.lower, f, x0), image(c.upper, f, x0), sum)
}

// String describes it in one line, all parameters included.
func (c *CappedSimplex) String() string {
	return fmt.Sprintf("capped-simplex(%s, %s, %s)", formatVector(c.lower), formatVector(c.upper), formatFloat(c.sum))
}
