package convex

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/memory"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
)

// Interior is a workspace for the interior sets
//
//	V_δ = {x ∈ V : x + v ∈ V for all v ∈ L with ‖v‖₂ ≤ δ},
//
// where L is the space of the directions in which V extends, ℝ^d for a set with interior points.
// Learners that try points near their own need them: a point of V_δ can be moved by δ along every
// direction of L without leaving V. For a flat set, such as the simplex, L is smaller than ℝ^d and
// [Interior.Step] moves a point along an orthonormal basis of it.
//
// V_δ is exact for every set of this package, except that for a [Ball] of exponent p other than 1,
// 2 and ∞ it is the largest ball of the same center and exponent inside V_δ. Shrink allocates
// nothing for sets of this package. An Interior is not safe for concurrent use.
type Interior struct {
	set    Set
	shrink func(delta float64) Set
	most   float64
	basis  directions
}

// Shrinker is a set of another package that [NewInterior] accepts. It has interior points in ℝ^d.
type Shrinker interface {
	Set
	// Interior is V_δ for a valid 0 ≤ δ ≤ Inradius().
	Interior(delta float64) (Set, error)
	// Inradius is the largest δ for which V_δ is not empty, +Inf if there is no largest.
	Inradius() float64
}

// NewInterior makes the workspace for a set of this package or a [Shrinker]. O(d), and for sets
// bounded by halfspaces the cost of their inradius.
func NewInterior(v Set) (*Interior, error) {
	w := &Interior{set: v}
	switch v := v.(type) {
	case nil:
		return nil, noregret.BadInputf("interior", "the set is nil")
	case *Space:
		w.most, w.basis = math.Inf(1), axes(v.d)
		w.shrink = func(float64) Set { return v }
	case *Box:
		w.box(v)
	case *Ball:
		w.ball(v)
	case *Halfspace:
		own := *v
		norm := math.Sqrt(v.square)
		w.most, w.basis = math.Inf(1), axes(len(v.a))
		w.shrink = func(delta float64) Set {
			own.b = v.b - float64(delta*norm)
			return &own
		}
	case *Affine:
		basis, err := nullSpace(v)
		if err != nil {
			return nil, err
		}
		w.most, w.basis = math.Inf(1), basis
		w.shrink = func(float64) Set { return v }
	case *Simplex:
		c, err := NewBoundedSimplex(make([]float64, v.d), constant(v.d, math.Inf(1)), v.s)
		if err != nil {
			return nil, err
		}
		w.capped(c)
	case *CappedSimplex:
		w.capped(v)
	case *Product:
		return w, w.product(v)
	case *Intersection:
		return w, w.intersection(v)
	case Shrinker:
		w.most, w.basis = v.Inradius(), axes(v.Dim())
		w.shrink = func(delta float64) Set {
			s, err := v.Interior(delta)
			if err != nil {
				return nil
			}
			return s
		}
	default:
		return nil, noregret.BadInputf("interior", "a set of type %T: want one of package convex or a Shrinker", v)
	}
	return w, nil
}

func constant(d int, x float64) []float64 {
	v := make([]float64, d)
	for i := range v {
		v[i] = x
	}
	return v
}

// Set is V.
func (w *Interior) Set() Set { return w.set }

// Inradius is the largest δ for which V_δ is not empty: +Inf for a set that contains balls of every
// size, and also for a single point, which extends in no direction. For a [Ball] of exponent p
// other than 1, 2 and ∞ it is a lower bound, and for an [Intersection] it is 1e-6 below it at most.
func (w *Interior) Inradius() float64 { return w.most }

// Directions is the dimension of L.
func (w *Interior) Directions() int { return w.basis.count }

// Step adds t times direction i of the basis of L to x, for 0 ≤ i < Directions(). O(1) for sets
// with interior points, O(d) for others.
func (w *Interior) Step(x []float64, i int, t float64) { w.basis.step(x, i, t) }

