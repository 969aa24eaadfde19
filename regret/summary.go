package regret

import (
	"errors"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/loss"
)

// total is a compensated sum (Neumaier 1974): exact to the last digits over tens of millions of terms of either sign.
type total struct{ s, c float64 }

func (k *total) add(v float64) {
	t := k.s + v
	if math.Abs(k.s) >= math.Abs(v) {
		k.c += (k.s - t) + v
	} else {
		k.c += (v - t) + k.s
	}
	k.s = t
}

func (k *total) value() float64 { return k.s + k.c }

func wrongLoss(want string, f loss.Function) error {
	return noregret.Errorf(noregret.BadInput, "loss", "%T: this summary is of %s", f, want)
}

// LinearSummary is the summary Σg of linear losses. The best point is a linear minimizer: exact. O(d).
type LinearSummary struct {
	sum  []total
	work []float64
}

// NewLinearSummary summarizes losses on ℝ^d.
func NewLinearSummary(d int) *LinearSummary {
	return &LinearSummary{sum: make([]total, d), work: make([]float64, d)}
}

// Add implements [Summary], for [loss.Linear].
func (s *LinearSummary) Add(f loss.Function) error {
	l, ok := f.(*loss.Linear)
	if !ok || len(l.C) != len(s.sum) {
		return wrongLoss("linear losses of one dimension", f)
	}
	for i, v := range l.C {
		s.sum[i].add(v)
	}
	return nil
}

func (s *LinearSummary) values() []float64 {
	for i := range s.sum {
		s.work[i] = s.sum[i].value()
	}
	return s.work
}

// Loss implements [Summary].
func (s *LinearSummary) Loss(u []float64) float64 { return convex.Dot(s.values(), u) }

// Best implements [Summary].
func (s *LinearSummary) Best(dst []float64, set convex.Set) (least, gap float64, err error) {
	least, err = set.Minimize(dst, s.values())
	if errors.Is(err, convex.ErrUnbounded) {
		return math.Inf(-1), 0, nil
	}
	return least, 0, err
}

// DistanceSummary is the summary Σc, Σ‖c‖² of squared distances ‖x − c‖². The best point is the projected mean: exact. O(d).
type DistanceSummary struct {
	n      int
	mean   []total // Σc
	square total   // Σ‖c‖²
	origin []float64
	work   []float64
}

// NewDistanceSummary summarizes losses on ℝ^d.
func NewDistanceSummary(d int) *DistanceSummary {
	return &DistanceSummary{mean: make([]total, d), work: make([]float64, d)}
}

// Add implements [Summary], for [loss.SquaredDistance].
func (s *DistanceSummary) Add(f loss.Function) error {
	l, ok := f.(*loss.SquaredDistance)
	if !ok || len(l.C) != len(s.mean) {
		return wrongLoss("squared distances of one dimension", f)
	}
	if s.n == 0 {
		s.origin = append([]float64(nil), l.C...) // sums are relative to the first target, so that they stay small
	}
	s.n++
	for i, c := range l.C {
		c -= s.origin[i]
		s.mean[i].add(c)
		s.square.add(c * c)
	}
	return nil
}

// Loss implements [Summary].
func (s *DistanceSummary) Loss(u []float64) float64 {
	if s.n == 0 {
		return 0
	}
	var sum total
	sum.add(s.square.value())
	for i, v := range u {
		v -= s.origin[i]
		sum.add(float64(s.n) * v * v)
		sum.add(-2 * v * s.mean[i].value())
	}
	return max(sum.value(), 0)
}

// Best implements [Summary].
func (s *DistanceSummary) Best(dst []float64, set convex.Set) (least, gap float64, err error) {
	clear(s.work)
	for i := range s.mean {
		if s.n > 0 {
			s.work[i] = s.origin[i] + s.mean[i].value()/float64(s.n)
		}
	}
	set.Project(dst, s.work)
	return s.Loss(dst), 0, nil
}

