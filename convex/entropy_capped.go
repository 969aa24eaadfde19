package convex

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
)

// entropyArgmax writes clip(e^{θ_i−ν}, l_i, u_i) with the ν for which it sums to s, to the rounding
// of the sum. Newton's method takes about 6 passes. It fails where the θ_i that matter are far
// below the largest. Then ν is found by bisection, with 64 passes for each base from which it is
// measured; two bases are usual.
func (c *CappedSimplex) entropyArgmax(dst, theta []float64) {
	_, top := vec.ArgMax(theta)
	nu, excess := c.entropyMultiplier(theta, top)
	if math.Abs(excess) <= float64(slack(len(theta))*c.scale) {
		c.entropyPoint(dst, theta, top, nu, 1)
		return
	}
	base, below, above := c.farMultiplier(theta, top)
	least, nu, grow := math.Inf(1), below, 1.0
	for _, at := range [2]float64{below, above} {
		// Scaling the coordinates between their sides corrects the rounding of ν.
		f, free := c.entropyExcess(theta, base, at)
		q := 1.0
		if free > 0 {
			q = max(free-f, 0) / free
		}
		if rest := c.entropyRest(theta, base, at, q); rest < least {
			least, nu, grow = rest, at, q
		}
	}
	c.entropyPoint(dst, theta, base, nu, grow)
}

// entropyPoint writes clip(e^{θ−base−ν}, l, u), with the coordinates strictly between their sides
// multiplied by grow.
func (c *CappedSimplex) entropyPoint(dst, theta []float64, base, nu, grow float64) {
	for i, t := range theta {
		dst[i] = c.entropyAt(i, t, base, nu, grow)
	}
}

func (c *CappedSimplex) entropyAt(i int, t, base, nu, grow float64) float64 {
	x := portable.Exp((t - base) - nu)
	if x > c.lower[i] && x < c.upper[i] {
		x *= grow
	}
	return clip(x, c.lower[i], c.upper[i])
}

// entropyRest is |Σx − s| at the point that entropyPoint writes.
func (c *CappedSimplex) entropyRest(theta []float64, base, nu, grow float64) float64 {
	sum := 0.0
	for i, t := range theta {
		sum += c.entropyAt(i, t, base, nu, grow)
	}
	return math.Abs(sum - c.sum)
}

// entropyMultiplier returns ν − top by Newton's method on ν ↦ ln of the free part, kept in a
// bracket, and the excess of the sum there, which is large if 100 passes did not suffice.
func (c *CappedSimplex) entropyMultiplier(theta []float64, top float64) (nu, excess float64) {
	lo, hi := math.Inf(-1), math.Inf(1)
	nu = LogSumExp(theta) - top - portable.Log(c.sum)
	step := 1.0
	for range 100 {
		f, free := c.entropyExcess(theta, top, nu)
		if math.Abs(f) <= float64(eps*c.sum) {
			return nu, f
		}
		if f > 0 {
			lo = nu
		} else {
			hi = nu
		}
		next := math.NaN()
		if free > f { // the clipped part leaves free − f for the free one
			next = nu + portable.Log(free/(free-f))
		}
		if !(next > lo && next < hi) {
			switch {
			case math.IsInf(hi, 1):
				next = lo + step
				step *= 2
			case math.IsInf(lo, -1):
				next = hi - step
				step *= 2
			default:
				next = lo + float64(0.5*(hi-lo))
			}
		}
		if next == nu || hi-lo <= float64(eps*math.Abs(nu)) || step > 1e5 {
			return nu, f
		}
		nu = next
	}
	excess, _ = c.entropyExcess(theta, top, nu)
	return nu, excess
}

// farMultiplier finds ν as base + below or base + above, neighbouring float64s between which the
// sum passes s. A base far from ν leaves it few digits, so the search is repeated with the θ_k of a
// coordinate that moves between the two as the base, until one is near.
func (c *CappedSimplex) farMultiplier(theta []float64, top float64) (base, below, above float64) {
	_, bottom := vec.ArgMin(theta)
	base = top
	for range 40 {
		// Every float64 above 0 is e^t for a t from -745 to 710.
		lo := max(bottom-base-800, -math.MaxFloat64)
		hi := min(top-base+800, math.MaxFloat64)
		below, above = bisect(lo, hi, func(nu float64) bool {
			f, _ := c.entropyExcess(theta, base, nu)
			return f >= 0
		})
		if math.Abs(below) <= 2000 {
			break
		}
		k := c.mover(theta, base, below, above)
		if k < 0 || theta[k] == base {
			break
		}
		base = theta[k]
	}
	return base, below, above
}

// mover returns a coordinate that differs between two multipliers, or -1.
func (c *CappedSimplex) mover(theta []float64, base, below, above float64) int {
	for i, t := range theta {
		if c.entropyAt(i, t, base, below, 1) != c.entropyAt(i, t, base, above, 1) {
			return i
		}
	}
	return -1
}

// entropyExcess is Σclip(e^{θ−base−ν}, l, u) − s and the part of the sum strictly between the
// sides.
func (c *CappedSimplex) entropyExcess(theta []float64, base, nu float64) (f, free float64) {
	for i, t := range theta {
		x := portable.Exp((t - base) - nu)
		switch {
		case x <= c.lower[i]:
			f += c.lower[i]
		case x >= c.upper[i]:
			f += c.upper[i]
		default:
			f += x
			free += x
		}
	}
	return f - c.sum, free
}