// Shrink returns V_δ. The set belongs to the workspace and is valid until the next call. Its
// diameter is an upper bound. Shrink returns an error if δ is negative or NaN, or V_δ is empty.
func (w *Interior) Shrink(delta float64) (Set, error) {
	if !(delta >= 0) || math.IsInf(delta, 1) {
		return nil, noregret.BadInputf("delta", "%v: want a finite number, at least 0", delta)
	}
	if delta > w.most {
		return nil, noregret.BadInputf("delta", "%v: the interior set of %v is empty above %v", delta, w.set, w.most)
	}
	s := w.shrink(delta)
	if s == nil {
		return nil, noregret.BadInputf("delta", "%v: %v gives no interior set", delta, w.set)
	}
	return s, nil
}

// box shrinks every side that is not a single point.
func (w *Interior) box(v *Box) {
	own := newBox(constant(len(v.lower), 0), constant(len(v.lower), 0))
	own.bounded, own.diameter = v.bounded, v.diameter
	w.most = math.Inf(1)
	var free []int
	for i, a := range v.lower {
		if a < v.upper[i] {
			free = append(free, i)
			w.most = min(w.most, float64(v.upper[i]/2)-float64(a/2))
		}
	}
	w.basis = axesOf(len(v.lower), free)
	w.shrink = func(delta float64) Set {
		for i, a := range v.lower {
			b := v.upper[i]
			own.lower[i], own.upper[i] = a, b
			if a < b {
				own.lower[i], own.upper[i] = shrunken(a, b, delta)
			}
		}
		if own.bounded {
			own.diameter = max(v.diameter-float64(2*delta), 0)
		}
		return own
	}
}

// shrunken is [a+δ, b−δ], the middle where rounding crosses the sides.
func shrunken(a, b, delta float64) (lower, upper float64) {
	lower, upper = a+delta, b-delta
	if lower > upper {
		lower = float64(a/2) + float64(b/2)
		upper = lower
	}
	return lower, upper
}

// ball shrinks the radius by δ times the largest lp norm of a vector of Euclidean norm 1.
func (w *Interior) ball(v *Ball) {
	rate := 1.0
	if v.norm.p < 2 {
		rate = portable.Pow(float64(v.d), 1/v.norm.p-0.5)
	}
	own := *v
	w.most, w.basis = v.radius/rate, axes(v.d)
	w.shrink = func(delta float64) Set {
		// A ball has a positive radius; its center alone is one of a radius that is next to
		// nothing.
		own.radius = max(v.radius-float64(delta*rate), float64(0x1p-60*v.radius))
		return &own
	}
}

// capped shrinks the sides of the coordinates that can change. With K of them a face x_i = l_i has
// distance (x_i − l_i)/√(1−1/K) within the plane of the given sum.
func (w *Interior) capped(v *CappedSimplex) {
	d := len(v.lower)
	var free []int
	room := 0.0 // Σu − s
	for i, l := range v.lower {
		if v.upper[i] > l {
			free = append(free, i)
		}
		room += v.upper[i] - l
	}
	room -= v.spare
	if v.spare <= float64(slack(d)*v.scale) || room <= float64(slack(d)*v.scale) {
		free = nil // all at their lower or all at their upper sides
	}
	k := float64(len(free))
	w.most = math.Inf(1)
	w.basis = helmert(d, free)
	own := *v
	own.lower, own.upper = constant(d, 0), constant(d, 0)
	if w.basis.count == 0 {
		w.shrink = func(float64) Set { return v }
		return
	}
	rate := math.Sqrt(1 - 1/k)
	w.most = min(v.spare, room) / float64(k*rate)
	for _, i := range free {
		w.most = min(w.most, (v.upper[i]-v.lower[i])/float64(2*rate))
	}
	w.shrink = func(delta float64) Set {
		by := float64(delta * rate)
		own.spare = v.spare
		for i, l := range v.lower {
			u := v.upper[i]
			if l < u {
				own.lower[i], own.upper[i] = shrunken(l, u, by)
			} else {
				own.lower[i], own.upper[i] = l, u
			}
			own.spare -= own.lower[i] - l
		}
		own.spare = max(own.spare, 0)
		return &own
	}
}

