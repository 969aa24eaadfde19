package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// QuadraticMinimizer is the [Minimizer] for ψ_t = (c_t/2)‖x‖₂² and quadratic losses on any set:
// linear ones, squared distances, squared losses of a linear prediction, and these with (λ/2)‖x‖²
// added. It keeps their sum, so that a round costs O(d) and a projection and memory is O(d), or
// with squared losses of predictions O(d²) and a Mahalanobis projection, O(d³), and memory is
// O(d²). It is not safe for concurrent use, and serves one learner.
type QuadraticMinimizer struct {
	set    convex.Set
	weight Weight
	sum    quadratics
	hinted quadratics // scratch: the sum with the hint
	space  *convex.Mahalanobis
	diag   []float64 // scratch: the diagonal of A
}

// quadratics is a sum of quadratic functions, ½xᵀ(A + ρI)x − ⟨b, x⟩ and a constant.
type quadratics struct {
	A   []float64 // row by row; nil for 0
	Rho float64
	B   []float64
}

// NewQuadraticMinimizer minimizes over set with weights c_t.
func NewQuadraticMinimizer(set convex.Set, weight Weight) (*QuadraticMinimizer, error) {
	if set == nil {
		return nil, noregret.BadInputf("set", "nil: want a set")
	}
	if err := weight.validate(); err != nil {
		return nil, err
	}
	m := &QuadraticMinimizer{set: set, weight: weight}
	m.sum.B, m.hinted.B = make([]float64, set.Dim()), make([]float64, set.Dim())
	return m, nil
}

// Set implements [Minimizer].
func (m *QuadraticMinimizer) Set() convex.Set { return m.set }

// Regularizer implements [Minimizer].
func (m *QuadraticMinimizer) Regularizer(t int, x []float64) (value, strongConvexity float64) {
	c := m.weight.at(t)
	return float64(c / 2 * vec.Dot(x, x)), c
}

// String implements [Minimizer].
func (m *QuadraticMinimizer) String() string {
	return fmt.Sprintf("quadratic(%v, weight=%v)", m.set, m.weight.name)
}

// mostCondition is the largest ratio of the trace of A to the regularizer at which the matrix is
// factored.
const mostCondition = 1e13

// Takes implements [Minimizer]. It refuses losses that are not quadratic; coefficients, squared
// where they enter as squares, above 1e140, those of linear losses above 1e300; sums that leave the
// range of float64 over the regularizer's weight; squared losses of predictions in a dimension
// above 1,024, which would take d² numbers, or whose squares sum to more than 1e13 times the
// regularizer's weight, so that the matrix is numerically singular; and decreasing weights.
func (m *QuadraticMinimizer) Takes(t int, f loss.Function) error {
	if err := m.weight.rises(t); err != nil {
		return err
	}
	q, d := coefficients(f), len(m.sum.B)
	c := m.sum.Rho + m.weight.at(t)
	trace := q.squares
	most, dense := 1e140, q.squares > 0 || m.sum.A != nil
	if q.linear && !dense {
		most = 1e300
	}
	if m.sum.A != nil {
		for i := range d {
			trace += m.sum.A[i*d+i]
		}
	}
	switch {
	case !q.quadratic:
		return noregret.BadInputf("loss", "%T: want a quadratic function", f)
	case q.squares > 0 && d > denseUpTo:
		return noregret.BadInputf("loss", "the squared loss of a prediction in dimension %d: want at most %d", d,
			denseUpTo)
	case !(q.size <= most):
		return noregret.BadInputf("loss", "coefficients of size %v: want at most %v", q.size, most)
	case dense && !(vec.MaxAbs(m.sum.B)+2*q.size <= 1e150):
		return noregret.BadInputf("loss", "the sums of all losses' coefficients are of size %v: want at most 1e150 "+
			"beside squared losses of predictions", vec.MaxAbs(m.sum.B)+2*q.size)
	case !(m.sum.Rho+q.rho <= 1e300) || !((vec.MaxAbs(m.sum.B)+2*q.size)/c <= 1e300):
		return noregret.BadInputf("loss", "the sums of all losses' coefficients, over the regularizer's weight %v, "+
			"leave "+
			"the range of float64", c)
	case trace > mostCondition*c:
		return noregret.BadInputf("loss",
			"the squares of all predictions' features sum to %v, beside a regularizer of "+
				"weight %v: want at most %v times it", trace, c, mostCondition)
	}
	return nil
}

