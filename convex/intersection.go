package convex

import (
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
)

// Intersection is V_1 ∩ ... ∩ V_k, for instance a polytope as the intersection of a [Box] and
// halfspaces. It has no closed form: projections are by the algorithm of Dykstra (Boyle and Dykstra
// 1986), to about 1e-12 of the size of the numbers where faces meet at an angle, and to 1e-7 at
// corners where more faces meet, or nearly meet, than the dimension. The point may leave a set by
// 1e-12 of its size.
type Intersection struct {
	sets     []Set
	d        int
	diameter float64
	pool     sync.Pool // of *dykstra
}

// dykstra is the scratch of a projection.
type dykstra struct {
	x, y, before []float64
	corrections  [][]float64 // of the sets
}

// dykstraSweeps limits the sweeps over the sets. Polytopes need tens to hundreds.
const dykstraSweeps = 20000

// NewIntersection makes the intersection of at least one set of one dimension. It returns an error
// if they have no common point, or none is found.
func NewIntersection(sets ...Set) (*Intersection, error) {
	const what = "intersection"
	if len(sets) == 0 {
		return nil, noregret.BadInputf(what, "there are 0 sets, want at least 1")
	}
	v := &Intersection{sets: slices.Clone(sets), diameter: math.Inf(1)}
	for k, s := range sets {
		if s == nil {
			return nil, noregret.BadInputf(what, "sets[%d] is nil, want a set", k)
		}
		if k == 0 {
			v.d = s.Dim()
		}
		if s.Dim() != v.d {
			return nil, noregret.BadInputf(what, "sets[%d] has dimension %d, want %d as the first", k, s.Dim(), v.d)
		}
		v.diameter = min(v.diameter, s.Diameter())
	}
	if err := checkMemory(what, v.d, float64(float64(len(sets)+3)*float64(v.d))); err != nil {
		return nil, err
	}
	x := make([]float64, v.d)
	if v.Project(x, x); !v.Contains(x, 1e-9) {
		return nil, noregret.BadInputf(what, "the sets have no common point")
	}
	return v, nil
}

// scratch takes scratch from the pool.
func (v *Intersection) scratch() *dykstra {
	if w, ok := v.pool.Get().(*dykstra); ok {
		return w
	}
	w := &dykstra{x: make([]float64, v.d), y: make([]float64, v.d), before: make([]float64, v.d)}
	for range v.sets {
		w.corrections = append(w.corrections, make([]float64, v.d))
	}
	return w
}

// Dim implements [Set].
func (v *Intersection) Dim() int { return v.d }

// Factors returns a copy of the list of sets.
func (v *Intersection) Factors() []Set { return slices.Clone(v.sets) }

// Project sweeps over the sets: x ← Π_k(x + p_k), where p_k is what the last projection on set k
// has taken away, until the p_k move by no more than rounding. A sweep costs the projections and
// O(k·d). The sweeps are tens for polytopes with few active constraints, more for acute corners,
// and at most 20,000, and 1,000 of plain projections after them.
func (v *Intersection) Project(dst, x []float64) { v.project(dst, x, dykstraSweeps) }

func (v *Intersection) project(dst, x []float64, sweeps int) {
	if v.Contains(x, 0) {
		copy(dst, x)
		return
	}
	w := v.scratch()
	defer v.pool.Put(w)
	copy(w.x, x)
	for _, p := range w.corrections {
		clear(p)
	}
	scale := vec.MaxAbs(x)
	for range sweeps {
		moved := 0.0
		for k, s := range v.sets {
			p := w.corrections[k]
			for i, t := range w.x {
				w.y[i] = t + p[i]
			}
			s.Project(w.x, w.y)
			for i, t := range w.y {
				next := t - w.x[i]
				moved = max(moved, math.Abs(next-p[i]))
				p[i] = next
			}
		}
		if moved <= float64(4*eps*max(scale, vec.MaxAbs(w.x))) {
			break
		}
	}
	// A point that is still outside moves to the set by plain projections.
	for range sweeps / 20 {
		if v.Contains(w.x, 1e-14) {
			break
		}
		for _, s := range v.sets {
			s.Project(w.x, w.x)
		}
	}
	copy(dst, w.x)
}

