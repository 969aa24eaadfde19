package convex

import (
	"fmt"

	"github.com/noregret/noregret/internal/portable"
)

// UnnormalizedEntropy is ψ(x) = Σ(x_i ln x_i − x_i) on x ≥ 0: gradient ln x_i, inverse
// e^{θ_i}, conjugate Σe^{θ_i}, divergence [KL]. It differs from [NegativeEntropy] by a linear term,
// so the two have the same divergence. Each operation is O(d).
type UnnormalizedEntropy struct{ d int }

// NewUnnormalizedEntropy makes Σ(x ln x − x) on the orthant of ℝ^d.
func NewUnnormalizedEntropy(d int) (*UnnormalizedEntropy, error) {
	if err := checkDim("unnormalized entropy", d); err != nil {
		return nil, err
	}
	return &UnnormalizedEntropy{d}, nil
}

// Dim implements [MirrorMap].
func (e *UnnormalizedEntropy) Dim() int { return e.d }

// Value implements [MirrorMap].
func (e *UnnormalizedEntropy) Value(x []float64) float64 { return entropyValue(x, 1) }

// Gradient writes ln x_i.
func (e *UnnormalizedEntropy) Gradient(dst, x []float64) {
	for i, v := range x {
		dst[i] = portable.Log(v)
	}
}

// Inverse writes e^{θ_i}.
func (e *UnnormalizedEntropy) Inverse(dst, theta []float64) {
	for i, t := range theta {
		dst[i] = portable.Exp(t)
	}
}

// Conjugate is Σe^{θ_i}.
func (e *UnnormalizedEntropy) Conjugate(theta []float64) float64 {
	sum := 0.0
	for _, t := range theta {
		sum += portable.Exp(t)
	}
	return sum
}

// Divergence is [KL].
func (e *UnnormalizedEntropy) Divergence(x, y []float64) float64 { return KL(x, y) }

// StrongConvexity is 0: there is none on the whole orthant.
func (e *UnnormalizedEntropy) StrongConvexity() (float64, Norm) { return 0, L1 }

// Interior reports whether x is positive and finite.
func (e *UnnormalizedEntropy) Interior(x []float64) bool { return allPositive(x) }

// String describes it in one line, all parameters included.
func (e *UnnormalizedEntropy) String() string { return fmt.Sprintf("unnormalized-entropy(%d)", e.d) }

func (e *UnnormalizedEntropy) pairs() string { return entropyPairs }

func (e *UnnormalizedEntropy) part(from, to int) restrictable { return &UnnormalizedEntropy{to - from} }

func (e *UnnormalizedEntropy) restrict(s Set) (pair, error) {
	out, err := restrictEntropy(s, 0)
	if sx, ok := s.(*Simplex); ok && err == nil {
		out.conjugate = func(theta []float64) float64 { // s·LSE(θ) − s ln s + s
			return float64(sx.s*LogSumExp(theta)) - portable.XLogX(sx.s) + sx.s
		}
	}
	return out, err
}
