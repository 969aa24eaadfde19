package private

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/vec"
)

// Domain is the bounded convex set of a learner's points, with the exponent p of the norm in which
// its size is measured and the data-independent point at which the learner starts. A Domain is
// immutable and safe for concurrent use.
type Domain struct {
	set      convex.Set // nil for a polytope
	vertices [][]float64
	kind     domainKind
	p        float64
	dual     *convex.Lp // the norm of exponent q with 1/p + 1/q = 1
	diameter float64
	radius   float64
	scale    float64 // the modulus of the vertices' only coordinate: ball with p = 1, simplex
	start    []float64
	upper    []float64 // of a box and of a ball with p = ∞
	text     string
}

type domainKind uint8

const (
	isBall domainKind = iota
	isBox
	isSimplex
	isPolytope
)

// NewBall makes the ball {θ : ‖θ‖_p ≤ radius} of ℝ^dim, 1 ≤ p ≤ ∞. Learners start at 0.
func NewBall(dim int, p, radius float64) (*Domain, error) {
	if err := checkDim(dim); err != nil {
		return nil, err
	}
	if err := checkExponent(p); err != nil {
		return nil, err
	}
	if err := checkPositive("radius", radius); err != nil {
		return nil, err
	}
	ball, err := convex.NewCenteredLpBall(dim, p, radius)
	if err != nil {
		return nil, err
	}
	d := &Domain{
		set: ball, kind: isBall, p: p, diameter: 2 * radius, radius: radius, scale: radius,
		start: make([]float64, dim), text: ball.String(),
	}
	if math.IsInf(p, 1) {
		d.upper = slices.Repeat([]float64{radius}, dim)
	}
	return d.complete()
}

// NewSimplex makes the simplex {θ ≥ 0 : Σθ_j = 1} of ℝ^dim, with p = 1. Learners start at its
// barycentre.
func NewSimplex(dim int) (*Domain, error) {
	if err := checkDim(dim); err != nil {
		return nil, err
	}
	simplex, err := convex.NewSimplex(dim)
	if err != nil {
		return nil, err
	}
	d := &Domain{
		set: simplex, kind: isSimplex, p: 1, diameter: 2, radius: 1, scale: 1,
		start: make([]float64, dim), text: simplex.String(),
	}
	if dim == 1 {
		d.diameter = 0
	}
	for j := range d.start {
		d.start[j] = 1 / float64(dim)
	}
	return d.complete()
}

// NewBox makes the box {θ : lower ≤ θ ≤ upper} with finite sides, lower below upper in some
// coordinate, and p = ∞. Learners start at 0 if the box holds it, otherwise at the center.
func NewBox(lower, upper []float64) (*Domain, error) {
	box, err := convex.NewBox(lower, upper)
	if err != nil {
		return nil, err
	}
	d := &Domain{set: box, kind: isBox, p: math.Inf(1), text: box.String(), start: make([]float64, len(lower))}
	d.upper = slices.Clone(upper)
	for j, a := range lower {
		d.diameter = max(d.diameter, upper[j]-a)
		d.radius = max(d.radius, math.Abs(a), math.Abs(upper[j]))
	}
	if err := checkPositive("box", d.diameter); err != nil {
		return nil, err
	}
	if !box.Contains(d.start, 0) {
		for j, a := range lower {
			d.start[j] = a + float64((upper[j]-a)/2)
		}
	}
	return d.complete()
}

// NewPolytope makes the convex hull of a list of vertices, which are copied. Its diameter is the
// largest ‖v − w‖_p of two vertices, found in O(N²·d). Vertices that occur twice count once.
// Learners start at the mean of the vertices.
func NewPolytope(vertices [][]float64, p float64) (*Domain, error) {
	if err := checkExponent(p); err != nil {
		return nil, err
	}
	if len(vertices) == 0 {
		return nil, noregret.BadInputf("vertices", "none, at least one is required: %w", dp.ErrDimension)
	}
	dim := len(vertices[0])
	if err := checkDim(dim); err != nil {
		return nil, err
	}
	norm, err := convex.NewLp(p)
	if err != nil {
		return nil, err
	}
	d := &Domain{kind: isPolytope, p: p, start: make([]float64, dim)}
	difference := make([]float64, dim)
	for i, v := range vertices {
		if len(v) != dim {
			return nil, noregret.BadInputf(fmt.Sprintf("vertices[%d]", i), "length %d, want %d: %w",
				len(v), dim, dp.ErrDimension)
		}
		if !vec.Finite(v) {
			return nil, noregret.BadInputf(fmt.Sprintf("vertices[%d]", i), "a coordinate is not finite: %w",
				dp.ErrBound)
		}
		if slices.ContainsFunc(d.vertices, func(w []float64) bool { return slices.Equal(v, w) }) {
			continue
		}
		for _, w := range d.vertices {
			for j := range v {
				difference[j] = v[j] - w[j]
			}
			d.diameter = max(d.diameter, norm.Of(difference))
		}
		d.radius = max(d.radius, norm.Of(v))
		d.vertices = append(d.vertices, slices.Clone(v))
	}
	for _, v := range d.vertices {
		vec.AddScaled(d.start, 1/float64(len(d.vertices)), v)
	}
	if !(d.diameter <= 1e300 && d.radius <= 1e300) {
		return nil, noregret.BadInputf("vertices", "their norms exceed 1e300: %w", dp.ErrBound)
	}
	d.text = fmt.Sprintf("polytope(%d, %d vertices, %016x)", dim, len(d.vertices), digest(d.vertices...))
	return d.complete()
}

