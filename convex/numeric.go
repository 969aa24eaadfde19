package convex

import (
	"math"
	"sync"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
)

// Certified is a [Regularizer] whose Argmax is computed by an iteration that may end early: those
// that [Restrict] makes of maps of other packages and of a [Potential].
type Certified interface {
	Regularizer
	// ArgmaxGap is Argmax with its certificate: the objective ⟨θ, x⟩ − ψ(x) at dst is within gap of
	// its maximum, and ½λ‖dst−x*‖² ≤ gap. It is +Inf if there is no certificate.
	ArgmaxGap(dst, theta []float64) (gap float64)
}

const (
	numericGoal      = 1e-13 // of |ψ(x)| + |⟨θ, x⟩|: the gap at which the iteration ends
	numericTolerance = 1e-10 // the same for a gap that Restrict accepts
	numericPasses    = 10_000
	numericFirst     = 300 // passes before a diagonal metric is tried, where the set allows it
	numericHistory   = 8   // function values that the line search looks back at
	numericIdle      = 200 // passes without a better gap once values differ by rounding only
)

// numeric maximizes ⟨θ, x⟩ − ψ(x) over a bounded set by the spectral projected gradient method
// (Birgin, Martínez and Raydan 2000): steps of the length of Barzilai and Borwein (1988), a line
// search that looks back at several values, and the gap of Frank and Wolfe (1956) as its
// certificate.
type numeric struct {
	value    func(x []float64) float64
	gradient func(dst, x []float64)
	set      Set
	start    []float64 // a member of the set in the interior of the map's domain
	diagonal bool      // whether the set has an oracle for diagonal metrics
	lambda   float64   // strong convexity in l2, needed on ℝ^d only
	pool     sync.Pool // of *numericWork
}

type numericWork struct {
	x, next, best, g, change, step, vertex, metric []float64
	gap, size                                      float64
}

// newNumeric finds a start and tries the method there.
func newNumeric(what string, m MirrorMap, s Set) (*numeric, error) {
	d := s.Dim()
	if err := checkMemory(what, d, float64(10*float64(d))); err != nil {
		return nil, err
	}
	n := &numeric{value: m.Value, gradient: m.Gradient, set: s, start: make([]float64, d)}
	n.diagonal = hasDiagonalArgmax(s)
	n.lambda = convexityInL2(m.StrongConvexity())
	n.pool.New = func() any {
		w := new(numericWork)
		for _, p := range []*[]float64{&w.x, &w.next, &w.best, &w.g, &w.change, &w.step, &w.vertex, &w.metric} {
			*p = make([]float64, d)
		}
		return w
	}
	if !n.findStart(m.Interior) {
		return nil, noregret.BadInputf(what, "no point of %s was found in the interior of the domain of %s", s, m)
	}
	zero, x := make([]float64, d), make([]float64, d)
	gap := n.argmax(x, zero)
	if most := float64(numericTolerance * max(math.Abs(m.Value(x)), 1e-5)); !(gap <= most) {
		return nil, noregret.Errorf(noregret.Diverged, what,
			"the least value of %s on %s is known to %v only, want %v: the map is too steep there", m, s, gap, most)
	}
	return n, nil
}

// findStart uses the point nearest to 0 or, where that is on the boundary of the domain, the mean
// of two extreme points of the set for each axis (of the first 1,000).
func (n *numeric) findStart(interior func([]float64) bool) bool {
	inside := func() bool { return interior(n.start) && vec.IsFinite(n.value(n.start)) }
	n.set.Project(n.start, n.start)
	if inside() {
		return true
	}
	if _, ok := n.set.(*Space); ok {
		for i := range n.start {
			n.start[i] = 1
		}
		return inside()
	}
	w := n.pool.Get().(*numericWork)
	defer n.pool.Put(w)
	clear(n.start)
	axes := min(len(n.start), 1000)
	for i := range axes {
		for _, sign := range [2]float64{1, -1} {
			clear(w.g)
			w.g[i] = sign
			if _, err := n.set.Minimize(w.vertex, w.g); err != nil {
				return false
			}
			vec.AddScaled(n.start, 1/float64(2*axes), w.vertex)
		}
	}
	n.set.Project(n.start, n.start)
	return inside()
}

// objective is ψ(x) − ⟨θ, x⟩, the size of its two terms, and its gradient, which is finite where
// ok.
func (n *numeric) objective(g, x, theta []float64) (v, size float64, ok bool) {
	value, inner := n.value(x), vec.Dot(theta, x)
	v, size = value-inner, math.Abs(value)+math.Abs(inner)
	if !vec.IsFinite(v) {
		return v, size, false
	}
	n.gradient(g, x)
	for i, t := range theta {
		g[i] -= t
	}
	return v, size, vec.Finite(g)
}

// gap is max_{v∈V} ⟨g, x−v⟩, and on ℝ^d ‖g‖²/(2λ).
func (n *numeric) gap(w *numericWork) float64 {
	if _, ok := n.set.(*Space); ok {
		return vec.Dot(w.g, w.g) / (2 * n.lambda)
	}
	if _, err := n.set.Minimize(w.vertex, w.g); err != nil {
		return math.Inf(1)
	}
	sum := 0.0
	for i, g := range w.g {
		sum += float64(g * (w.x[i] - w.vertex[i]))
	}
	return max(sum, 0)
}