// SquareSummary is the summary Σzzᵀ, Σyz, Σy² of squared losses ½(⟨z, x⟩ − y)². The best point is found by a Cholesky factorization on ℝ^d and by a certified Mahalanobis projection
// elsewhere. O(d²) memory and time a round.
type SquareSummary struct {
	d      int
	matrix []total // Σzzᵀ, the lower triangle row by row
	vector []total // Σyz
	square total   // Σy²
	space  *convex.Mahalanobis
	s      []float64
	b      []float64
}

// NewSquareSummary summarizes losses on ℝ^d.
func NewSquareSummary(d int) (*SquareSummary, error) {
	space, err := convex.NewMahalanobis(d)
	if err != nil {
		return nil, err
	}
	return &SquareSummary{
		d: d, matrix: make([]total, d*(d+1)/2), vector: make([]total, d), space: space, s: make([]float64, d*d), b: make([]float64, d),
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
			s.matrix[k].add(z * e.Z[j])
			k++
		}
		s.vector[i].add(e.Y * z)
	}
	s.square.add(e.Y * e.Y)
	return nil
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

// Loss implements [Summary].
func (s *SquareSummary) Loss(u []float64) float64 {
	s.load()
	var sum total
	sum.add(s.square.value() / 2)
	for i, v := range u {
		sum.add(v * (convex.Dot(s.s[i*s.d:(i+1)*s.d], u)/2 - s.b[i]))
	}
	return max(sum.value(), 0)
}

// squareRidge is what is added to the matrix's diagonal, relative to the largest entry there, so that it has a factor when the features do not span the space.
const squareRidge = 1e-12

// Best implements [Summary]. A tiny ridge makes the matrix definite; what it costs is in the gap.
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
	ridge := squareRidge * largest
	for i := range s.d {
		s.s[i*s.d+i] += ridge
	}
	gap, err = s.space.Argmax(dst, s.s, s.b, set, 1e-9)
	if err != nil {
		return 0, math.Inf(1), err
	}
	// Any u has F(u) ≥ F_ridge(u) − (ridge/2)‖u‖², and so min F over the points no longer than R is at least F_ridge(dst) − gap − (ridge/2)R². R is
	// ten times the length of the point found: a certificate for comparators of that size.
	n := convex.Norm2(dst)
	return s.Loss(dst), gap + ridge/2*100*n*n, nil
}

// AbsoluteSummary is the summary of absolute losses |x − y| in one dimension: all y. The best point is a median, projected: exact. O(T) memory.
type AbsoluteSummary struct {
	y      []float64
	sorted bool
}

// NewAbsoluteSummary summarizes losses on ℝ.
func NewAbsoluteSummary() *AbsoluteSummary { return &AbsoluteSummary{} }

// Add implements [Summary], for [loss.Example] with [loss.Absolute] and z = 1.
func (s *AbsoluteSummary) Add(f loss.Function) error {
	e, ok := f.(*loss.Example)
	if !ok || len(e.Z) != 1 || e.Z[0] != 1 {
		return wrongLoss("absolute losses |x − y|", f)
	}
	if _, ok := e.Loss.(loss.Absolute); !ok {
		return wrongLoss("absolute losses |x − y|", f)
	}
	s.y = append(s.y, e.Y)
	s.sorted = false
	return nil
}

// Loss implements [Summary].
func (s *AbsoluteSummary) Loss(u []float64) float64 {
	var sum total
	for _, y := range s.y {
		sum.add(math.Abs(u[0] - y))
	}
	return sum.value()
}

// Best implements [Summary].
func (s *AbsoluteSummary) Best(dst []float64, set convex.Set) (least, gap float64, err error) {
	if !s.sorted {
		slices.Sort(s.y)
		s.sorted = true
	}
	dst[0] = 0
	if n := len(s.y); n > 0 {
		dst[0] = s.y[(n-1)/2]
	}
	set.Project(dst, dst)
	return s.Loss(dst), 0, nil
}