// complete sets what follows from the other fields.
func (d *Domain) complete() (*Domain, error) {
	norm, err := convex.NewLp(d.p)
	if err != nil {
		return nil, err
	}
	d.dual = norm.Dual().(*convex.Lp)
	return d, nil
}

// WithStart returns the domain with another starting point, which is copied. The point must not
// depend on private data and must lie in the set; in a polytope it must be one of the vertices.
func (d *Domain) WithStart(start []float64) (*Domain, error) {
	if len(start) != len(d.start) {
		return nil, noregret.BadInputf("start", "length %d, want %d: %w", len(start), len(d.start), dp.ErrDimension)
	}
	inside := vec.Finite(start)
	switch {
	case !inside:
	case d.kind == isPolytope:
		inside = slices.ContainsFunc(d.vertices, func(v []float64) bool { return slices.Equal(start, v) })
	default:
		inside = d.set.Contains(start, 1e-12)
	}
	if !inside {
		return nil, noregret.BadInputf("start", "outside %s: want a point of the set (of a polytope, a vertex): %w",
			d.text, dp.ErrBound)
	}
	other := *d
	other.start = slices.Clone(start)
	return &other, nil
}

// Dim is d.
func (d *Domain) Dim() int { return len(d.start) }

// P is the exponent of the norm in which the domain is measured.
func (d *Domain) P() float64 { return d.p }

// Diameter is D = sup ‖v − w‖_p over the set.
func (d *Domain) Diameter() float64 { return d.diameter }

// Radius is sup ‖θ‖_p over the set.
func (d *Domain) Radius() float64 { return d.radius }

// Dual is the norm of gradients, of exponent q with 1/p + 1/q = 1.
func (d *Domain) Dual() *convex.Lp { return d.dual }

// Start returns a copy of the starting point.
func (d *Domain) Start() []float64 { return slices.Clone(d.start) }

// Vertices is the number of vertices from which [NewPOFW] chooses, 0 if the domain has no short
// list of vertices: a ball with p > 1 and dimension above 1, a box.
func (d *Domain) Vertices() int {
	switch {
	case d.kind == isPolytope:
		return len(d.vertices)
	case d.kind == isSimplex:
		return d.Dim()
	case d.kind == isBall && (d.p == 1 || d.Dim() == 1):
		return 2 * d.Dim()
	}
	return 0
}

// Minimize writes a minimizer of ⟨c, θ⟩ over the domain to dst. The result does not change if c is
// multiplied by a positive number. At c = 0 it is 0 for a ball, the first vertex of a simplex or a
// polytope, and the lower corner of a box. Ties go to the lowest index; where c_j = 0 for some j
// only, a box and a ball with p = ∞ take the upper side. O(d), for a polytope O(N·d).
func (d *Domain) Minimize(dst, c []float64) {
	zero := vec.IsZero(c)
	switch {
	case d.kind == isPolytope:
		best, at := math.Inf(1), 0
		for i, v := range d.vertices {
			if s := vec.Dot(v, c); s < best {
				best, at = s, i
			}
		}
		copy(dst, d.vertices[at])
		return
	case d.kind == isBall && zero:
		clear(dst)
		return
	}
	if _, err := d.set.Minimize(dst, c); err != nil { // bounded sets have a minimum
		copy(dst, d.start)
	}
	if d.upper != nil && !zero {
		for j, v := range c {
			if v == 0 {
				dst[j] = d.upper[j]
			}
		}
	}
}

// writeVertex writes vertex k to dst: of a ball R·e_1, −R·e_1, R·e_2, −R·e_2, ...; of a simplex
// e_1, ..., e_d; of a polytope those of its list.
func (d *Domain) writeVertex(dst []float64, k int) {
	switch d.kind {
	case isPolytope:
		copy(dst, d.vertices[k])
		return
	case isSimplex:
		clear(dst)
		dst[k] = d.scale
		return
	}
	clear(dst)
	dst[k/2] = d.scale
	if k%2 == 1 {
		dst[k/2] = -d.scale
	}
}

// String describes the domain in one line with all parameters. Domains with equal text are equal.
func (d *Domain) String() string {
	return fmt.Sprintf("%s from %016x", d.text, digest(d.start))
}

// digest is the 64-bit FNV-1a hash of the bits of vectors.
func digest(vectors ...[]float64) uint64 {
	h := uint64(14695981039346656037)
	for _, x := range vectors {
		for _, v := range x {
			bits := math.Float64bits(v)
			for range 8 {
				h = (h ^ bits&0xff) * 1099511628211
				bits >>= 8
			}
		}
	}
	return h
}
