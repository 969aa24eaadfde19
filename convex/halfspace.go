package convex

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
)

// Halfspace is {x : ⟨a, x⟩ ≤ b}. The inequality holds up to its rounding, (d+4)·2⁻⁵² of |b| +
// Σ|a_i x_i|.
type Halfspace struct {
	a      []float64
	b      float64
	square float64 // ‖a‖²
}

// NewHalfspace makes {x : ⟨a, x⟩ ≤ b} for a finite a with 1e-100 < ‖a‖ < 1e100 and a finite b. a is
// copied.
func NewHalfspace(a []float64, b float64) (*Halfspace, error) {
	const what = "halfspace"
	if err := checkDim(what, len(a)); err != nil {
		return nil, err
	}
	if err := checkFinite(what, "a", a); err != nil {
		return nil, err
	}
	if b-b != 0 {
		return nil, noregret.BadInputf(what, "b is %v, want a finite number", b)
	}
	n := vec.Norm2(a)
	if !(n > 1e-100 && n < 1e100) {
		return nil, noregret.BadInputf(what, "the norm of a is %v, want between 1e-100 and 1e100", n)
	}
	return &Halfspace{slices.Clone(a), b, vec.Dot(a, a)}, nil
}

// Dim implements [Set].
func (h *Halfspace) Dim() int { return len(h.a) }

// excess is ⟨a, x⟩ − b and the scale of its rounding.
func (h *Halfspace) excess(x []float64) (v, scale float64) {
	scale = math.Abs(h.b)
	v = -h.b
	for i, a := range h.a {
		t := float64(a * x[i])
		v += t
		scale += math.Abs(t)
	}
	return v, scale
}

// Project writes v − a·max(⟨a,v⟩−b, 0)/‖a‖². O(d), two passes.
func (h *Halfspace) Project(dst, v []float64) {
	copy(dst, v)
	// The later passes correct the rounding for a distant v, in either direction.
	for pass := range 3 {
		e, scale := h.excess(dst)
		if e <= float64(slack(len(v))*scale) && (pass == 0 || -e <= float64(slack(len(v))*scale)) {
			return
		}
		t := e / h.square
		for i, a := range h.a {
			dst[i] -= float64(t * a)
		}
	}
}

// boundary writes the point of the boundary nearest to 0.
func (h *Halfspace) boundary(dst []float64) {
	for i, a := range h.a {
		dst[i] = float64(h.b/h.square) * a
	}
}

// Minimize has a minimum only for c = −t·a, t ≥ 0 (up to rounding): b·⟨a,c⟩/‖a‖² at the boundary's
// point nearest to 0. For c = 0 it returns the point of the set nearest to 0. O(d).
func (h *Halfspace) Minimize(dst, c []float64) (float64, error) {
	if !h.Attains(c) {
		return 0, ErrUnbounded
	}
	if vec.IsZero(c) {
		if h.b >= 0 {
			clear(dst)
			return 0, nil
		}
		h.boundary(dst)
		return 0, nil
	}
	v := float64(vec.Dot(h.a, c)/h.square) * h.b
	h.boundary(dst)
	return v, nil
}

// Attains implements [Attainer].
func (h *Halfspace) Attains(c []float64) bool {
	t := vec.Dot(h.a, c) / h.square
	if t > 0 {
		return false
	}
	m := vec.MaxDistance(c, nil)
	for i, a := range h.a {
		if math.Abs(c[i]-float64(t*a)) > float64(4*eps*m) {
			return false
		}
	}
	return true
}

// Contains implements [Set]; the scale is |b| + Σ|a_i x_i|. O(d).
func (h *Halfspace) Contains(x []float64, tol float64) bool {
	e, scale := h.excess(x)
	return vec.Finite(x) && e <= float64((tol+slack(len(x)))*scale)
}

// Diameter is +Inf.
func (h *Halfspace) Diameter() float64 { return math.Inf(1) }

// Moved implements [Mover]: ⟨a, y⟩ ≤ c·b + ⟨a, x0⟩.
func (h *Halfspace) Moved(c float64, x0 []float64) (Set, error) {
	b := float64(c * h.b)
	if x0 != nil {
		b += vec.Dot(h.a, x0)
	}
	return NewHalfspace(h.a, b)
}

// String describes it in one line, all parameters included.
func (h *Halfspace) String() string {
	return fmt.Sprintf("halfspace(%s, %s)", formatVector(h.a), formatFloat(h.b))
}
