package loss

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
)

func checkFinite(place string, v []float64) error {
	if len(v) == 0 {
		return noregret.BadInputf(place, "no values: at least one is required")
	}
	for i, x := range v {
		if !vec.IsFinite(x) {
			return noregret.BadInputf(fmt.Sprintf("%s[%d]", place, i), "%v: want a finite number", x)
		}
	}
	return nil
}

// Linear is f(x) = ⟨c, x⟩.
type Linear struct {
	C []float64

	sparse Sparse // the non-zeros of C; Index is nil if they are not known
}

// NewLinear returns ⟨c, ·⟩. It keeps c.
func NewLinear(c []float64) (*Linear, error) {
	if err := checkFinite("c", c); err != nil {
		return nil, err
	}
	return &Linear{C: c}, nil
}

// Dim implements [Function].
func (f *Linear) Dim() int { return len(f.C) }

// Value implements [Function].
func (f *Linear) Value(x []float64) float64 { return vec.DotInOrder(f.C, x) }

// Subgradient implements [Function].
func (f *Linear) Subgradient(dst, _ []float64) { copy(dst, f.C) }

// Lipschitz implements [Curvature].
func (f *Linear) Lipschitz(float64) float64 { return vec.Norm2(f.C) }

// Smoothness implements [Curvature].
func (f *Linear) Smoothness() float64 { return 0 }

// StrongConvexity implements [Curvature].
func (f *Linear) StrongConvexity() float64 { return 0 }

// SquaredDistance is f(x) = ‖x−c‖₂², 2-smooth and 2-strongly convex; in one dimension the loss of
// the number-guessing game.
type SquaredDistance struct{ C []float64 }

// NewSquaredDistance returns ‖·−c‖². It keeps c.
func NewSquaredDistance(c []float64) (*SquaredDistance, error) {
	if err := checkFinite("c", c); err != nil {
		return nil, err
	}
	return &SquaredDistance{C: c}, nil
}

// Dim implements [Function].
func (f *SquaredDistance) Dim() int { return len(f.C) }

// Value implements [Function].
func (f *SquaredDistance) Value(x []float64) float64 {
	var s float64
	for i, c := range f.C {
		s += float64((x[i] - c) * (x[i] - c))
	}
	return s
}

// Subgradient implements [Function].
func (f *SquaredDistance) Subgradient(dst, x []float64) {
	for i, c := range f.C {
		dst[i] = 2 * (x[i] - c)
	}
}

// Lipschitz implements [Curvature].
func (f *SquaredDistance) Lipschitz(radius float64) float64 { return 2 * (radius + vec.Norm2(f.C)) }

// Smoothness implements [Curvature].
func (f *SquaredDistance) Smoothness() float64 { return 2 }

// StrongConvexity implements [Curvature].
func (f *SquaredDistance) StrongConvexity() float64 { return 2 }

// Ridge is f(x) + (λ/2)‖x‖₂²: a loss with its regularizer, as in support vector machines.
type Ridge struct {
	F      Function
	Lambda float64
}

// NewRidge adds (lambda/2)‖·‖² to f, lambda ≥ 0.
func NewRidge(f Function, lambda float64) (*Ridge, error) {
	if f == nil {
		return nil, noregret.BadInputf("f", "nil: want a function")
	}
	if !(lambda >= 0) || math.IsInf(lambda, 1) {
		return nil, noregret.BadInputf("lambda", "%v: want a finite number, at least 0", lambda)
	}
	return &Ridge{F: f, Lambda: lambda}, nil
}

// Dim implements [Function].
func (f *Ridge) Dim() int { return f.F.Dim() }

// Value implements [Function].
func (f *Ridge) Value(x []float64) float64 {
	return f.F.Value(x) + float64(f.Lambda/2*vec.DotInOrder(x, x))
}

// Subgradient implements [Function].
func (f *Ridge) Subgradient(dst, x []float64) {
	f.F.Subgradient(dst, x)
	for i, v := range x {
		dst[i] += float64(f.Lambda * v)
	}
}

// Lipschitz implements [Curvature].
func (f *Ridge) Lipschitz(radius float64) float64 {
	c, ok := f.F.(Curvature)
	if !ok || f.Lambda > 0 && math.IsInf(radius, 1) {
		return math.Inf(1)
	}
	if f.Lambda == 0 {
		return c.Lipschitz(radius)
	}
	return c.Lipschitz(radius) + float64(f.Lambda*radius)
}

