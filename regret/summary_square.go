package regret

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/memory"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// squareDense is the dimension up to which a [SquareSummary] holds a d×d matrix.
const squareDense = 1024

// SquareSummary is the summary Σzzᵀ, Σyz, Σy² of squared losses ½(⟨z, x⟩ − y)². The best point is
// found by a Cholesky factorization on ℝ^d and by a certified Mahalanobis projection elsewhere.
//
// Up to dimension 1,024 it takes O(d²) memory and time a round. Above, it keeps the moments in the
// coordinates of an orthonormal basis of the features, in O(d·r + r²) for features that span r
// dimensions; on ℝ^d and on Euclidean balls around the origin the best point is in that span, and
// on other sets it takes O(d²) memory to find. It returns an error if more than 8 GiB would be
// needed.
type SquareSummary struct {
	d       int
	basis   *basis // nil up to squareDense, where the coordinates are those of ℝ^d
	moments moments
	solver  *squareSolver
	z, full []float64 // coordinates and features; work
}

// NewSquareSummary summarizes losses on ℝ^d, d from 1 to 2²⁴.
func NewSquareSummary(d int) (*SquareSummary, error) {
	return newSquareSummary(d, squareDense)
}

// newSquareSummary is [NewSquareSummary] with the dimension up to which there is a d×d matrix.
func newSquareSummary(d, dense int) (*SquareSummary, error) {
	if err := checkDim(d, 1); err != nil {
		return nil, err
	}
	if d > dense {
		return &SquareSummary{d: d, basis: newBasis(d)}, nil
	}
	return &SquareSummary{d: d, moments: newMoments(d)}, nil
}

// Add implements [Summary], for [loss.Example] and [loss.SparseExample] with [loss.Squared]. A
// sparse one takes time quadratic in its non-zeros up to dimension 1,024.
func (s *SquareSummary) Add(f loss.Function) error {
	var phi loss.Scalar
	var y float64
	switch f := f.(type) {
	case *loss.Example:
		phi, y = f.Loss, f.Y
	case *loss.SparseExample:
		phi, y = f.Loss, f.Y
	}
	if _, ok := phi.(loss.Squared); !ok || f.Dim() != s.d {
		return wrongLoss("squared losses of one dimension", f)
	}
	if s.basis != nil {
		z := s.features(f)
		if err := s.basis.include(z); err != nil {
			return err
		}
		s.moments.grow(len(s.basis.rows))
		s.moments.add(s.coordinates(z), y)
		return nil
	}
	switch f := f.(type) {
	case *loss.Example:
		s.moments.add(f.Z, y)
	case *loss.SparseExample:
		s.moments.addSparse(f.Z, y)
	}
	return nil
}

// features returns those of an example, all of them, valid until the next call.
func (s *SquareSummary) features(f loss.Function) []float64 {
	sparse, ok := f.(*loss.SparseExample)
	if !ok {
		return f.(*loss.Example).Z
	}
	if s.full == nil {
		s.full = make([]float64, s.d)
	}
	clear(s.full)
	for k, i := range sparse.Z.Index {
		s.full[i] = sparse.Z.Value[k]
	}
	return s.full
}

// coordinates are those of v in the basis, valid until the next call.
func (s *SquareSummary) coordinates(v []float64) []float64 {
	for len(s.z) < s.moments.n {
		s.z = append(s.z, 0)
	}
	z := s.z[:s.moments.n]
	s.basis.coordinates(z, v)
	return z
}

// Reset implements [Summary].
func (s *SquareSummary) Reset() {
	if s.basis != nil {
		s.basis.reset()
		s.moments = moments{}
		return
	}
	s.moments.reset()
}

// Loss implements [Summary]: ½Σy² − ⟨u, Σyz⟩ + ½uᵀ(Σzzᵀ)u, in twice the precision, as the terms
// may cancel.
func (s *SquareSummary) Loss(u []float64) float64 {
	if s.basis != nil {
		u = s.coordinates(u)
	}
	return s.moments.loss(u)
}