// magnitudes are the sizes of a loss's coefficients.
type magnitudes struct {
	quadratic bool
	linear    bool
	size      float64 // the largest, squared where it enters as a square
	squares   float64 // Σz² of a prediction's features
	rho       float64
}

func coefficients(f loss.Function) magnitudes {
	switch f := f.(type) {
	case *loss.Linear:
		return magnitudes{quadratic: true, linear: true, size: vec.MaxAbs(f.C)}
	case *loss.SquaredDistance:
		return magnitudes{quadratic: true, size: vec.MaxAbs(f.C), rho: 2}
	case *loss.Example:
		_, ok := f.Loss.(loss.Squared)
		z := vec.MaxAbs(f.Z)
		return magnitudes{quadratic: ok, size: max(z*z, math.Abs(f.Y)*z), squares: vec.Dot(f.Z, f.Z)}
	case *loss.Ridge:
		q := coefficients(f.F)
		q.size, q.rho, q.linear = max(f.Lambda, q.size), q.rho+f.Lambda, false
		return q
	}
	return magnitudes{}
}

// Add implements [Minimizer].
func (m *QuadraticMinimizer) Add(f loss.Function) { m.sum.add(f) }

// Minimize implements [Minimizer].
func (m *QuadraticMinimizer) Minimize(dst []float64, t int, hint loss.Function) (gap float64, err error) {
	q, c := &m.sum, m.weight.at(t)
	if hint != nil {
		q = &m.hinted
		q.A, q.Rho = append(q.A[:0], m.sum.A...), m.sum.Rho
		if len(q.A) == 0 {
			q.A = nil
		}
		copy(q.B, m.sum.B)
		q.add(hint)
	}
	if q.A == nil {
		for i, v := range q.B {
			dst[i] = v / (q.Rho + c)
		}
		m.set.Project(dst, dst)
		return 0, nil
	}
	d := len(q.B)
	if m.space == nil {
		if m.space, err = convex.NewMahalanobis(d); err != nil {
			return 0, err
		}
		m.diag = make([]float64, d)
	}
	for i := range d { // for the call
		m.diag[i] = q.A[i*d+i]
		q.A[i*d+i] += q.Rho + c
	}
	gap, err = m.space.Argmax(dst, q.A, q.B, m.set, curvatureTolerance)
	for i, v := range m.diag {
		q.A[i*d+i] = v
	}
	if err != nil && noregret.CodeOf(err) == noregret.Diverged && !math.IsInf(gap, 1) {
		return gap, nil // the best point found and its gap
	}
	return gap, err
}

// MarshalBinary implements [Minimizer].
func (m *QuadraticMinimizer) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, m.String(), &m.sum)
}

// UnmarshalBinary implements [Minimizer].
func (m *QuadraticMinimizer) UnmarshalBinary(data []byte) error {
	d := len(m.sum.B)
	return restore(data, m.String(), &m.sum, func(q *quadratics) error {
		if !allFinite(q.B, d) || len(q.A) != 0 && !allFinite(q.A, d*d) || !(q.Rho >= 0) || !vec.IsFinite(q.Rho) ||
			!symmetric(q.A, d) {
			return snapshot.Bad("damaged: its sums do not fit dimension %d", d)
		}
		return nil
	})
}

// add adds f, up to a constant.
func (q *quadratics) add(f loss.Function) {
	switch f := f.(type) {
	case *loss.Linear:
		for i, v := range f.C {
			q.B[i] -= v
		}
	case *loss.SquaredDistance:
		q.Rho += 2
		for i, v := range f.C {
			q.B[i] += float64(2 * v)
		}
	case *loss.Example:
		d := len(f.Z)
		if q.A == nil {
			q.A = make([]float64, d*d)
		}
		for i, v := range f.Z {
			q.B[i] += float64(f.Y * v)
			row := q.A[i*d : (i+1)*d]
			for j, w := range f.Z {
				row[j] += float64(v * w)
			}
		}
	case *loss.Ridge:
		q.Rho += f.Lambda
		q.add(f.F)
	}
}

// symmetric reports whether a matrix, which may be empty, is symmetric and satisfies the
// Cauchy-Schwarz inequality |a_ij|² ≤ a_ii·a_jj, as sums of squares do.
func symmetric(a []float64, d int) bool {
	for i := range len(a) / max(d, 1) {
		for j := range i + 1 {
			v := a[i*d+j]
			if v != a[j*d+i] || v*v > a[i*d+i]*a[j*d+j]*(1+1e-9) || i == j && v < 0 {
				return false
			}
		}
	}
	return true
}
