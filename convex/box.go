package convex

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
)

// Box is the box {x : a ≤ x ≤ b}, whose sides may be infinite.
type Box struct {
	lower, upper []float64
	diameter     float64
	bounded      bool
}

// NewBox makes the box lower ≤ x ≤ upper. A lower side is finite or -Inf, an upper side finite or
// +Inf, and lower ≤ upper. The slices are copied.
func NewBox(lower, upper []float64) (*Box, error) {
	if err := checkDim("box", len(lower)); err != nil {
		return nil, err
	}
	if err := checkLen("box", "upper", len(upper), len(lower)); err != nil {
		return nil, err
	}
	for i, a := range lower {
		b := upper[i]
		if math.IsNaN(a) || math.IsInf(a, 1) {
			return nil, noregret.BadInputf("box", "lower[%d] is %v, want a finite number or -Inf", i, a)
		}
		if math.IsNaN(b) || math.IsInf(b, -1) {
			return nil, noregret.BadInputf("box", "upper[%d] is %v, want a finite number or +Inf", i, b)
		}
		if a > b {
			return nil, noregret.BadInputf("box",
				"lower[%d] is %v and upper[%d] is %v, want lower at most upper", i, a, i, b)
		}
	}
	return newBox(slices.Clone(lower), slices.Clone(upper)), nil
}

// newBox keeps the slices and does not check them.
func newBox(lower, upper []float64) *Box {
	b := &Box{lower: lower, upper: upper, bounded: true}
	for i := range lower {
		if math.IsInf(lower[i], 0) || math.IsInf(upper[i], 0) {
			b.bounded = false
		}
	}
	b.diameter = math.Inf(1)
	if b.bounded {
		b.diameter = vec.Distance2(upper, lower)
	}
	return b
}

// NewOpenBox makes the box lower < x < upper. An open side is stored as the next float64 inside it
// ([math.Nextafter]); an infinite side is unchanged. For a box with only some open sides, move
// those sides and call [NewBox].
func NewOpenBox(lower, upper []float64) (*Box, error) {
	b, err := NewBox(lower, upper)
	if err != nil {
		return nil, err
	}
	for i := range b.lower {
		if !math.IsInf(b.lower[i], 0) {
			b.lower[i] = math.Nextafter(b.lower[i], math.Inf(1))
		}
		if !math.IsInf(b.upper[i], 0) {
			b.upper[i] = math.Nextafter(b.upper[i], math.Inf(-1))
		}
		if b.lower[i] > b.upper[i] {
			return nil, noregret.BadInputf("open box",
				"no number is between lower[%d] = %v and upper[%d] = %v", i, lower[i], i, upper[i])
		}
	}
	return newBox(b.lower, b.upper), nil
}

// NewCube makes the box [lower, upper]^d; the sides may be infinite as in [NewBox].
func NewCube(d int, lower, upper float64) (*Box, error) {
	if err := checkMemory("box", d, float64(4*float64(d))); err != nil {
		return nil, err
	}
	return NewBox(slices.Repeat([]float64{lower}, d), slices.Repeat([]float64{upper}, d))
}

// NewOrthant makes the nonnegative orthant {x : x ≥ 0} of ℝ^d, as a box.
func NewOrthant(d int) (*Box, error) { return NewCube(d, 0, math.Inf(1)) }

// Dim implements [Set].
func (b *Box) Dim() int { return len(b.lower) }

// Sides returns copies of the lower and the upper sides.
func (b *Box) Sides() (lower, upper []float64) { return slices.Clone(b.lower), slices.Clone(b.upper) }

// Bounds returns the two sides of coordinate i.
func (b *Box) Bounds(i int) (lower, upper float64) { return b.lower[i], b.upper[i] }

// Project clips every coordinate to its sides, exactly. O(d).
func (b *Box) Project(dst, v []float64) {
	lower, upper := b.lower, b.upper
	for i, x := range v {
		dst[i] = clip(x, lower[i], upper[i])
	}
}

func clip(x, a, b float64) float64 {
	if x < a {
		return a
	}
	if x > b {
		return b
	}
	return x
}

// Minimize takes the lower side where c_i ≥ 0 and the upper side elsewhere; where c_i = 0 and the
// lower side is infinite, the point of the side nearest to 0. It returns [ErrUnbounded] when c_i
// points to an infinite side. O(d).
func (b *Box) Minimize(dst, c []float64) (float64, error) {
	if !b.Attains(c) {
		return 0, ErrUnbounded
	}
	sum := 0.0
	for i, ci := range c {
		x := b.upper[i]
		if ci >= 0 {
			x = b.lower[i]
		}
		if ci == 0 && math.IsInf(x, 0) {
			x = clip(0, b.lower[i], b.upper[i])
		}
		dst[i] = x
		sum += float64(ci * x)
	}
	return sum, nil
}

// Attains implements [Attainer].
func (b *Box) Attains(c []float64) bool {
	if b.bounded {
		return true
	}
	for i, ci := range c {
		if ci > 0 && math.IsInf(b.lower[i], 0) || ci < 0 && math.IsInf(b.upper[i], 0) {
			return false
		}
	}
	return true
}

// Contains implements [Set]; the size of a coordinate is its width, or where that is infinite the
// modulus of its finite side, or 1 if there is none above 0. O(d).
func (b *Box) Contains(x []float64, tol float64) bool {
	for i, v := range x {
		lo, hi := b.lower[i], b.upper[i]
		if v-v != 0 {
			return false
		}
		if v >= lo && v <= hi {
			continue
		}
		t := sideAllowance(tol, lo, hi)
		if !(v >= lo-t && v <= hi+t) {
			return false
		}
	}
	return true
}

// Diameter is ‖b−a‖₂, exact.
func (b *Box) Diameter() float64 { return b.diameter }

// Moved implements [Mover]: the moved box.
func (b *Box) Moved(c float64, x0 []float64) (Set, error) {
	return NewBox(image(b.lower, c, x0), image(b.upper, c, x0))
}

// String describes it in one line, all parameters included.
func (b *Box) String() string {
	return fmt.Sprintf("box(%s, %s)", formatVector(b.lower), formatVector(b.upper))
}