// Best implements [Summary]. The gap is certified by the gradient p at the point: p·u − min_V ⟨p,
// ·⟩ on a bounded set, ½pᵀ(Σzzᵀ)⁻¹p on ℝ^d. On an unbounded set, features that do not span the
// space get a tiny ridge, and the certificate is then for comparators up to ten times as long as
// the point found.
func (s *SquareSummary) Best(dst []float64, set convex.Set) (least, gap float64, err error) {
	if s.basis == nil {
		return s.dense().best(dst, set, s.moments.loss, s.moments.values)
	}
	r := len(s.basis.rows)
	if r == 0 {
		clear(dst)
		set.Project(dst, dst)
		return s.Loss(dst), 0, nil
	}
	within, err := s.within(set, r)
	switch {
	case err != nil:
		return 0, math.Inf(1), err
	case within == nil:
		least, gap, err = s.everywhere(dst, set)
	default:
		if s.solver == nil || s.solver.n != r {
			if s.solver, err = newSquareSolver(r); err != nil {
				return 0, math.Inf(1), err
			}
		}
		x := make([]float64, r)
		if _, gap, err = s.solver.best(x, within, s.moments.loss, s.moments.values); err == nil {
			s.basis.point(dst, x)
			set.Project(dst, dst) // rounding
			least = s.Loss(dst)
		}
	}
	if err != nil {
		return 0, math.Inf(1), err
	}
	return least, gap + s.outside(least, set.Diameter(), vec.Norm2(dst)), nil
}

// dense returns the workspace of dimension d.
func (s *SquareSummary) dense() *squareSolver {
	if s.solver == nil {
		s.solver, _ = newSquareSolver(s.d) // d has been checked
	}
	return s.solver
}

// within returns the set in the basis's r coordinates that has the same best point, or nil if there
// is none.
func (s *SquareSummary) within(set convex.Set, r int) (convex.Set, error) {
	switch set := set.(type) {
	case *convex.Space:
		return convex.NewSpace(r)
	case *convex.Ball:
		if set.Norm() == convex.L2 && vec.IsZero(set.Center()) {
			return convex.NewCenteredBall(r, set.Radius())
		}
	}
	return nil, nil
}

// everywhere finds the best point in the coordinates of ℝ^d, for sets other than ℝ^d and balls
// around the origin.
func (s *SquareSummary) everywhere(dst []float64, set convex.Set) (least, gap float64, err error) {
	d, r := s.d, s.moments.n
	n := float64(d)
	if err := memory.Check("set", fmt.Sprintf("the best point of squared losses on %v", set), 8*n*n); err != nil {
		return 0, 0, err
	}
	solver, err := newSquareSolver(d)
	if err != nil {
		return 0, 0, err
	}
	return solver.best(dst, set, s.Loss, func(matrix, vector []float64) {
		small, b := make([]float64, r*r), make([]float64, r)
		s.moments.values(small, b)
		s.basis.point(vector, b)
		clear(matrix)
		row := make([]float64, d)
		for k, q := range s.basis.rows { // Σ_k q_k·(Σ_l S_kl·q_l)ᵀ
			s.basis.point(row, small[k*r:(k+1)*r])
			for i, v := range q {
				vec.AddScaled(matrix[i*d:(i+1)*d], v, row)
			}
		}
		for i := range d {
			for j := range i { // rounding
				matrix[i*d+j] = matrix[j*d+i]
			}
		}
	})
}

// outside bounds what the parts of the features that the basis leaves out can change: with R the
// sum of their squares, the losses F(u) change by √(2·F(u)·R)·‖u‖ + ½R‖u‖², for the point found and
// for any better one of the set; on an unbounded set, one up to ten times as long.
func (s *SquareSummary) outside(least, diameter, norm float64) float64 {
	r := s.basis.outside.value()
	if !(r > 0) {
		return 0
	}
	reach := diameter + norm
	if math.IsInf(diameter, 1) {
		reach = 10 * norm
	}
	return float64(2*math.Sqrt(2*least*r)*reach) + float64(r*reach*reach)
}