// product shrinks every factor by the same δ.
func (w *Interior) product(v *Product) error {
	parts := make([]*Interior, len(v.sets))
	own := *v
	own.sets = slices.Clone(v.sets)
	w.most = math.Inf(1)
	for k, s := range v.sets {
		part, err := NewInterior(s)
		if err != nil {
			return err
		}
		parts[k] = part
		w.most = min(w.most, part.most)
		w.basis.append(v.starts[k], part.basis)
	}
	w.shrink = func(delta float64) Set {
		for k, p := range parts {
			if own.sets[k] = p.shrink(delta); own.sets[k] == nil {
				return nil
			}
		}
		return &own
	}
	return nil
}

// directions is an orthonormal basis of the space L in which a set extends, as blocks of
// coordinates.
type directions struct {
	count  int
	blocks []directionBlock
}

// directionBlock has count directions, from number first. They are the rows, or axes of the free
// coordinates, or with flat the Helmert basis of the vectors of sum 0 on them.
type directionBlock struct {
	first, count int
	offset       int   // of the coordinates
	free         []int // nil for all coordinates
	flat         bool
	rows         [][]float64
}

func axes(d int) directions {
	return directions{count: d, blocks: []directionBlock{{count: d}}}
}

func axesOf(d int, free []int) directions {
	if len(free) == d {
		return axes(d)
	}
	return directions{count: len(free), blocks: []directionBlock{{count: len(free), free: free}}}
}

func helmert(d int, free []int) directions {
	n := max(len(free)-1, 0)
	if len(free) == d {
		free = nil
	}
	return directions{count: n, blocks: []directionBlock{{count: n, free: free, flat: true}}}
}

func (b *directions) append(offset int, part directions) {
	for _, block := range part.blocks {
		block.first += b.count
		block.offset += offset
		b.blocks = append(b.blocks, block)
	}
	b.count += part.count
}

func (b *directions) step(x []float64, i int, t float64) {
	for k := range b.blocks {
		if j := i - b.blocks[k].first; j < b.blocks[k].count {
			b.blocks[k].step(x, j, t)
			return
		}
	}
}

func (b *directionBlock) step(x []float64, i int, t float64) {
	x = x[b.offset:]
	switch {
	case b.rows != nil:
		for j, r := range b.rows[i] {
			x[j] += float64(t * r)
		}
	case b.flat: // (1, ..., 1, −n, 0, ...)/√(n(n+1)) with n = i+1 ones
		n := float64(i + 1)
		s := t / math.Sqrt(float64(n*(n+1)))
		for j := range i + 1 {
			x[b.coordinate(j)] += s
		}
		x[b.coordinate(i+1)] -= float64(n * s)
	default:
		x[b.coordinate(i)] += t
	}
}

func (b *directionBlock) coordinate(j int) int {
	if b.free == nil {
		return j
	}
	return b.free[j]
}

// nullSpace completes the orthonormal rows of an affine set to a basis of ℝ^d and returns what it
// added: each time the axis farthest from the span so far, made orthogonal by two passes of
// Gram–Schmidt.
func nullSpace(s *Affine) (directions, error) {
	n := s.d - len(s.rows)
	if err := memory.Check("interior", fmt.Sprintf("dimension %d", s.d), float64(n)*float64(s.d)); err != nil {
		return directions{}, err
	}
	rest := constant(s.d, 1) // squared distances of the axes to the span
	for _, q := range s.rows {
		reduce(rest, q)
	}
	rows := slices.Clone(s.rows)
	for range n {
		i, _ := vec.ArgMax(rest)
		row := make([]float64, s.d)
		row[i] = 1
		for range 2 {
			for _, q := range rows {
				vec.AddScaled(row, -vec.Dot(q, row), q)
			}
		}
		vec.Scale(row, 1/vec.Norm2(row))
		reduce(rest, row)
		rows = append(rows, row)
	}
	block := directionBlock{count: n, rows: rows[len(s.rows):]}
	return directions{count: n, blocks: []directionBlock{block}}, nil
}

// reduce subtracts the squares of the row q.
func reduce(rest, q []float64) {
	for i, v := range q {
		rest[i] -= float64(v * v)
	}
}
