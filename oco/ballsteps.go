package oco

import (
	"math"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// ballSteps finds minimizers of ½xᵀSx − ⟨θ, x⟩ on a Euclidean ball for a matrix S that grows by
// rank one from call to call. It keeps the tridiagonal form QTQᵀ of S from some rounds ago and the
// factors added since, S = QTQᵀ + σI + Σ_k u_k·u_kᵀ, so that a system with S + νI costs O(d·k²) by
// the Woodbury identity, in place of the O(d³) of another reduction; ν starts at its last value.
type ballSteps struct {
	ball    *convex.Ball
	center  []float64
	most    int // factors before the matrix is reduced anew
	tri     *linalg.Tridiagonal
	rotated []float64 // Qᵀu_k
	solved  []float64 // (T + σ + ν)⁻¹Qᵀu_k
	gram    []float64 // I + Σ u_j·(T + σ + ν)⁻¹·u_k, factored
	inner   []float64
	b, z, w []float64
	pivots  []float64
	valid   bool // tri and rotated are those of the base
}

// ballBase is the starting point of ballSteps. It is part of the learner's snapshot, so that a
// restored learner continues with the same bits.
type ballBase struct {
	S []float64 // empty before the first projection
	// Diagonal is that of S outside the span, which shows how much has been added to the diagonal
	// since.
	Diagonal float64
	Count    int
	Factors  []float64 // Count rows of d values: u_k
	Nu       float64
}

// ballStepsFrom is the least dimension in which ballSteps is faster.
const ballStepsFrom = 64

// newBallSteps returns nil for sets other than Euclidean balls and in low dimensions.
func newBallSteps(set convex.Set, from int) *ballSteps {
	ball, ok := set.(*convex.Ball)
	d := set.Dim()
	if !ok || ball.Norm().P() != 2 || d < from {
		return nil
	}
	s := &ballSteps{ball: ball, most: mostFactors(d)}
	if c := ball.Center(); vec.MaxAbs(c) != 0 {
		s.center = c
	}
	return s
}

// mostFactors is the number of factors that are added before the matrix of dimension d is
// tridiagonalized again.
func mostFactors(d int) int { return min(32, max(d/8, 2)) }

// ready allocates the scratch memory at the first projection.
func (s *ballSteps) ready() {
	if s.tri != nil {
		return
	}
	d, k := s.ball.Dim(), s.most
	s.tri = linalg.NewTridiagonal(d)
	s.rotated, s.solved = make([]float64, k*d), make([]float64, k*d)
	s.gram, s.inner = make([]float64, k*k), make([]float64, k)
	s.b, s.z, s.w, s.pivots = make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)
}

// add records that u·uᵀ was added to S.
func (s *ballSteps) add(base *ballBase, u []float64) {
	if len(base.S) == 0 {
		return
	}
	if base.Count == s.most {
		s.reset(base)
		return
	}
	base.Factors = append(base.Factors[:base.Count*len(u)], u...)
	if s.valid {
		s.rotate(base.Count, u)
	}
	base.Count++
}

// reset makes the next projection tridiagonalize the matrix again.
func (s *ballSteps) reset(base *ballBase) {
	base.S, base.Factors, base.Count = base.S[:0], base.Factors[:0], 0
	s.valid = false
}

func (s *ballSteps) rotate(k int, u []float64) {
	d := len(u)
	row := s.rotated[k*d : (k+1)*d]
	copy(row, u)
	s.tri.MulQT(row)
}

// begin computes tri and the rotated factors from the base, and first the base from S if there is
// none.
func (s *ballSteps) begin(base *ballBase, matrix []float64, diagonal float64) {
	s.ready()
	if len(base.S) == 0 {
		base.S, base.Diagonal, base.Count = append(base.S, matrix...), diagonal, 0
		if base.Factors == nil {
			base.Factors = make([]float64, 0, s.most*s.ball.Dim())
		}
		s.valid = false
	}
	if s.valid {
		return
	}
	d := s.ball.Dim()
	s.tri.Factor(base.S, s.w)
	for k := range base.Count {
		s.rotate(k, base.Factors[k*d:(k+1)*d])
	}
	s.valid = true
}

