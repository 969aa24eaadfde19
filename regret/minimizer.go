package regret

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// cloner is a loss function that can be kept beyond its round. Implement it for losses of your own
// that [Options.Dynamic] should measure.
type cloner interface{ Clone() loss.Function }

// keep returns a copy of a loss that outlives its round.
func keep(f loss.Function) (loss.Function, error) {
	switch f := f.(type) {
	case *loss.Linear:
		return &loss.Linear{C: slices.Clone(f.C)}, nil
	case *loss.SquaredDistance:
		return &loss.SquaredDistance{C: slices.Clone(f.C)}, nil
	case *Tilt:
		g := *f
		return &g, nil
	case *loss.Example:
		return loss.NewExample(slices.Clone(f.Z), f.Y, f.Loss)
	case *loss.SparseExample:
		return f.Dense(), nil
	case *loss.Composite:
		inner, err := keep(f.F)
		return &loss.Composite{F: inner, Lambda: f.Lambda}, err
	case cloner:
		return f.Clone(), nil
	}
	return nil, noregret.BadInputf("dynamic",
		"losses of type %T cannot be kept, as they have no method Clone() loss.Function", f)
}

// least finds minimizers of single losses on a set.
type least struct {
	set      convex.Set
	low, dir []float64 // work
	single   *CompositeSummary
}

func newLeast(set convex.Set) *least {
	return &least{set: set, low: make([]float64, set.Dim()), dir: make([]float64, set.Dim())}
}

// of writes a minimizer of f on the set to dst, and returns the least value and a certified gap: no
// point has a value below the difference. The gap is 0 for linear losses, squared distances, losses
// of a linear prediction, composite losses and tilts; other losses take the search of [Replay].
func (m *least) of(dst []float64, f loss.Function) (value, gap float64, err error) {
	switch f := f.(type) {
	case *loss.Linear:
		_, err = m.set.Minimize(dst, f.C)
	case *loss.SquaredDistance:
		m.set.Project(dst, f.C)
	case *Tilt:
		var low, high float64
		if low, high, err = line(m.set); err == nil {
			if dst[0] = f.Shape.Minimize(f.Slope, low, high); math.IsInf(dst[0], 0) {
				err = convex.ErrUnbounded
			}
		}
	case *loss.Example:
		err = m.example(dst, f)
	case *loss.Composite:
		if m.single == nil {
			m.single = NewCompositeSummary(m.set.Dim())
		}
		m.single.Reset()
		if err = m.single.Add(f); err == nil {
			value, _, err = m.single.Best(dst, m.set)
			if math.IsInf(value, -1) {
				err = convex.ErrUnbounded
			}
		}
	default:
		return m.search(dst, []loss.Function{f})
	}
	if errors.Is(err, convex.ErrUnbounded) {
		return 0, 0, noregret.BadInputf("dynamic", "a loss has no minimum on %v", m.set)
	}
	if err != nil {
		return 0, 0, err
	}
	return f.Value(dst), 0, nil
}

// example minimizes φ(⟨z, x⟩, y): the prediction p = ⟨z, x⟩ takes all values between those at two
// points of the set, and φ is convex in it.
func (m *least) example(dst []float64, f *loss.Example) error {
	for i, v := range f.Z {
		m.dir[i] = -v
	}
	a, err := m.set.Minimize(m.low, f.Z)
	if err == nil {
		var b float64
		if b, err = m.set.Minimize(dst, m.dir); err == nil {
			b = -b
			p, share := flattest(f.Loss, f.Y, a, b), 0.0
			if b > a {
				share = (p - a) / (b - a)
			}
			for i, v := range m.low {
				dst[i] = v + float64(share*(dst[i]-v))
			}
			return nil
		}
	}
	square := vec.DotInOrder(f.Z, f.Z)
	if _, whole := m.set.(*convex.Space); !whole || f.Loss.Derivative(f.Y, f.Y) != 0 || !(square > 0) {
		return err
	}
	for i, v := range f.Z { // φ is least at p = y
		dst[i] = f.Y / square * v
	}
	return nil
}

// flattest returns the p in [a, b] with the least φ(p, y), by bisection on the derivative.
func flattest(phi loss.Scalar, y, a, b float64) float64 {
	switch {
	case phi.Derivative(a, y) >= 0:
		return a
	case phi.Derivative(b, y) <= 0:
		return b
	case phi.Derivative(y, y) == 0:
		return y
	}
	for range 100 {
		p := a + float64((b-a)/2)
		if phi.Derivative(p, y) >= 0 {
			b = p
		} else {
			a = p
		}
	}
	return b
}

// search minimizes a sum of losses of any kind.
func (m *least) search(dst []float64, f []loss.Function) (value, gap float64, err error) {
	if math.IsInf(m.set.Diameter(), 1) {
		return 0, 0, noregret.BadInputf("dynamic",
			"%v is unbounded: the least of losses of type %T is sought on bounded sets only", m.set, f[0])
	}
	d := m.set.Dim()
	g, sum := make([]float64, d), make([]total, d)
	clear(dst)
	return minimize(context.Background(), m.set, dst, func(u, grad []float64) (float64, error) {
		var value total
		clear(sum)
		for _, f := range f {
			value.add(f.Value(u))
			if grad != nil {
				f.Subgradient(g, u)
				for i, v := range g {
					sum[i].add(v)
				}
			}
		}
		for i := range grad {
			grad[i] = sum[i].value()
		}
		return value.value(), nil
	})
}
