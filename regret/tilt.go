package regret

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/loss"
)

// Shape is a convex function s of one real variable, a parabola with two quadratic walls:
//
//	s(x) = (Curvature/2)·x² + Wall·(min(x − Low, 0)² + max(x − High, 0)²),
//
// with Curvature ≥ 0, Wall ≥ 0 and Low ≤ High.
type Shape struct {
	Curvature, Wall, Low, High float64
}

// Value is s(x).
func (s Shape) Value(x float64) float64 {
	below, above := min(x-s.Low, 0), max(x-s.High, 0)
	return float64(s.Curvature/2*float64(x*x)) + float64(s.Wall*(float64(below*below)+float64(above*above)))
}

// Derivative is s′(x), which is continuous.
func (s Shape) Derivative(x float64) float64 {
	return float64(s.Curvature*x) + float64(2*s.Wall*(min(x-s.Low, 0)+max(x-s.High, 0)))
}

// Minimize returns a minimizer of s(x) + slope·x on [low, high]: low where all points are.
func (s Shape) Minimize(slope, low, high float64) float64 {
	// s′ is continuous, increasing and piecewise linear, with kinks at Low and High.
	x := 0.0
	switch q, steep := -slope, s.Curvature+2*s.Wall; {
	case s.Wall > 0 && q < float64(s.Curvature*s.Low):
		x = (q + float64(2*s.Wall*s.Low)) / steep
	case s.Wall > 0 && q > float64(s.Curvature*s.High):
		x = (q + float64(2*s.Wall*s.High)) / steep
	case s.Curvature > 0:
		x = q / s.Curvature
	case s.Wall > 0: // flat between the walls
		x = s.Low
	case q > 0:
		x = high
	default:
		x = low
	}
	return min(max(x, low), high)
}

// Tilt is the loss f(x) = s(x) + Slope·x + Offset of one real variable. The difference of two
// losses of the same shape is affine, so the variation of a sequence of them is known exactly.
type Tilt struct {
	Shape         Shape
	Slope, Offset float64
}

// Dim implements [loss.Function].
func (f *Tilt) Dim() int { return 1 }

// Value implements [loss.Function].
func (f *Tilt) Value(x []float64) float64 {
	return f.Shape.Value(x[0]) + float64(f.Slope*x[0]) + f.Offset
}

// Subgradient implements [loss.Function].
func (f *Tilt) Subgradient(dst, x []float64) { dst[0] = f.Shape.Derivative(x[0]) + f.Slope }

// Lipschitz implements [loss.Curvature].
func (f *Tilt) Lipschitz(radius float64) float64 {
	if math.IsInf(radius, 1) && f.Shape.Curvature == 0 && f.Shape.Wall == 0 {
		return math.Abs(f.Slope)
	}
	return max(math.Abs(f.Shape.Derivative(radius)+f.Slope), math.Abs(f.Shape.Derivative(-radius)+f.Slope))
}

// Smoothness implements [loss.Curvature].
func (f *Tilt) Smoothness() float64 { return f.Shape.Curvature + 2*f.Shape.Wall }

// StrongConvexity implements [loss.Curvature].
func (f *Tilt) StrongConvexity() float64 { return f.Shape.Curvature }

// TiltSummary is the summary Σ Slope, Σ Offset of losses of one [Shape]. The best point is known in
// closed form: exact. O(1).
type TiltSummary struct {
	shape         Shape
	n             int
	slope, offset total
}

// NewTiltSummary summarizes losses of the given shape.
func NewTiltSummary(shape Shape) *TiltSummary { return &TiltSummary{shape: shape} }

// Add implements [Summary], for a [Tilt] of the summary's shape.
func (s *TiltSummary) Add(f loss.Function) error { return s.add(f, 1) }

// remove takes an added loss away.
func (s *TiltSummary) remove(f loss.Function) error { return s.add(f, -1) }

func (s *TiltSummary) add(f loss.Function, sign int) error {
	l, ok := f.(*Tilt)
	if !ok || l.Shape != s.shape {
		return wrongLoss("tilted losses of one shape", f)
	}
	s.n += sign
	s.slope.addProduct(float64(sign), l.Slope)
	s.offset.addProduct(float64(sign), l.Offset)
	return nil
}

// Loss implements [Summary].
func (s *TiltSummary) Loss(u []float64) float64 {
	sum := s.offset
	sum.addScaled(u[0], s.slope)
	sum.addProduct(float64(s.n), s.shape.Value(u[0]))
	return sum.value()
}

// Best implements [Summary], on boxes.
func (s *TiltSummary) Best(dst []float64, set convex.Set) (least, gap float64, err error) {
	low, high, err := line(set)
	if err != nil {
		return 0, math.Inf(1), err
	}
	mean := 0.0
	if s.n > 0 {
		mean = s.slope.value() / float64(s.n)
	}
	x := s.shape.Minimize(mean, low, high)
	if math.IsInf(x, 0) {
		return math.Inf(-1), 0, nil
	}
	dst[0] = x
	return s.Loss(dst), 0, nil
}

// Reset implements [Summary].
func (s *TiltSummary) Reset() { s.n, s.slope, s.offset = 0, total{}, total{} }

// line returns the ends of a set of ℝ, which may be infinite.
func line(set convex.Set) (low, high float64, err error) {
	if set.Dim() != 1 {
		return 0, 0, noregret.BadInputf("set", "%v: these losses are of one real variable", set)
	}
	return side(set, 1), side(set, -1), nil
}

// side is the end of an interval to the left (sign 1) or the right (−1).
func side(set convex.Set, sign float64) float64 {
	c, x := [1]float64{sign}, [1]float64{}
	if _, err := set.Minimize(x[:], c[:]); err != nil {
		return math.Inf(-int(sign))
	}
	return x[0]
}