const (
	// squareRidge is added to the matrix's diagonal, relative to its largest entry, if the matrix
	// has no factor because the features do not span the space.
	squareRidge = 1e-12
	// squarePivot is the least share of a diagonal entry that its pivot in the factor may have.
	squarePivot = 1e-11
	// squarePrecision is the gap that the best point aims at, relative to the objective.
	squarePrecision = 1e-9
)

// squareSolver minimizes ½uᵀSu − ⟨b, u⟩ in n dimensions.
type squareSolver struct {
	n      int
	space  *convex.Mahalanobis
	s      []float64
	factor []float64
	b      []float64
	work   []float64
}

func newSquareSolver(n int) (*squareSolver, error) {
	space, err := convex.NewMahalanobis(n)
	if err != nil {
		return nil, err
	}
	return &squareSolver{
		n: n, space: space, s: make([]float64, n*n), factor: make([]float64, n*n), b: make([]float64, n),
		work: make([]float64, n),
	}, nil
}

// best is [SquareSummary.Best] for the matrix and vector that load writes and the losses of which
// they are part.
func (q *squareSolver) best(dst []float64, set convex.Set, losses func(u []float64) float64,
	load func(matrix, vector []float64),
) (least, gap float64, err error) {
	load(q.s, q.b)
	var largest float64
	for i := range q.n {
		largest = max(largest, q.s[i*q.n+i])
	}
	if largest == 0 {
		clear(dst)
		set.Project(dst, dst)
		return losses(dst), 0, nil
	}
	if !(largest <= 1e300) {
		return 0, math.Inf(1), noregret.Errorf(noregret.Diverged, "features",
			"their sum of squares is %v: it left the range of float64", largest)
	}
	ridge := 0.0
	if q.deficient() {
		ridge = float64(squareRidge * largest)
		for i := range q.n {
			q.s[i*q.n+i] += ridge
		}
	}
	clear(q.work)
	if gap, err = q.argmax(dst, set, losses(q.work)); err != nil {
		return 0, math.Inf(1), err
	}
	if ridge == 0 {
		return losses(dst), gap, nil
	}
	if math.IsInf(set.Diameter(), 1) {
		// F(u) ≥ F_ridge(u) − (ridge/2)‖u‖² for every u.
		n := 10 * vec.Norm2(dst)
		return losses(dst), gap + float64(float64(ridge/2*n)*n), nil
	}
	load(q.s, q.b)
	for i := range q.work {
		q.work[i] = vec.Dot(q.s[i*q.n:(i+1)*q.n], dst) - q.b[i]
	}
	low, err := set.Minimize(q.b, q.work)
	if err != nil {
		return 0, math.Inf(1), err
	}
	return losses(dst), max(vec.Dot(q.work, dst)-low, 0), nil
}

// argmax minimizes ½uᵀSu − ⟨b, u⟩. If b is nearly 0, because labels and features are uncorrelated,
// the objective is mostly rounding, and no gap is small relative to it. Then a gap that is small
// relative to the losses at the origin suffices.
func (q *squareSolver) argmax(dst []float64, set convex.Set, atOrigin float64) (gap float64, err error) {
	gap, err = q.space.Argmax(dst, q.s, q.b, set, squarePrecision)
	if err != nil && noregret.CodeOf(err) == noregret.Diverged && gap <= float64(squarePrecision*atOrigin) {
		err = nil
	}
	return gap, err
}

// deficient reports whether a pivot of the matrix's Cholesky factor is too small a part of its
// diagonal entry.
func (q *squareSolver) deficient() bool {
	copy(q.factor, q.s)
	return !linalg.FactorizeAbove(q.factor, q.n, squarePivot)
}
