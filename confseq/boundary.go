package confseq

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// The boundaries of this file are heights u(v) that a sum S of martingale differences, whose
// squares sum to v, ever reaches with probability at most alpha.

// mixtureRadius is the normal mixture's boundary √((v + ρ)·(ln((v + ρ)/ρ) + l)) with l = 2·ln(1/α)
// for the size of the sum (Robbins 1970). It is the tightest at v = tight, by the usual
// approximation ρ = tight/(l + ln(1 + l)).
func mixtureRadius(v, tight, l float64) float64 {
	rho := tight / (l + portable.Log1p(l))
	total := v + rho
	return math.Sqrt(total * (portable.Log(total/rho) + l))
}

// oneSided returns l of [mixtureRadius] for one side at level alpha. The mixture over the positive
// half of the normal distribution is 2·Φ(z) times that over both, and where it reaches 1/α, z is at
// least z₀ = √(2·ln(1/(2α))): the level of both sides is 2α·Φ(z₀), with Φ(z) ≥ 1 − φ(z)/z.
func oneSided(alpha float64) float64 {
	most := 1.0
	if l := float64(-2 * portable.Log(2*alpha)); l > 0 {
		const root2pi = 2.5066282746310002
		most = max(1, 2*(1-2*alpha/(root2pi*math.Sqrt(l))))
	}
	return float64(-2 * portable.Log(float64(most*alpha)))
}

// heavy is the weight of the values of λ that suit the effect. The smaller values have the rest.
const heavy = 0.85

// boundedRadius is the boundary for terms of size at most bound: the u at which the mixture over λ
// of
//
//	exp(λ·u − (−ln(1−λ) − λ)·v)
//
// is 1/α, with u and v in units of bound and its square. Each of these is a supermartingale at the
// sum (Fan, Grama and Liu 2015), so the mixture is one, and Ville's inequality makes it a boundary.
// Most of the weight is on λ from effect/4 to 1/2.
func boundedRadius(v, alpha, bound, effect float64) float64 {
	v /= bound * bound
	logs := lambdaLogs(effect)
	bar := -portable.Log(alpha)
	u := math.Inf(1)
	for j := range flatRates {
		r := &flatRates[j]
		u = min(u, (bar-logs[j]+float64(r.psi*v))/r.lambda)
	}
	// The logarithm of the mixture is convex and increasing in u, and u is above the root: Newton's
	// steps fall to it and never below.
	for range 8 {
		top := math.Inf(-1)
		var terms [lambdas]float64
		for j := range flatRates {
			r := &flatRates[j]
			terms[j] = logs[j] + float64(r.lambda*u) - float64(r.psi*v)
			top = max(top, terms[j])
		}
		sum, slope := 0.0, 0.0
		for j := range terms {
			if terms[j]-top < -40 {
				continue // lost in the sum
			}
			e := portable.Exp(terms[j] - top)
			sum += e
			slope += float64(flatRates[j].lambda * e)
		}
		step := (top + portable.Log(sum) - bar) * sum / slope
		if !(step > 1e-9*u) {
			break
		}
		u -= step
	}
	return float64(u * bound)
}

// The number of values of λ with the weight heavy together.
const fewHeavy, mostHeavy = 4, 16

// heavyLogs are the logarithms of the weights of the values of λ in [boundedRadius], by the number
// of those with the weight heavy together, from fewHeavy on.
var heavyLogs = func() (out [mostHeavy - fewHeavy + 1][lambdas]float64) {
	for i := range out {
		n := i + fewHeavy
		for j := range out[i] {
			if j < n {
				out[i][j] = portable.Log(heavy / float64(n))
			} else {
				k := float64(j - n + 1)
				out[i][j] = portable.Log((1 - heavy) / float64(k*(k+1)))
			}
		}
	}
	return out
}()

// lambdaLogs returns the logarithms of the weights for an effect.
func lambdaLogs(effect float64) *[lambdas]float64 {
	n := fewHeavy
	for n < mostHeavy && flatRates[n].lambda >= effect/4 {
		n++
	}
	return &heavyLogs[n-fewHeavy]
}