// Minimize takes proximal steps x ← Π(x − t·c) with t that doubles, which end at a minimizer of a
// polytope after finitely many steps and come close to one of other sets: to 1e-9 of the diameter
// times the norm of c. It returns [ErrUnbounded] when all sets are unbounded, unless c = 0. At most
// 40 projections.
func (v *Intersection) Minimize(dst, c []float64) (float64, error) {
	if !v.Attains(c) {
		return 0, ErrUnbounded
	}
	w := v.scratch()
	defer v.pool.Put(w)
	x := w.before
	clear(x)
	v.Project(x, x)
	norm := vec.Norm2(c)
	for k := 0; k < 40 && norm > 0; k++ {
		t := math.Ldexp(v.diameter/norm, min(k, 30))
		copy(w.y, x)
		vec.AddScaled(w.y, -t, c)
		v.Project(w.y, w.y)
		gain := vec.Dot(c, x) - vec.Dot(c, w.y)
		if !(gain > float64(1e-13*norm*v.diameter)) && k > 2 {
			break
		}
		copy(x, w.y)
	}
	copy(dst, x)
	return vec.Dot(c, dst), nil
}

// Attains implements [Attainer]: for an intersection of unbounded sets only c = 0.
func (v *Intersection) Attains(c []float64) bool {
	return !math.IsInf(v.diameter, 1) || vec.IsZero(c)
}

// Contains implements [Set]: x is in all sets, at their scales.
func (v *Intersection) Contains(x []float64, tol float64) bool {
	for _, s := range v.sets {
		if !s.Contains(x, tol) {
			return false
		}
	}
	return true
}

// Diameter is an upper bound: the least diameter of the sets.
func (v *Intersection) Diameter() float64 { return v.diameter }

// Moved implements [Mover] when all sets do.
func (v *Intersection) Moved(c float64, x0 []float64) (Set, error) {
	sets := make([]Set, len(v.sets))
	for k, s := range v.sets {
		var err error
		if sets[k], err = moved("intersection", s, c, x0); err != nil {
			return nil, err
		}
	}
	return NewIntersection(sets...)
}

// String describes it in one line, all parameters included.
func (v *Intersection) String() string {
	names := make([]string, len(v.sets))
	for k, s := range v.sets {
		names[k] = s.String()
	}
	return "intersection(" + strings.Join(names, ", ") + ")"
}

// intersection shrinks every set. Bisection finds the inradius to 1e-6, from below.
func (w *Interior) intersection(v *Intersection) error {
	own := &Intersection{sets: slices.Clone(v.sets), d: v.d, diameter: v.diameter}
	parts := make([]*Interior, len(v.sets))
	most := math.Inf(1)
	for k, s := range v.sets {
		part, err := NewInterior(s)
		if err != nil {
			return err
		}
		if part.Directions() != v.d {
			return noregret.BadInputf("interior",
				"sets[%d] of the intersection is flat: want sets with interior points", k)
		}
		parts[k] = part
		most = min(most, part.most)
	}
	w.basis = axes(v.d)
	w.shrink = func(delta float64) Set {
		for k, p := range parts {
			if own.sets[k] = p.shrink(delta); own.sets[k] == nil {
				return nil
			}
		}
		return own
	}
	x := make([]float64, v.d)
	holds := func(delta float64) bool {
		s, ok := w.shrink(delta).(*Intersection)
		if !ok {
			return false // a Shrinker gives no set
		}
		clear(x)
		s.project(x, x, dykstraSweeps/50)
		return s.Contains(x, 1e-9)
	}
	below, above := 0.0, most
	if math.IsInf(most, 1) {
		for above = 1; above < 0x1p60 && holds(above); above *= 2 {
			below = above
		}
	}
	switch {
	case above >= 0x1p60: // such as a cone
		w.most = math.Inf(1)
	case holds(above):
		w.most = above
	default:
		for above-below > float64(1e-6*above) && above > 1e-100 {
			if mid := float64(below/2) + float64(above/2); holds(mid) {
				below = mid
			} else {
				above = mid
			}
		}
		w.most = below
	}
	return nil
}
