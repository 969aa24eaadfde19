package regret

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// SquareSummary is the summary Σzzᵀ, Σyz, Σy² of squared losses ½(⟨z, x⟩ − y)². The best point is
// found by a Cholesky factorization on ℝ^d and by a certified Mahalanobis projection elsewhere.
// O(d²) memory and time a round.
type SquareSummary struct {
	d      int
	matrix []total // Σzzᵀ, the lower triangle row by row
	vector []total // Σyz
	square total   // Σy²
	space  *convex.Mahalanobis
	s      []float64
	factor []float64
	b      []float64
	work   []float64
}

// NewSquareSummary summarizes losses on ℝ^d, d ≥ 1.
func NewSquareSummary(d int) (*SquareSummary, error) {
	space, err := convex.NewMahalanobis(d)
	if err != nil {
		return nil, err
	}
	return &SquareSummary{
		d: d, matrix: make([]total, d*(d+1)/2), vector: make([]total, d), space: space,
		s: make([]float64, d*d), factor: make([]float64, d*d), b: make([]float64, d), work: make([]float64, d),
	}, nil
}

// Add implements [Summary], for [loss.Example] with [loss.Squared].
func (s *SquareSummary) Add(f loss.Function) error {
	e, ok := f.(*loss.Example)
	if !ok || len(e.Z) != s.d {
		return wrongLoss("squared losses of one dimension", f)
	}
	if _, ok := e.Loss.(loss.Squared); !ok {
		return wrongLoss("squared losses", f)
	}
	k := 0
	for i, z := range e.Z {
		for j := range i + 1 {
			s.matrix[k].addProduct(z, e.Z[j])
			k++
		}
		s.vector[i].addProduct(e.Y, z)
	}
	s.square.addProduct(e.Y, e.Y)
	return nil
}

// Reset implements [Summary].
func (s *SquareSummary) Reset() {
	clear(s.matrix)
	clear(s.vector)
	s.square = total{}
}

func (s *SquareSummary) load() {
	k := 0
	for i := range s.d {
		for j := range i + 1 {
			s.s[i*s.d+j] = s.matrix[k].value()
			s.s[j*s.d+i] = s.s[i*s.d+j]
			k++
		}
		s.b[i] = s.vector[i].value()
	}
}

// Loss implements [Summary]: ½Σy² − ⟨u, Σyz⟩ + ½uᵀ(Σzzᵀ)u, in twice the precision, as the terms
// may cancel.
func (s *SquareSummary) Loss(u []float64) float64 {
	var twice total
	twice.add(s.square.S)
	twice.add(s.square.C)
	k := 0
	for i, v := range u {
		var row total // half of row i of the matrix times u, twice
		for j := range i + 1 {
			w := 2 * u[j]
			if j == i {
				w = u[i]
			}
			row.addScaled(w, s.matrix[k])
			k++
		}
		row.addScaled(-2, s.vector[i])
		twice.addScaled(v, row)
	}
	return max(twice.value()/2, 0)
}

const (
	// squareRidge is what is added to the matrix's diagonal, relative to its largest entry, where
	// it has no factor, as the features do not span the space.
	squareRidge = 1e-12
	// squarePivot is the least share of a diagonal entry that its pivot in the factor may have.
	squarePivot = 1e-11
)

// Best implements [Summary]. The gap is certified by the gradient p at the point: p·u − min_V ⟨p,
// ·⟩ on a bounded set, ½pᵀ(Σzzᵀ)⁻¹p on ℝ^d. On an unbounded set, features that do not span the
// space get a tiny ridge, and the certificate is then for comparators up to ten times as long as
// the point found.
func (s *SquareSummary) Best(dst []float64, set convex.Set) (least, gap float64, err error) {
	s.load()
	var largest float64
	for i := range s.d {
		largest = max(largest, s.s[i*s.d+i])
	}
	if largest == 0 {
		clear(dst)
		set.Project(dst, dst)
		return s.Loss(dst), 0, nil
	}
	if !(largest <= 1e300) {
		return 0, math.Inf(1), noregret.Errorf(noregret.Diverged, "features",
			"their sum of squares is %v: it left the range of float64", largest)
	}
	ridge := 0.0
	if s.deficient() {
		ridge = float64(squareRidge * largest)
		for i := range s.d {
			s.s[i*s.d+i] += ridge
		}
	}
	if gap, err = s.argmax(dst, set); err != nil {
		return 0, math.Inf(1), err
	}
	if ridge == 0 {
		return s.Loss(dst), gap, nil
	}
	if math.IsInf(set.Diameter(), 1) {
		// F(u) ≥ F_ridge(u) − (ridge/2)‖u‖² for every u.
		n := 10 * vec.Norm2(dst)
		return s.Loss(dst), gap + float64(float64(ridge/2*n)*n), nil
	}
	s.load()
	for i := range s.work {
		s.work[i] = vec.Dot(s.s[i*s.d:(i+1)*s.d], dst) - s.b[i]
	}
	low, err := set.Minimize(s.b, s.work)
	if err != nil {
		return 0, math.Inf(1), err
	}
	return s.Loss(dst), max(vec.Dot(s.work, dst)-low, 0), nil
}

// squarePrecision is the gap that Best aims at, relative to the objective.
const squarePrecision = 1e-9

// argmax minimizes ½uᵀSu − ⟨b, u⟩ for the loaded S and b. Where b is next to 0, because labels and
// features are uncorrelated, the objective is mostly rounding, and no gap can be small beside it:
// then a gap that is small beside ½Σy², the losses at the origin, will do.
func (s *SquareSummary) argmax(dst []float64, set convex.Set) (gap float64, err error) {
	gap, err = s.space.Argmax(dst, s.s, s.b, set, squarePrecision)
	if err != nil && noregret.CodeOf(err) == noregret.Diverged && gap <= float64(squarePrecision/2*s.square.value()) {
		err = nil
	}
	return gap, err
}

// deficient reports whether a pivot of the matrix's Cholesky factor is too small a part of its
// diagonal entry.
func (s *SquareSummary) deficient() bool {
	copy(s.factor, s.s)
	return !linalg.FactorizeAbove(s.factor, s.d, squarePivot)
}