// argmin writes the minimizer to dst, and returns a certified gap: the objective is within it of
// its minimum. It reports false if the gap is above tol of the objective's size.
func (s *ballSteps) argmin(dst []float64, base *ballBase, matrix, theta []float64, diagonal, tol float64) (float64,
	bool,
) {
	s.begin(base, matrix, diagonal)
	r := s.ball.Radius()
	copy(s.b, theta)
	d := len(s.b)
	if s.center != nil {
		for i := range s.b {
			s.b[i] -= vec.Dot(matrix[i*d:(i+1)*d], s.center)
		}
	}
	s.tri.MulQT(s.b)
	s.multiplier(base, r, diagonal-base.Diagonal)
	copy(dst, s.z)
	s.tri.MulQ(dst)
	for i, c := range s.center {
		dst[i] += c
	}
	s.ball.Project(dst, dst)
	// The gap ⟨p, x⟩ − min_V⟨p, ·⟩ for p = Sx − θ.
	linalg.MulSymmetric(s.w, matrix, dst)
	scale := float64(0.5*vec.Dot(s.w, dst)) + math.Abs(vec.Dot(theta, dst))
	var gap float64
	for i, t := range theta {
		s.w[i] -= t
		x := dst[i]
		if s.center != nil {
			x -= s.center[i]
		}
		gap += float64(s.w[i] * x)
	}
	gap = max(gap+float64(r*vec.Norm2(s.w)), 0)
	return gap, gap <= float64(tol*scale)
}

// multiplier finds the ν ≥ 0 with ‖z(ν)‖ = r for z(ν) = (T + σ + ν + UUᵀ)⁻¹b, and leaves z(ν) in z:
// Newton's method on 1/r − 1/‖z(ν)‖, which is convex and decreasing. A step from the right of the
// root ends at its left, and from there the steps rise to the root.
func (s *ballSteps) multiplier(base *ballBase, r, shift float64) {
	nu, hi := base.Nu, vec.Norm2(s.b)/r
	if !(nu >= 0 && nu < hi) {
		nu = 0
	}
	for k := range 100 {
		s.factor(base.Count, shift+nu)
		s.solve(s.z, s.b, base.Count, shift+nu)
		n := vec.Norm2(s.z)
		if n <= r && (k > 0 || nu == 0 || n >= r*(1-0x1p-50)) {
			break
		}
		s.solve(s.w, s.z, base.Count, shift+nu)
		next := nu + float64(float64((n-r)/r*n)*(n/vec.Dot(s.z, s.w)))
		if n <= r {
			nu = max(next, 0) // the first step, from the right
			continue
		}
		if !(next < hi) {
			next = 0.5 * (nu + hi)
		}
		if !(next > nu) {
			break
		}
		nu = next
	}
	base.Nu = nu
}

// factor computes solved and gram for the shift.
func (s *ballSteps) factor(count int, shift float64) {
	d := len(s.b)
	copy(s.solved[:count*d], s.rotated[:count*d])
	for k := range count {
		s.tri.SolveShifted(s.solved[k*d:(k+1)*d], s.pivots, shift)
	}
	for j := range count {
		for k := j; k < count; k++ {
			s.gram[j*count+k] = vec.Dot(s.rotated[j*d:(j+1)*d], s.solved[k*d:(k+1)*d])
		}
		s.gram[j*count+j]++
	}
	linalg.Factorize(s.gram[:count*count], count) // at least I
}

// solve writes (T + shift + UUᵀ)⁻¹v to dst, which must not be v. Call factor first.
func (s *ballSteps) solve(dst, v []float64, count int, shift float64) {
	d := len(v)
	copy(dst, v)
	s.tri.SolveShifted(dst, s.pivots, shift)
	if count == 0 {
		return
	}
	y := s.inner[:count]
	for k := range y {
		y[k] = vec.Dot(s.rotated[k*d:(k+1)*d], dst)
	}
	linalg.SolveRT(s.gram, count, y)
	linalg.SolveR(s.gram, count, y)
	for k, f := range y {
		vec.AddScaled(dst, -f, s.solved[k*d:(k+1)*d])
	}
}

// check returns an error if a restored base does not fit dimension d.
func (b *ballBase) check(d int) error {
	if b == nil {
		return nil
	}
	if len(b.S) > 0 && !allFinite(b.S, d*d) || b.Count < 0 || b.Count > mostFactors(d) ||
		!allFinite(b.Factors, b.Count*d) || !(b.Nu >= 0) ||
		!vec.IsFinite(b.Nu) || !vec.IsFinite(b.Diagonal) || len(b.S) == 0 && b.Count > 0 {
		return snapshot.Bad("damaged: the base of its projections does not fit dimension %d", d)
	}
	return nil
}