// argmax writes the maximizer to dst, which may be theta, and returns the gap.
func (n *numeric) argmax(dst, theta []float64) float64 {
	w := n.pool.Get().(*numericWork)
	defer n.pool.Put(w)
	copy(w.x, n.start)
	f, size, ok := n.objective(w.g, w.x, theta)
	if !ok {
		copy(dst, w.x)
		return math.Inf(1)
	}
	var history [numericHistory]float64
	for i := range history {
		history[i] = f
	}
	n.descend(w, theta, f, size, false)
	if n.diagonal && w.gap > float64(numericGoal*w.size) {
		copy(w.x, w.best)
		if f, size, ok := n.objective(w.g, w.x, theta); ok {
			n.descend(w, theta, f, size, true)
		}
	}
	n.set.Project(w.x, w.best)
	gap := math.Inf(1)
	if _, _, ok := n.objective(w.g, w.x, theta); ok {
		gap = n.gap(w)
	}
	copy(dst, w.x)
	return gap
}

// descend makes passes from w.x, whose gradient is w.g, until the gap is small or stops falling.
// w.best is the point with the smallest gap, w.gap, and w.size the size of the objective's terms
// there. Its metric is a multiple of the identity or, if diagonal, one number for each coordinate,
// which separable maps that are steep at the boundary need.
func (n *numeric) descend(w *numericWork, theta []float64, f, size float64, diagonal bool) {
	var history [numericHistory]float64
	for i := range history {
		history[i] = f
	}
	length, idle := 1/max(vec.MaxAbs(w.g), 1e-30), 0
	for i := range w.metric {
		w.metric[i] = 1 / length
	}
	w.gap = math.Inf(1)
	passes := numericPasses
	if n.diagonal && !diagonal {
		passes = numericFirst
	}
	for pass := range passes {
		if gap := n.gap(w); gap < w.gap {
			w.gap, w.size, idle = gap, size, 0
			copy(w.best, w.x)
			if gap <= float64(numericGoal*size) { // the last projection may cost some rounding
				return
			}
		}
		noise := float64(8 * eps * size)
		slope := n.direction(w, length, diagonal)
		// Where values differ by rounding only, gradients alone still make progress for a while.
		if slope >= -noise {
			if idle++; idle > numericIdle {
				return
			}
		}
		next, nextSize, ok := n.search(w, theta, f, slope, history[:], noise)
		if !ok {
			return
		}
		f, size, history[pass%numericHistory] = next, nextSize, next
		length = min(max(n.move(w, length), 1e-100), 1e100)
	}
}

// direction sets w.step to the step to the best point of the model at w.x, and returns the slope
// along it.
func (n *numeric) direction(w *numericWork, length float64, diagonal bool) (slope float64) {
	if diagonal {
		for i, g := range w.g {
			w.next[i] = float64(w.metric[i]*w.x[i]) - g
		}
		diagonalArgmax(w.step, w.next, w.metric, n.set)
	} else {
		for i, g := range w.g {
			w.next[i] = w.x[i] - float64(length*g)
		}
		n.set.Project(w.step, w.next)
	}
	for i, g := range w.g {
		w.step[i] -= w.x[i]
		slope += float64(g * w.step[i])
	}
	return slope
}

// search goes along w.step until the value is small enough, writes the point to w.next and its
// gradient to w.change, and reports whether it has found one.
func (n *numeric) search(w *numericWork, theta []float64, f, slope float64, history []float64, noise float64) (
	value, size float64, ok bool,
) {
	_, most := vec.ArgMax(history)
	t := 1.0
	for range 60 {
		for i, s := range w.step {
			w.next[i] = w.x[i] + float64(t*s)
		}
		v, size, finite := n.objective(w.change, w.next, theta)
		if finite && v <= most+noise+float64(float64(1e-4*t)*min(slope, 0)) {
			return v, size, true
		}
		if !finite && t == 1 { // the end of the step is on the boundary of the domain
			t = 0.99
			continue
		}
		// The minimizer of the parabola through both values and the slope, within 0.1 to 0.5 of t.
		bend := v - f - float64(t*slope)
		shorter := 0.5 * t
		if finite && bend > 0 {
			shorter = min(max(-float64(float64(t*t)*slope)/(2*bend), 0.1*t), shorter)
		}
		t = shorter
	}
	return f, 0, false
}

// move goes to w.next, whose gradient is w.change, and returns the length of the next step: ⟨s,
// s⟩/⟨s, y⟩ for the step s and the change y of the gradient, or four times the last step where ⟨s,
// y⟩ is not positive. The metric becomes y_i/s_i.
func (n *numeric) move(w *numericWork, last float64) float64 {
	ss, sy := 0.0, 0.0
	for i, x := range w.next {
		s := x - w.x[i]
		ss += float64(s * s)
		y := w.change[i] - w.g[i]
		sy += float64(s * y)
		if bend := y / s; bend > 1e-290 && bend < 1e290 {
			w.metric[i] = bend
		}
	}
	w.x, w.next = w.next, w.x
	w.g, w.change = w.change, w.g
	switch {
	case ss == 0:
		return last
	case !(sy > 0):
		return 4 * last
	}
	return ss / sy
}

// numericRegularizer is the Regularizer of a numeric oracle.
type numericRegularizer struct {
	*restricted
	n *numeric
}

// ArgmaxGap implements [Certified].
func (r *numericRegularizer) ArgmaxGap(dst, theta []float64) float64 { return r.n.argmax(dst, theta) }
