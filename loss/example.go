package loss

import (
	"fmt"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
)

// Example is the loss f(x) = φ(⟨z, x⟩, y) of a linear prediction for one example: regression and
// classification. [SparseExample] is its form for features of few non-zeros.
type Example struct {
	Z    []float64
	Y    float64
	Loss Scalar
	norm float64 // ‖z‖₂, or 0 if it is not computed yet
}

// NewExample returns φ(⟨z, ·⟩, y). It keeps z. A literal with the same fields is the same loss, but
// each call for one of its constants then costs O(d).
func NewExample(z []float64, y float64, phi Scalar) (*Example, error) {
	if phi == nil {
		return nil, noregret.BadInputf("loss", "nil: want a scalar loss")
	}
	if err := checkFinite("z", z); err != nil {
		return nil, err
	}
	if err := phi.CheckLabel(y); err != nil {
		return nil, err
	}
	return &Example{Z: z, Y: y, Loss: phi, norm: vec.Norm2(z)}, nil
}

// Dim implements [Function].
func (f *Example) Dim() int { return len(f.Z) }

// Value implements [Function].
func (f *Example) Value(x []float64) float64 { return f.Loss.Value(vec.DotInOrder(f.Z, x), f.Y) }

// Subgradient implements [Function].
func (f *Example) Subgradient(dst, x []float64) {
	s := f.Loss.Derivative(vec.DotInOrder(f.Z, x), f.Y)
	for i, z := range f.Z {
		dst[i] = s * z
	}
}

// Lipschitz implements [Curvature].
func (f *Example) Lipschitz(radius float64) float64 {
	return lipschitz(f.Loss, f.Y, f.length(), radius)
}

// Smoothness implements [Curvature].
func (f *Example) Smoothness() float64 { return smoothness(f.Loss, f.length()) }

// StrongConvexity implements [Curvature]: a function of ⟨z, x⟩ has none in more than one dimension.
func (f *Example) StrongConvexity() float64 { return strongConvexity(f.Loss, f.length(), len(f.Z)) }

// length is ‖z‖₂.
func (f *Example) length() float64 {
	if f.norm == 0 {
		return vec.Norm2(f.Z)
	}
	return f.norm
}

// lipschitz is the constant of φ(⟨z, ·⟩, y) on a ball, for a z of length n.
func lipschitz(phi Scalar, y, n, radius float64) float64 {
	if n == 0 {
		return 0
	}
	return n * phi.Lipschitz(radius*n, y)
}

// smoothness is the constant of φ(⟨z, ·⟩, y), for a z of length n.
func smoothness(phi Scalar, n float64) float64 {
	if n == 0 {
		return 0
	}
	return n * n * phi.Smoothness()
}

// strongConvexity is the constant of φ(⟨z, ·⟩, y) on ℝ^d, for a z of length n.
func strongConvexity(phi Scalar, n float64, d int) float64 {
	if d == 1 {
		return n * n * phi.StrongConvexity()
	}
	return 0
}

// SparseExample is an [Example] whose features have few non-zeros: f(x) = φ(Σ z_k·x_{i_k}, y). Its
// values and subgradients are those of the dense form, bit for bit. Value, SparseSubgradient and
// the constants cost O(nnz). SparseSubgradient uses memory of the example: it is not safe for
// concurrent use.
type SparseExample struct {
	D    int // the dimension
	Z    Sparse
	Y    float64
	Loss Scalar

	norm  float64   // ‖z‖₂, or 0 if it is not computed yet
	slope []float64 // the values of the last sparse subgradient
}

// NewSparseExample returns φ(⟨z, ·⟩, y) on ℝ^d. The indices of z are ascending, unique and below d,
// its values finite; z may have no non-zeros at all. It keeps z.
func NewSparseExample(d int, z Sparse, y float64, phi Scalar) (*SparseExample, error) {
	if phi == nil {
		return nil, noregret.BadInputf("loss", "nil: want a scalar loss")
	}
	if err := checkSparse("z", z, d); err != nil {
		return nil, err
	}
	if err := phi.CheckLabel(y); err != nil {
		return nil, err
	}
	return &SparseExample{
		D: d, Z: z, Y: y, Loss: phi,
		norm: vec.Norm2(z.Value), slope: make([]float64, len(z.Value)),
	}, nil
}

func checkSparse(place string, z Sparse, d int) error {
	if d < 1 {
		return noregret.BadInputf("dimension", "%d: want at least 1", d)
	}
	if len(z.Index) != len(z.Value) {
		return noregret.BadInputf(place, "%d indices and %d values: want equal numbers",
			len(z.Index), len(z.Value))
	}
	for k, i := range z.Index {
		if int64(i) >= int64(d) || k > 0 && i <= z.Index[k-1] {
			return noregret.BadInputf(fmt.Sprintf("%s.Index[%d]", place, k),
				"%d: want ascending unique indices below the dimension %d", i, d)
		}
		if v := z.Value[k]; v-v != 0 {
			return noregret.BadInputf(fmt.Sprintf("%s.Value[%d]", place, k), "%v: want a finite number", v)
		}
	}
	return nil
}

// Dim implements [Function].
func (f *SparseExample) Dim() int { return f.D }

// predict is ⟨z, x⟩.
func (f *SparseExample) predict(x []float64) float64 {
	s := 0.0
	for k, i := range f.Z.Index {
		s += float64(f.Z.Value[k] * x[i])
	}
	return s
}

// Value implements [Function]. O(nnz).
func (f *SparseExample) Value(x []float64) float64 { return f.Loss.Value(f.predict(x), f.Y) }

// Subgradient implements [Function]. O(d), as it writes all of dst.
func (f *SparseExample) Subgradient(dst, x []float64) {
	s := f.Loss.Derivative(f.predict(x), f.Y)
	clear(dst)
	for k, i := range f.Z.Index {
		dst[i] = s * f.Z.Value[k]
	}
}

// SparseSubgradient implements [SparseFunction]. O(nnz). It allocates on the first call of a
// literal only.
func (f *SparseExample) SparseSubgradient(x []float64) (g Sparse, ok bool) {
	if len(f.slope) != len(f.Z.Value) {
		f.slope = make([]float64, len(f.Z.Value))
	}
	s := f.Loss.Derivative(f.predict(x), f.Y)
	for k, z := range f.Z.Value {
		f.slope[k] = s * z
	}
	return Sparse{Index: f.Z.Index, Value: f.slope}, true
}

// Dense is the same loss with all d features written out, for what takes an [Example].
func (f *SparseExample) Dense() *Example {
	z := make([]float64, f.D)
	for k, i := range f.Z.Index {
		z[i] = f.Z.Value[k]
	}
	return &Example{Z: z, Y: f.Y, Loss: f.Loss, norm: f.norm}
}

// Lipschitz implements [Curvature].
func (f *SparseExample) Lipschitz(radius float64) float64 {
	return lipschitz(f.Loss, f.Y, f.length(), radius)
}

// Smoothness implements [Curvature].
func (f *SparseExample) Smoothness() float64 { return smoothness(f.Loss, f.length()) }

// StrongConvexity implements [Curvature]: a function of ⟨z, x⟩ has none in more than one dimension.
func (f *SparseExample) StrongConvexity() float64 { return strongConvexity(f.Loss, f.length(), f.D) }

func (f *SparseExample) length() float64 {
	if f.norm == 0 {
		return vec.Norm2(f.Z.Value)
	}
	return f.norm
}
