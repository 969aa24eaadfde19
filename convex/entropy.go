package convex

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// NegativeEntropy is ψ(x) = Σ x_i ln x_i on x ≥ 0, with 0 ln 0 = 0: gradient 1 + ln x_i, inverse
// e^{θ_i−1}, conjugate Σe^{θ_i−1}, divergence Σ x_i ln(x_i/y_i) − x_i + y_i, which is the
// Kullback–Leibler divergence when both sums are 1. It is not strongly convex on the orthant; on
// the simplex {Σx = s} it is 1/s-strongly convex in L1 (Orabona 2019, Lemma 6.15). Each operation
// is O(d).
type NegativeEntropy struct{ d int }

// NewNegativeEntropy makes Σ x ln x on the orthant of ℝ^d.
func NewNegativeEntropy(d int) (*NegativeEntropy, error) {
	if err := checkDim("negative entropy", d); err != nil {
		return nil, err
	}
	return &NegativeEntropy{d}, nil
}

// Dim implements [MirrorMap].
func (e *NegativeEntropy) Dim() int { return e.d }

// Value implements [MirrorMap].
func (e *NegativeEntropy) Value(x []float64) float64 { return entropyValue(x, 0) }

// entropyValue is Σ x ln x − shift·x.
func entropyValue(x []float64, shift float64) float64 {
	sum := 0.0
	for _, v := range x {
		if v < 0 {
			return math.Inf(1)
		}
		sum += portable.XLogX(v) - float64(shift*v)
	}
	return sum
}

// Gradient writes 1 + ln x_i.
func (e *NegativeEntropy) Gradient(dst, x []float64) {
	for i, v := range x {
		dst[i] = 1 + portable.Log(v)
	}
}

// Inverse writes e^{θ_i−1}.
func (e *NegativeEntropy) Inverse(dst, theta []float64) {
	for i, t := range theta {
		dst[i] = portable.Exp(t - 1)
	}
}

// Conjugate is Σe^{θ_i−1}.
func (e *NegativeEntropy) Conjugate(theta []float64) float64 {
	sum := 0.0
	for _, t := range theta {
		sum += portable.Exp(t - 1)
	}
	return sum
}

// Divergence is [KL] for the general, unnormalized case.
func (e *NegativeEntropy) Divergence(x, y []float64) float64 { return KL(x, y) }

// StrongConvexity is 0: there is none on the whole orthant.
func (e *NegativeEntropy) StrongConvexity() (float64, Norm) { return 0, L1 }

// Interior reports whether x is positive and finite.
func (e *NegativeEntropy) Interior(x []float64) bool { return allPositive(x) }

// String describes it in one line, all parameters included.
func (e *NegativeEntropy) String() string { return fmt.Sprintf("negative-entropy(%d)", e.d) }

func allPositive(x []float64) bool {
	for _, v := range x {
		if !(v > 0) || math.IsInf(v, 1) {
			return false
		}
	}
	return true
}

// KL is Σ x_i ln(x_i/y_i) − x_i + y_i for x, y ≥ 0: the Kullback–Leibler divergence where both sums
// are 1. 0 ln 0 is 0 and it is +Inf where x_i > 0 = y_i or an argument is negative. Each term is
// formed without cancellation, so the result is accurate for x near y. O(d).
func KL(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		sum += klTerm(v, y[i])
	}
	return sum
}

// klTerm is x ln(x/y) − x + y. With s = (x−y)/(x+y), ln(x/y) = 2·artanh(s) and the term is
// (x+y)·(s² + (1+s)(s³/3 + s⁵/5 + ...)).
func klTerm(x, y float64) float64 {
	switch {
	case x < 0 || y < 0:
		return math.Inf(1)
	case x == y:
		return 0
	case x == 0:
		return y
	case y == 0:
		return math.Inf(1)
	}
	s := (x - y) / (x + y)
	if math.Abs(s) > 0.2 {
		ratio := x / y
		ln := 0.0
		if ratio > 0 && !math.IsInf(ratio, 1) {
			ln = portable.Log(ratio)
		} else {
			ln = portable.Log(x) - portable.Log(y)
		}
		return float64(x*ln) - (x - y)
	}
	z := float64(s * s)
	tail := 0.0
	for k := 25; k >= 3; k -= 2 { // 0.2^24/25 < 1e-18
		tail = float64(z * (1/float64(k) + tail))
	}
	return float64((x + y) * (z + float64(float64((1+s)*s)*tail)))
}

func (e *NegativeEntropy) pairs() string { return entropyPairs }

func (e *NegativeEntropy) part(from, to int) restrictable { return &NegativeEntropy{to - from} }

func (e *NegativeEntropy) restrict(s Set) (pair, error) {
	out, err := restrictEntropy(s, 1)
	if sx, ok := s.(*Simplex); ok && err == nil {
		out.conjugate = func(theta []float64) float64 { // s·LSE(θ) − s ln s
			return float64(sx.s*LogSumExp(theta)) - portable.XLogX(sx.s)
		}
	}
	return out, err
}

const entropyPairs = "Space, Simplex, CappedSimplex and Box with upper sides above 0 (and lower bounds at least 0 " +
	"for CappedSimplex), Product of these"

// restrictEntropy is the oracle of Σ x ln x + (shift−1)·x: the free maximizer is e^{θ−shift}.
func restrictEntropy(s Set, shift float64) (pair, error) {
	switch s := s.(type) {
	case *Space:
		return pair{argmax: func(dst, theta []float64) {
			for i, t := range theta {
				dst[i] = portable.Exp(t - shift)
			}
		}, norm: L1}, nil
	case *Simplex:
		return pair{argmax: func(dst, theta []float64) { softmax(dst, theta, s.s) }, lambda: 1 / s.s, norm: L1}, nil
	case *Box:
		// the Hessian is diag(1/x), at least 1/max u
		top := 0.0
		for _, u := range s.upper {
			if !(u > 0) {
				return pair{}, errPair
			}
			top = max(top, u)
		}
		return pair{argmax: func(dst, theta []float64) {
			for i, t := range theta {
				dst[i] = clip(portable.Exp(t-shift), s.lower[i], s.upper[i])
			}
		}, lambda: 1 / top, norm: L2}, nil
	case *CappedSimplex:
		for i, l := range s.lower {
			if l < 0 || !(s.upper[i] > 0) {
				return pair{}, errPair
			}
		}
		return pair{argmax: s.entropyArgmax, lambda: 1 / s.sum, norm: L1}, nil
	}
	return pair{}, errPair
}
