package regret

import (
	"errors"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/compensated"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// total is a compensated sum.
type total struct{ compensated.Sum }

func (k *total) add(v float64) { k.Add(v) }

func (k *total) addProduct(a, b float64) { k.AddProduct(a, b) }

// addScaled adds a·v for a sum v, with both of its parts.
func (k *total) addScaled(a float64, v total) {
	k.addProduct(a, v.S)
	k.addProduct(a, v.C)
}

func (k *total) value() float64 { return k.Value() }

func wrongLoss(want string, f loss.Function) error {
	return noregret.BadInputf("loss", "%T: this summary is of %s", f, want)
}

// LinearSummary is the summary Σg of linear losses. The best point is a linear minimizer: exact.
// O(d).
type LinearSummary struct {
	sum  []total
	work []float64
}

// NewLinearSummary summarizes losses on ℝ^d, d ≥ 1.
func NewLinearSummary(d int) *LinearSummary {
	return &LinearSummary{sum: make([]total, d), work: make([]float64, d)}
}

// Add implements [Summary], for [loss.Linear].
func (s *LinearSummary) Add(f loss.Function) error {
	l, ok := f.(*loss.Linear)
	if !ok || len(l.C) != len(s.sum) {
		return wrongLoss("linear losses of one dimension", f)
	}
	if g, ok := l.SparseSubgradient(nil); ok {
		for k, i := range g.Index {
			s.sum[i].add(g.Value[k])
		}
		return nil
	}
	for i, v := range l.C {
		s.sum[i].add(v)
	}
	return nil
}

// remove takes away a loss that was added.
func (s *LinearSummary) remove(f loss.Function) error {
	l, ok := f.(*loss.Linear)
	if !ok || len(l.C) != len(s.sum) {
		return wrongLoss("linear losses of one dimension", f)
	}
	for i, v := range l.C {
		s.sum[i].add(-v)
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
func (s *LinearSummary) Loss(u []float64) float64 {
	var sum total
	for i, v := range u {
		sum.addScaled(v, s.sum[i])
	}
	return sum.value()
}

// Best implements [Summary].
func (s *LinearSummary) Best(dst []float64, set convex.Set) (least, gap float64, err error) {
	_, err = set.Minimize(dst, s.values())
	if errors.Is(err, convex.ErrUnbounded) {
		return math.Inf(-1), 0, nil
	}
	if err != nil {
		return 0, math.Inf(1), err
	}
	return s.Loss(dst), 0, nil
}

// Reset implements [Summary].
func (s *LinearSummary) Reset() { clear(s.sum) }

// CompositeSummary is the summary Σg, Σλ of losses ⟨g, x⟩ + λ‖x‖₁. The best point is found in
// closed form, by soft thresholds, on ℝ^d, boxes and Euclidean balls around the origin. O(d).
type CompositeSummary struct {
	linear *LinearSummary
	weight total
	work   []float64
}

// NewCompositeSummary summarizes losses on ℝ^d, d ≥ 1.
func NewCompositeSummary(d int) *CompositeSummary {
	return &CompositeSummary{linear: NewLinearSummary(d), work: make([]float64, d)}
}

// Add implements [Summary], for [loss.Composite] of [loss.Linear].
func (s *CompositeSummary) Add(f loss.Function) error {
	c, ok := f.(*loss.Composite)
	if !ok {
		return wrongLoss("linear losses with an l1 part", f)
	}
	if err := s.linear.Add(c.F); err != nil {
		return err
	}
	s.weight.add(c.Lambda)
	return nil
}

// remove takes away a loss that was added.
func (s *CompositeSummary) remove(f loss.Function) error {
	c, ok := f.(*loss.Composite)
	if !ok {
		return wrongLoss("linear losses with an l1 part", f)
	}
	if err := s.linear.remove(c.F); err != nil {
		return err
	}
	s.weight.add(-c.Lambda)
	return nil
}

// Loss implements [Summary].
func (s *CompositeSummary) Loss(u []float64) float64 {
	var sum total
	for i, v := range u {
		sum.addScaled(v, s.linear.sum[i])
		sum.addScaled(math.Abs(v), s.weight)
	}
	return sum.value()
}

// Best implements [Summary]. It refuses sets other than those of the type's comment.
func (s *CompositeSummary) Best(dst []float64, set convex.Set) (least, gap float64, err error) {
	w := s.weight.value()
	c := s.work // the linear part left where x has the best sign
	for i, v := range s.linear.values() {
		c[i] = math.Copysign(max(math.Abs(v)-w, 0), v)
	}
	switch set := set.(type) {
	case *convex.Space, *convex.Ball:
		if b, ok := set.(*convex.Ball); ok && (b.Norm() != convex.L2 || vec.Norm2(b.Center()) != 0) {
			return 0, math.Inf(1), noSummary(set)
		}
		if vec.Norm2(c) == 0 {
			clear(dst)
			return 0, 0, nil
		}
		// Within the orthant of −c the loss is ⟨c, x⟩; a coordinate with c = 0 loses nothing at 0.
		_, err = set.Minimize(dst, c)
		if errors.Is(err, convex.ErrUnbounded) {
			return math.Inf(-1), 0, nil
		}
	case *convex.Box:
		for i, v := range s.linear.values() {
			lower, upper := set.Bounds(i)
			// Convex and piecewise linear: least at an end, or at the kink.
			x := min(max(0, lower), upper)
			switch {
			case v+w < 0:
				x = upper
			case v-w > 0:
				x = lower
			}
			if math.IsInf(x, 0) {
				return math.Inf(-1), 0, nil
			}
			dst[i] = x
		}
	default:
		return 0, math.Inf(1), noSummary(set)
	}
	return s.Loss(dst), 0, err
}

func noSummary(set convex.Set) error {
	return noregret.BadInputf("set", "%v: the best point of these losses is known in closed form for "+
		"the whole space, boxes and Euclidean balls around the origin", set)
}

// Reset implements [Summary].
func (s *CompositeSummary) Reset() {
	s.linear.Reset()
	s.weight = total{}
}

// DistanceSummary is the summary of squared distances ‖x − c‖²: with the first c as the origin o,
// the sums Σ(c − o) and Σ‖c − o‖², so that targets that are far from 0 and near each other lose
// nothing. The best point is the projected mean, up to rounding, which the gap bounds. O(d).
type DistanceSummary struct {
	n      int
	origin []float64 // empty before the first loss
	sum    []total   // Σ(c − o)
	square total     // Σ‖c − o‖²
	work   []float64
}

// NewDistanceSummary summarizes losses on ℝ^d, d ≥ 1.
func NewDistanceSummary(d int) *DistanceSummary {
	return &DistanceSummary{sum: make([]total, d), work: make([]float64, d)}
}

// Add implements [Summary], for [loss.SquaredDistance].
func (s *DistanceSummary) Add(f loss.Function) error { return s.count(f, 1) }

// remove takes away a loss that was added.
func (s *DistanceSummary) remove(f loss.Function) error { return s.count(f, -1) }

// count adds a loss with a sign.
func (s *DistanceSummary) count(f loss.Function, sign float64) error {
	l, ok := f.(*loss.SquaredDistance)
	if !ok || len(l.C) != len(s.sum) {
		return wrongLoss("squared distances of one dimension", f)
	}
	if len(s.origin) == 0 {
		s.origin = append(s.origin, l.C...)
	}
	s.n += int(sign)
	for i, c := range l.C {
		d, rest := apart(c, s.origin[i])
		s.sum[i].add(sign * d)
		s.sum[i].add(sign * rest)
		s.square.addProduct(sign*d, d)
		s.square.addProduct(sign*2*d, rest)
		s.square.addProduct(sign*rest, rest)
	}
	return nil
}

// apart returns a − b, rounded, and what the rounding left out (Knuth).
func apart(a, b float64) (d, rest float64) {
	d = a - b
	z := d - a
	return d, (a - (d - z)) - (b + z)
}

// Loss implements [Summary]: Σ‖c‖² − 2⟨u, Σc⟩ + n‖u‖², relative to the origin and in twice the
// precision, as the terms may cancel.
func (s *DistanceSummary) Loss(u []float64) float64 {
	if len(s.origin) == 0 {
		return 0
	}
	sum := s.square
	var norm total
	for i, v := range u {
		d, rest := apart(v, s.origin[i])
		norm.addProduct(d, d)
		norm.addProduct(2*d, rest)
		norm.addProduct(rest, rest)
		sum.addScaled(-2*d, s.sum[i])
		sum.addScaled(-2*rest, s.sum[i])
	}
	sum.addScaled(float64(s.n), norm)
	return max(sum.value(), 0)
}

// exactDistance is the part of the least loss up to which its rounding is a gap of 0.
const exactDistance = 1e-13

// Best implements [Summary]. With m the mean, the loss is n·‖x − m‖² plus a number, so that a point
// whose distance to the best one is at most δ loses at most 2n·⟨|p − m|, δ⟩ + n·‖δ‖² more, p being
// the best one. Coordinates that are those of the rounded mean lose n·(x_i − m_i)² more.
func (s *DistanceSummary) Best(dst []float64, set convex.Set) (least, gap float64, err error) {
	clear(s.work)
	if s.n <= 0 || len(s.origin) == 0 {
		set.Project(dst, s.work)
		return s.Loss(dst), 0, nil
	}
	n := float64(s.n)
	for i := range s.sum {
		s.work[i] = s.origin[i] + s.sum[i].value()/n
	}
	set.Project(dst, s.work)
	// A box cuts coordinates off, without rounding and each by itself.
	_, box := set.(*convex.Box)
	apiece := box || slices.Equal(dst, s.work)
	var excess total
	for i, v := range dst {
		d, rest := apart(v, s.origin[i]) // v − m = d + rest − Σ(c − o)/n
		off := total{}
		off.addProduct(n, d)
		off.addProduct(n, rest)
		off.addScaled(-1, s.sum[i])
		away := math.Abs(off.value()) / n
		if apiece {
			if v == s.work[i] {
				excess.addProduct(n*away, away)
			}
			continue
		}
		delta := float64(4 * 0x1p-52 * max(math.Abs(v), math.Abs(s.work[i])))
		excess.addProduct(2*n*away, delta)
		excess.addProduct(n*delta, delta)
	}
	least, gap = s.Loss(dst), excess.value()
	if gap <= float64(exactDistance*least) {
		gap = 0
	}
	return least, gap, nil
}

// Reset implements [Summary].
func (s *DistanceSummary) Reset() {
	s.n, s.square, s.origin = 0, total{}, s.origin[:0]
	clear(s.sum)
}

// AbsoluteSummary is the summary of absolute losses |x − y| in one dimension: all y. The best point
// is a median, projected: exact. O(T) memory.
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

// Reset implements [Summary].
func (s *AbsoluteSummary) Reset() { s.y, s.sorted = s.y[:0], false }
