package convex

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
)

// Lp is the norm ‖x‖_p = (Σ|x_i|^p)^{1/p}, p in [1, ∞]. Make one with [NewLp] or take [L1], [L2],
// [LInf]; the zero value is not a norm.
type Lp struct{ p, q float64 } // q is the exponent of the dual, 1/p + 1/q = 1

// The norms of exponents 1, 2 and ∞.
var (
	L1   = &Lp{1, math.Inf(1)}
	L2   = &Lp{2, 2}
	LInf = &Lp{math.Inf(1), 1}
)

// NewLp makes the norm of exponent p in [1, +Inf].
func NewLp(p float64) (*Lp, error) {
	switch {
	case !(p >= 1):
		return nil, noregret.BadInputf("lp norm",
			"the exponent is %v, want at least 1 (+Inf is allowed)", p)
	case p == 1:
		return L1, nil
	case p == 2:
		return L2, nil
	case math.IsInf(p, 1):
		return LInf, nil
	}
	return &Lp{p, p / (p - 1)}, nil
}

// P is the exponent.
func (n *Lp) P() float64 { return n.p }

// Of is ‖x‖_p: max|x_i| times the norm of the quotients, so that nothing overflows on the way.
// O(d).
func (n *Lp) Of(x []float64) float64 { return n.distance(x, nil) }

// distance is ‖x−y‖_p; a nil y is the origin.
func (n *Lp) distance(x, y []float64) float64 {
	switch {
	case n.p == 2:
		return vec.Distance2(x, y)
	case math.IsInf(n.p, 1):
		return vec.MaxDistance(x, y)
	case n.p == 1:
		sum := 0.0
		for i, v := range x {
			if y != nil {
				v -= y[i]
			}
			sum += math.Abs(v)
		}
		return sum
	}
	m := vec.MaxDistance(x, y)
	if m == 0 || math.IsInf(m, 1) {
		return m
	}
	sum := 0.0
	for i, v := range x {
		if y != nil {
			v -= y[i]
		}
		sum += portable.Pow(math.Abs(v)/m, n.p)
	}
	return float64(m * portable.Pow(sum, 1/n.p))
}

// Dual is the norm of exponent p/(p−1): L2 is its own dual, L1 and L∞ are each other's.
func (n *Lp) Dual() Norm {
	switch n.p {
	case 1:
		return LInf
	case 2:
		return L2
	}
	if math.IsInf(n.p, 1) {
		return L1
	}
	return &Lp{n.q, n.p}
}

// Regularity is the λ for which ½‖·‖² is λ-strongly convex with respect to this norm: p−1 for 1 < p
// ≤ 2 (Orabona 2019, Lemma 6.17), and 0, for none, elsewhere. For gradients that are bounded in L∞
// use the norm of [NearL1] in place of L1.
func (n *Lp) Regularity() float64 {
	if n.p > 1 && n.p <= 2 {
		return n.p - 1
	}
	return 0
}

// String describes it in one line, all parameters included.
func (n *Lp) String() string {
	if math.IsInf(n.p, 1) {
		return "linf"
	}
	return "l" + formatFloat(n.p)
}

// Regular is a norm whose half square has a constant of strong convexity.
type Regular interface {
	Norm
	// Regularity is the λ ≥ 0 for which ½‖·‖² is λ-strongly convex with respect to the norm, 0 when
	// there is none.
	Regularity() float64
}

// NearL1 is the exponent that stands in for 1 in dimension d: p with the dual q = 2 ln d (Orabona
// 2019, section 6.7), so that ‖·‖_q ≤ √e·‖·‖∞ while ½‖·‖_p² is 1/(2 ln d − 1)-strongly convex. For
// d ≤ 2, where 2 ln d < 2, it is 2.
func NearL1(d int) float64 {
	if d <= 2 {
		return 2
	}
	q := 2 * portable.Log(float64(d))
	return q / (q - 1)
}

// dualMap writes the gradient of ½‖x‖_q² at θ, ‖θ‖_q^{2−q}·sgn(θ_j)·|θ_j|^{q−1}, with the largest
// modulus taken out, so that nothing overflows. dst may be theta.
func dualMap(dst, theta []float64, q float64) {
	m := vec.MaxDistance(theta, nil)
	if m == 0 {
		clear(dst)
		return
	}
	sum := 0.0
	for _, t := range theta {
		sum += portable.Pow(math.Abs(t)/m, q)
	}
	factor := float64(m * portable.Pow(sum, 2/q-1))
	for i, t := range theta {
		dst[i] = math.Copysign(float64(factor*portable.Pow(math.Abs(t)/m, q-1)), t)
	}
}
