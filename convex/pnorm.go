package convex

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
)

// PNorm is ψ(x) = ½‖x‖_p² on ℝ^d, 1 < p ≤ 2, with 1/p + 1/q = 1: gradient
// sgn(x_j)|x_j|^{p−1}‖x‖_p^{2−p}, conjugate ½‖θ‖_q², inverse sgn(θ_j)|θ_j|^{q−1}‖θ‖_q^{2−q},
// and ψ is (p−1)-strongly convex in Lp (Orabona 2019, Lemma 6.17). Each
// operation is O(d).
type PNorm struct {
	d    int
	norm *Lp
	dual *Lp
}

// NewPNorm makes ½‖x‖_p² on ℝ^d for 1 < p ≤ 2. [NearL1] gives the p for gradients bounded in L∞.
func NewPNorm(d int, p float64) (*PNorm, error) {
	if err := checkDim("p-norm", d); err != nil {
		return nil, err
	}
	if !(p > 1 && p <= 2) {
		return nil, noregret.BadInputf("p-norm", "the exponent is %v, want above 1 and at most 2", p)
	}
	norm, err := NewLp(p)
	if err != nil {
		return nil, err
	}
	return &PNorm{d, norm, norm.Dual().(*Lp)}, nil
}

// Dim implements [MirrorMap].
func (m *PNorm) Dim() int { return m.d }

// P is the exponent p.
func (m *PNorm) P() float64 { return m.norm.p }

// Value implements [MirrorMap].
func (m *PNorm) Value(x []float64) float64 {
	n := m.norm.Of(x)
	return float64(0.5*n) * n
}

// Gradient implements [MirrorMap]; it is 0 at 0.
func (m *PNorm) Gradient(dst, x []float64) { dualMap(dst, x, m.norm.p) }

// Inverse implements [MirrorMap]; it is 0 at 0.
func (m *PNorm) Inverse(dst, theta []float64) { dualMap(dst, theta, m.norm.q) }

// Conjugate is ½‖θ‖_q².
func (m *PNorm) Conjugate(theta []float64) float64 {
	n := m.dual.Of(theta)
	return float64(0.5*n) * n
}

// Interior reports whether x is finite.
func (m *PNorm) Interior(x []float64) bool { return vec.Finite(x) }

// StrongConvexity is p−1 in Lp.
func (m *PNorm) StrongConvexity() (float64, Norm) { return m.norm.Regularity(), m.norm }

// String describes it in one line, all parameters included.
func (m *PNorm) String() string { return fmt.Sprintf("p-norm(%d, %s)", m.d, formatFloat(m.norm.p)) }

func (m *PNorm) pairs() string { return "Space, a centered Ball of the same norm" }

func (m *PNorm) restrict(s Set) (pair, error) {
	out := pair{lambda: m.norm.Regularity(), norm: m.norm}
	switch s := s.(type) {
	case *Space:
		out.argmax, out.conjugate = m.Inverse, m.Conjugate
	case *Ball:
		if s.center != nil || s.norm.p != m.norm.p {
			return pair{}, errPair
		}
		out.argmax = func(dst, theta []float64) { // radial: the free maximizer has norm ‖θ‖_q
			n := m.dual.Of(theta)
			m.Inverse(dst, theta)
			if n <= s.radius {
				s.shrink(dst)
				return
			}
			f := s.radius / n
			for i := range dst {
				dst[i] *= f
			}
			s.shrink(dst)
		}
		out.conjugate = func(theta []float64) float64 {
			n := m.dual.Of(theta)
			if n <= s.radius {
				return float64(0.5*n) * n
			}
			return float64(s.radius * (n - float64(0.5*s.radius)))
		}
	default:
		return pair{}, errPair
	}
	return out, nil
}

// Divergence is ½(a−b)² + a·b·Σγ_i with a = ‖x‖_p, b = ‖y‖_p and γ_i = |u_i|^p/p + |w_i|^p/q −
// sgn(w_i)|w_i|^{p−1}u_i ≥ 0 for u = x/a, w = y/b: a sum of terms that are not negative, and a−b
// and each γ_i are formed from x_i − y_i where that is small. O(d).
func (m *PNorm) Divergence(x, y []float64) float64 {
	b := m.norm.Of(y)
	if b == 0 {
		return m.Value(x)
	}
	p, q := m.norm.p, m.norm.q
	// ‖x‖^p/b^p − 1, coordinate by coordinate
	excess := 0.0
	for i, v := range x {
		w := math.Abs(y[i]) / b
		if delta := (v - y[i]) / y[i]; math.Abs(delta) < 0.25 {
			excess += float64(portable.Pow(w, p) * portable.Expm1(float64(p*portable.Log1p(delta))))
		} else {
			excess += portable.Pow(math.Abs(v)/b, p) - portable.Pow(w, p)
		}
	}
	rho := -1.0 // a/b − 1
	if excess > -1 {
		rho = portable.Expm1(portable.Log1p(excess) / p)
	}
	if !(rho > -1) {
		return float64(0.5*b) * b
	}
	gap := 0.0
	for i, v := range x {
		w := math.Abs(y[i]) / b
		if delta := (v - y[i]) / y[i]; math.Abs(delta) < 0.25 && math.Abs(rho) < 0.1 {
			gap += float64(portable.Pow(w, p) * binomialGap((delta-rho)/(1+rho), p))
			continue
		}
		u := float64(v/b) / (1 + rho)
		term := portable.Pow(math.Abs(u), p)/p + portable.Pow(w, p)/q
		if y[i] != 0 {
			term -= float64(math.Copysign(portable.Pow(w, p-1), y[i]) * u)
		}
		gap += max(term, 0)
	}
	return float64(b*b) * (float64(0.5*float64(rho*rho)) + float64((1+rho)*gap))
}

// binomialGap is ((1+s)^p − 1 − p·s)/p for |s| < ½, by the binomial series without its first two
// terms.
func binomialGap(s, p float64) float64 {
	sum, term := 0.0, s
	for k := 2.0; k < 60; k++ {
		term = float64(term * (float64(s*(p-k+1)) / k))
		sum += term
		if math.Abs(term) <= 1e-18*math.Abs(sum) {
			break
		}
	}
	return sum
}
