package bandit

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
)

// KLUCB is KL-UCB (Garivier and Cappé 2011), which attains the lower bound [BernoulliLowerBound] as
// T grows. For losses in [0, L] round t pulls the arm of the lowest index, the first of several:
//
//	min{q ∈ [0, μ̂_i] : N_i·kl(μ̂_i, q) ≤ ln t + c·ln⁺ ln t}
//
// where μ̂_i is the mean of the N_i losses of arm i, divided by L, ln⁺ is max(ln, 0) and kl is
// [BernoulliDivergence]. Each arm is pulled once first. The theory has c = 3; c = 0 does better in
// practice. The losses may be any in the range: the divergence of Bernoulli distributions is the
// smallest that holds for all of them. Its regret after finitely many rounds is bounded by Cappé,
// Garivier, Maillard, Munos and Stoltz (2013); there is no function for that bound here.
//
// The index is found by Newton's method from below: kl is convex and falls up to μ̂_i, so that the
// iterates rise to the root. A round costs O(d), an index only for arms that are below those before
// them. From 64 arms on it costs O(log d) and one such step for each number of losses that arms
// have, or an index for each arm that is near the lowest; arms whose indices differ by rounding
// only may then change places. It allocates nothing in the long run.
type KLUCB struct {
	// C is c, from 0 to 1e6.
	C float64
	// Limit is L, from 1e-100 to 1e100.
	Limit float64
}

func (u KLUCB) plan(int) (*plan, error) {
	if err := checkPositive("limit", u.Limit); err != nil {
		return nil, err
	}
	if !(u.C >= 0 && u.C <= 1e6) {
		return nil, noregret.BadInputf("c", "%v: want a number from 0 to 1e6", u.C)
	}
	return &plan{
		name: "kl-ucb", options: fmt.Sprintf(", c=%v, limit=%v", u.C, u.Limit), high: u.Limit,
		method: &indices{rule: u},
	}, nil
}

// bonus is ln t + c·ln⁺ ln t.
func (u KLUCB) bonus(t float64, _ int) float64 {
	ln := portable.Log(t)
	return ln + float64(u.C*portable.Log(max(ln, 1)))
}

// index is L·q, and +Inf if it is clearly above least.
func (u KLUCB) index(n, mean, bonus, least float64) float64 {
	p, share := mean/u.Limit, bonus/n
	least /= u.Limit
	if least < p && (p-math.Sqrt(share/2) > least || // Pinsker: the index is not below this
		least > 0 && BernoulliDivergence(p, least) > float64(share*(1+1e-9))+1e-14) {
		return math.Inf(1)
	}
	return u.Limit * klLower(p, share)
}

// klLower returns the least q ≤ p with kl(p, q) ≤ b.
func klLower(p, b float64) float64 {
	if p <= 0 || b <= 0 {
		return max(p, 0)
	}
	p = min(p, 1)
	// Two points left of the root: kl(p, q) ≥ 2·(p − q)², and kl(p, q) ≥ Σ p·ln p − p·ln q.
	entropy := -portable.XLogX(p) - portable.XLogX(1-p)
	q := max(p-math.Sqrt(b/2), portable.Exp(-(b+entropy)/p))
	if q <= 0 || p == 1 {
		return max(q, 0) // the second point is below every float64, or is the root
	}
	for range 100 {
		// kl'(q) = (q − p)/(q·(1 − q))
		step := (BernoulliDivergence(p, q) - b) * float64(q*(1-q)) / (p - q)
		if !(step > 1e-16*q) || q+step >= p {
			break
		}
		q += step
	}
	return q
}

// BernoulliDivergence is kl(p, q) = p·ln(p/q) + (1−p)·ln((1−p)/(1−q)), the Kullback-Leibler
// divergence of Bernoulli distributions with means p and q in [0, 1]. It is +Inf if q is 0 or 1 and
// p is not.
func BernoulliDivergence(p, q float64) float64 {
	sum := 0.0
	if p > 0 {
		sum += float64(p * portable.Log(p/q))
	}
	if p < 1 {
		sum += float64((1 - p) * portable.Log((1-p)/(1-q)))
	}
	return max(sum, 0)
}

// BernoulliLowerBound is the least limit of the pseudo-regret over ln T on Bernoulli arms with
// these mean losses, for every algorithm whose regret grows slower than each power of T on all of
// them:
//
//	Σ_{Δ_i > 0} Δ_i/kl(μ_i, min μ)
//
// (Lai and Robbins 1985). Orabona (2019, Theorem 10.17) prints Σ 1/(2Δ_i), which is at least as
// large by Pinsker's inequality and no lower bound.
func BernoulliLowerBound(means []float64) float64 {
	least := math.Inf(1)
	for _, m := range means {
		least = min(least, m)
	}
	sum := 0.0
	for _, m := range means {
		if m > least {
			sum += (m - least) / BernoulliDivergence(m, least)
		}
	}
	return sum
}
