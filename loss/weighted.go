package loss

import (
	"math"

	"github.com/noregret/noregret"
)

// Weighted is w·f(x): a loss with an importance weight, such as 1/p for an example that was kept
// with probability p, or the number of times that it occurred. If F is a [SparseFunction], so is
// Weighted. SparseSubgradient uses a buffer and is not safe for concurrent use.
type Weighted struct {
	F      Function
	Weight float64

	scaled []float64
}

// NewWeighted returns w·f for a finite weight w ≥ 0.
func NewWeighted(f Function, weight float64) (*Weighted, error) {
	if f == nil {
		return nil, noregret.BadInputf("f", "nil: want a function")
	}
	if !(weight >= 0) || math.IsInf(weight, 1) {
		return nil, noregret.BadInputf("weight", "%v: want a finite number, at least 0", weight)
	}
	return &Weighted{F: f, Weight: weight}, nil
}

// Dim implements [Function].
func (f *Weighted) Dim() int { return f.F.Dim() }

// Value implements [Function]. With weight 0 it is 0, also outside the domain of F.
func (f *Weighted) Value(x []float64) float64 { return f.times(f.F.Value(x)) }

// Subgradient implements [Function].
func (f *Weighted) Subgradient(dst, x []float64) {
	f.F.Subgradient(dst, x)
	for i, v := range dst {
		dst[i] = f.times(v)
	}
}

// SparseSubgradient implements [SparseFunction]. It allocates only when the number of non-zeros
// grows.
func (f *Weighted) SparseSubgradient(x []float64) (g Sparse, ok bool) {
	inner, ok := f.F.(SparseFunction)
	if !ok {
		return Sparse{}, false
	}
	if g, ok = inner.SparseSubgradient(x); !ok {
		return Sparse{}, false
	}
	f.scaled = f.scaled[:0]
	for _, v := range g.Value {
		f.scaled = append(f.scaled, f.times(v))
	}
	g.Value = f.scaled
	return g, true
}

// times is w·v, and 0 for w = 0 also where v is infinite.
func (f *Weighted) times(v float64) float64 {
	if f.Weight == 0 {
		return 0
	}
	return f.Weight * v
}

// Lipschitz implements [Curvature].
func (f *Weighted) Lipschitz(radius float64) float64 {
	if c, ok := f.F.(Curvature); ok {
		return f.times(c.Lipschitz(radius))
	}
	return f.times(math.Inf(1))
}

// Smoothness implements [Curvature].
func (f *Weighted) Smoothness() float64 {
	if c, ok := f.F.(Curvature); ok {
		return f.times(c.Smoothness())
	}
	return f.times(math.Inf(1))
}

// StrongConvexity implements [Curvature].
func (f *Weighted) StrongConvexity() float64 {
	if c, ok := f.F.(Curvature); ok {
		return f.times(c.StrongConvexity())
	}
	return 0
}