// Smoothness implements [Curvature].
func (f *Ridge) Smoothness() float64 {
	if c, ok := f.F.(Curvature); ok {
		return c.Smoothness() + f.Lambda
	}
	return math.Inf(1)
}

// StrongConvexity implements [Curvature].
func (f *Ridge) StrongConvexity() float64 {
	if c, ok := f.F.(Curvature); ok {
		return c.StrongConvexity() + f.Lambda
	}
	return f.Lambda
}

// Max is f(x) = max_i f_i(x), with the subgradient of the first f_i that attains it.
type Max struct{ F []Function }

// NewMax returns the maximum of one or more functions of the same dimension. It copies the slice.
func NewMax(f ...Function) (*Max, error) {
	if len(f) == 0 {
		return nil, noregret.BadInputf("f", "no functions: at least one is required")
	}
	for i, g := range f {
		if g == nil || g.Dim() != f[0].Dim() {
			return nil, noregret.BadInputf(fmt.Sprintf("f[%d]", i),
				"want a function of the first one's dimension")
		}
	}
	return &Max{F: slices.Clone(f)}, nil
}

// Dim implements [Function].
func (f *Max) Dim() int { return f.F[0].Dim() }

func (f *Max) argmax(x []float64) (best int, value float64) {
	value = f.F[0].Value(x)
	for i, g := range f.F[1:] {
		if v := g.Value(x); v > value {
			best, value = i+1, v
		}
	}
	return best, value
}

// Value implements [Function].
func (f *Max) Value(x []float64) float64 {
	_, v := f.argmax(x)
	return v
}

// Subgradient implements [Function].
func (f *Max) Subgradient(dst, x []float64) {
	i, _ := f.argmax(x)
	f.F[i].Subgradient(dst, x)
}

// Lipschitz implements [Curvature].
func (f *Max) Lipschitz(radius float64) float64 {
	var l float64
	for _, g := range f.F {
		c, ok := g.(Curvature)
		if !ok {
			return math.Inf(1)
		}
		l = max(l, c.Lipschitz(radius))
	}
	return l
}

// Smoothness implements [Curvature].
func (f *Max) Smoothness() float64 {
	if c, ok := f.F[0].(Curvature); ok && len(f.F) == 1 {
		return c.Smoothness()
	}
	return math.Inf(1)
}

// StrongConvexity implements [Curvature].
func (f *Max) StrongConvexity() float64 {
	mu := math.Inf(1)
	for _, g := range f.F {
		c, ok := g.(Curvature)
		if !ok {
			return 0
		}
		mu = min(mu, c.StrongConvexity())
	}
	return mu
}

// Composite is f(x) + λ‖x‖₁. Learners for composite losses treat the two parts separately and never
// linearize the l1 part. As a [Function] its subgradient is that of f plus λ·sign(x), 0 at the
// kinks.
type Composite struct {
	F      Function
	Lambda float64
}

// NewComposite adds lambda·‖·‖₁ to f, lambda ≥ 0.
func NewComposite(f Function, lambda float64) (*Composite, error) {
	if _, err := NewRidge(f, lambda); err != nil {
		return nil, err
	}
	return &Composite{F: f, Lambda: lambda}, nil
}

// Dim implements [Function].
func (f *Composite) Dim() int { return f.F.Dim() }

// Value implements [Function].
func (f *Composite) Value(x []float64) float64 {
	var s float64
	for _, v := range x {
		s += math.Abs(v)
	}
	return f.F.Value(x) + float64(f.Lambda*s)
}

// Subgradient implements [Function].
func (f *Composite) Subgradient(dst, x []float64) {
	f.F.Subgradient(dst, x)
	for i, v := range x {
		dst[i] += float64(f.Lambda * sign(v))
	}
}

// Lipschitz implements [Curvature].
func (f *Composite) Lipschitz(radius float64) float64 {
	c, ok := f.F.(Curvature)
	if !ok {
		return math.Inf(1)
	}
	return c.Lipschitz(radius) + float64(f.Lambda*math.Sqrt(float64(f.Dim())))
}

// Smoothness implements [Curvature].
func (f *Composite) Smoothness() float64 {
	if c, ok := f.F.(Curvature); ok && f.Lambda == 0 {
		return c.Smoothness()
	}
	return math.Inf(1)
}

// StrongConvexity implements [Curvature].
func (f *Composite) StrongConvexity() float64 {
	if c, ok := f.F.(Curvature); ok {
		return c.StrongConvexity()
	}
	return 0
}
