package round

import (
	"math"

	"github.com/noregret/noregret/pasto"
)

// Drop sets the share of arm k to 0 and scales the other shares of p to sum to 1. A mixture of arm
// k alone becomes uniform over the active arms.
func Drop(p []float64, k int, active []bool) {
	p[k] = 0
	Normalize(p, active)
}

// Normalize scales p to sum to 1, and makes it uniform over the arms in use if it is 0.
func Normalize(p []float64, use []bool) {
	sum, n := 0.0, 0
	for k, v := range p {
		if sum += v; use[k] {
			n++
		}
	}
	for k := range p {
		if sum > 0 {
			p[k] /= sum
		} else if use[k] {
			p[k] = 1 / float64(n)
		}
	}
}

// Cap cuts off what of p is above the largest share that each arm may have. It goes to arm to, or
// where that is negative to the arms of the best scores that have room. P becomes a mixture of the
// active arms in proportion where they have too little.
func Cap(p []float64, to int, most []float64, score func(k int) float64, active []bool) {
	excess := 0.0
	for k := range p {
		if !active[k] {
			excess += p[k]
			p[k] = 0
		} else if p[k] > most[k] {
			excess += p[k] - most[k]
			p[k] = most[k]
		}
	}
	if to >= 0 {
		p[to] += excess
		return
	}
	for excess > 1e-15 {
		best, top := -1, math.Inf(-1)
		for k, v := range p {
			if active[k] && v < most[k] {
				if v := score(k); best < 0 || v > top {
					best, top = k, v
				}
			}
		}
		if best < 0 {
			Normalize(p, active)
			return
		}
		more := min(excess, most[best]-p[best])
		p[best] += more
		excess -= more
	}
}

// Shrink makes p the mixture (1−ρ)·e_k + ρ·p of arm k and itself.
func Shrink(p []float64, k int, rho float64) {
	if rho >= 1 {
		return
	}
	rest := 1.0
	for a, v := range p {
		if p[a] = float64(rho * v); a != k {
			rest -= p[a]
		}
	}
	p[k] = max(rest, 0)
}

// SafeShare returns the largest ρ up to 1 with which the mixture (1−ρ)·e_k + ρ·p has a slack of at
// least 0 in every guardrail, by the slacks of the arms: K·J, −Inf where there is no bound. It is 0
// where arm k itself has none.
func SafeShare(p []float64, k int, slack *pasto.Table) float64 {
	rho := 1.0
	for j, own := range slack.Arm(k) {
		sum := 0.0
		for a, v := range p {
			if v > 0 {
				sum += float64(v * slack.Arm(a)[j])
			}
		}
		switch {
		case own < 0 || math.IsInf(sum, -1):
			rho = 0
		case sum < 0:
			rho = min(rho, own/(own-sum))
		}
	}
	return rho
}

// LargestShare looks by bisection for the largest share for which try succeeds, where it succeeds
// for 0 and, if for any, for all smaller ones. Its last call of try is with what it has found, a
// multiple of 2^−steps below 1. Steps is 1 or more.
func LargestShare(steps int, try func(share float64) bool) {
	low, high, at := 0.0, 1.0, 0.0
	for range steps {
		if at = (low + high) / 2; try(at) {
			low = at
		} else {
			high = at
		}
	}
	if at != low {
		try(low)
	}
}
