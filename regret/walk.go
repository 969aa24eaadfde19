package regret

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// centralBinomial is C(2m, m)/4^m, the probability that a walk of 2m fair steps of ±1 ends where it
// began, to a few units in the last place: a product for small m, and Stirling's series beyond,
//
//	1/√(πm)·exp(−1/(8m) + 1/(192m³) − 1/(640m⁵) + 17/(14336m⁷)).
func centralBinomial(m int) float64 {
	if m <= 40 {
		p := 1.0
		for i := 1; i <= m; i++ {
			p = p * float64(2*i-1) / float64(2*i)
		}
		return p
	}
	n := float64(m)
	s := 1 / float64(n*n)
	series := -1.0/640 + float64(s*(17.0/14336))
	series = 1.0/192 + float64(s*series)
	series = -0.125 + float64(s*series)
	return portable.Exp(series/n) / math.Sqrt(float64(math.Pi*n))
}

// walkMean is E|S_n| for a walk of n ≥ 1 fair steps, n·C(n−1, ⌊(n−1)/2⌋)/2^(n−1), of order
// √(2n/π) and at least √(n/2).
func walkMean(n int) float64 {
	if n < 1 {
		return 0
	}
	return float64(n) * centralBinomial(n/2) // C(2m−1, m−1)/2^(2m−1) = C(2m, m)/4^m
}

// walkSign is E sign(k + S_n) for a walk of n fair steps, with sign 0 = 0: for k > 0 it is P(−k ≤
// S_n < k), odd in k. Exact where it is 0 or ±1 and accurate to about 1e-14 between. It takes
// O(min(|k|, √n)) time.
func walkSign(k, n int) float64 {
	switch {
	case k < 0:
		return -walkSign(-k, n)
	case k == 0:
		return 0
	// Hoeffding: what is missing is below 2·exp(−40.5).
	case k > n || float64(k) > 9*math.Sqrt(float64(n)):
		return 1
	}
	var sum total
	var p float64
	j := n % 2 // S_n has the parity of n
	if j == 0 {
		p = centralBinomial(n / 2)
		sum.add(p)
	} else {
		p = centralBinomial((n + 1) / 2)
		sum.add(2 * p) // at ±1
		if k == 1 {
			return p // at −1 alone
		}
	}
	// p is P(S_n = j); go outwards.
	for j+2 <= k {
		p = float64(p * (float64(n-j) / float64(n+j+2)))
		j += 2
		if j == k {
			sum.add(p) // at −k, not at k
		} else {
			sum.add(2 * p)
		}
	}
	return min(sum.value(), 1)
}
