package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// FullMatrixAdaGrad is AdaGrad with a full matrix on a bounded set of dimension d ≤ 1,024 (Duchi,
// Hazan and Singer 2011): with η = D/√2 for the diameter D,
//
//	G_t = Σ_{s≤t} g_s·g_sᵀ,   H_t = (G_t + (ε²·tr G_t/d²)·I)^{1/2},   ε = 2^(−10),
//	x_{t+1} = argmin_{x∈V} ‖x − (x_t − η·H_t⁻¹·g_t)‖_{H_t}.
//
// The multiple of the identity makes H_t regular; it is of the subgradients' own scale. Losses are
// convex; only the set must be known. It is any-time, and scale-free: multiplying all subgradients
// by c > 0 changes no point.
//
// Guarantee (Bound): (D²/(2η))·tr H_T + (η/2)·Σ g_tᵀH_t⁻¹g_t, plus the possible cost of inexact
// projections, at most √2·D·tr(G_T^{1/2})·(1 + ε): H_t grows, so that Σ ½‖x_t − u‖² in the norms of
// H_t − H_{t−1} is at most ½D²·Σ tr(H_t − H_{t−1}), and Σ g_tᵀG_t^{−1/2}g_t ≤ 2·tr(G_T^{1/2})
// (their Lemma 10). It is far below that of [AdaGrad] if subgradients lie in few directions other
// than the axes.
//
// A round costs the eigenvalues of G_t, some 10·d³ operations, and a Mahalanobis projection; memory
// is O(d²).
type FullMatrixAdaGrad struct {
	set   convex.Set
	eta   float64
	reach float64 // D
	start []float64
	state fullMatrixState
	space *convex.Mahalanobis
	tri   *linalg.Tridiagonal

	h, vectors, values, root []float64 // H_t; the eigenvectors and eigenvalues of G_t, those of H_t
	off, work, next          []float64
	failed                   error
	text                     string
}

// fullMatrixState holds G as G·2^(2·Exp).
type fullMatrixState struct {
	T     int
	X     []float64
	G     []float64
	Exp   int
	Some  bool
	Trace float64 // tr H_t·2^(−Exp)
	Spent sum     // Σ gᵀH⁻¹g·2^(−Exp)
	Slack sum     // the possible cost of gaps, ·2^(−Exp)
}

// fullMatrixShare is ε.
const fullMatrixShare = 0x1p-10

// tolerance is the required gap of the projections relative to the size of the objective. It is
// less strict where a first-order method computes them.
func (l *FullMatrixAdaGrad) tolerance() float64 {
	switch l.set.(type) {
	case *convex.Ball, *convex.Box, *convex.Simplex, *convex.CappedSimplex:
		return 1e-12
	}
	return 1e-8
}

// NewFullMatrixAdaGrad plays in a bounded set of dimension up to 1,024 from start, nil for the
// projection of the origin.
func NewFullMatrixAdaGrad(set convex.Set, start []float64) (*FullMatrixAdaGrad, error) {
	if set == nil || !vec.IsFinite(set.Diameter()) {
		return nil, noregret.BadInputf("set", "%v: want a bounded set", set)
	}
	if d := set.Dim(); d > denseUpTo {
		return nil, noregret.BadInputf("set", "dimension %d: want at most %d, as a round costs d³", d, denseUpTo)
	}
	x, err := startIn(set, start)
	if err != nil {
		return nil, err
	}
	d := len(x)
	l := &FullMatrixAdaGrad{
		set: set, reach: set.Diameter(), start: x, tri: linalg.NewTridiagonal(d), h: make([]float64, d*d),
		vectors: make([]float64, d*d), values: make([]float64, d), root: make([]float64, d),
		off: make([]float64, d), work: make([]float64, d), next: make([]float64, d),
	}
	if l.eta = l.reach * (math.Sqrt2 / 2); l.eta == 0 {
		l.eta = 1 // a set of one point
	}
	if l.space, err = convex.NewMahalanobis(d); err != nil {
		return nil, err
	}
	l.state = fullMatrixState{X: append([]float64(nil), x...), G: make([]float64, d*d)}
	l.text = fmt.Sprintf("full-matrix-adagrad(%v, start=%s)", set, digest(x))
	return l, nil
}

// Dim implements [Learner].
func (l *FullMatrixAdaGrad) Dim() int { return len(l.next) }

// Rounds implements [Counter].
func (l *FullMatrixAdaGrad) Rounds() int { return l.state.T }

// Predict implements [Learner].
func (l *FullMatrixAdaGrad) Predict() []float64 { return l.state.X }

// Update implements [Learner]. If a projection cannot be computed, Update returns an error of code
// diverged, and so does every later call.
func (l *FullMatrixAdaGrad) Update(g []float64) error {
	if l.failed != nil {
		return l.failed
	}
	largest, err := checkVector("gradient", g, l.Dim())
	if err != nil {
		return err
	}
	st := &l.state
	if largest == 0 {
		st.T++
		return nil
	}
	st.scale(math.Ilogb(largest))
	for i, v := range g {
		l.next[i] = math.Ldexp(v, -st.Exp)
	}
	for i, v := range l.next {
		row := st.G[i*len(g) : (i+1)*len(g)]
		for j, w := range l.next {
			row[j] += float64(v * w)
		}
	}
	if err := l.factor(); err != nil {
		l.failed = err
		return err
	}
	// H⁻¹g in the basis of the eigenvectors.
	var spent float64
	for k := range l.work {
		c := vec.Dot(l.vectors[k*len(g):(k+1)*len(g)], l.next)
		l.work[k] = c / l.root[k]
		spent += float64(c * l.work[k])
	}
	st.Spent.add(spent)
	copy(l.next, st.X)
	for k, c := range l.work {
		vec.AddScaled(l.next, -float64(l.eta*c), l.vectors[k*len(g):(k+1)*len(g)])
	}
	st.T++
	return l.project()
}

// project moves to the projection of next.
func (l *FullMatrixAdaGrad) project() error {
	st, d := &l.state, l.Dim()
	if l.set.Contains(l.next, 0) {
		copy(st.X, l.next)
		return nil
	}
	clear(l.h)
	for k, r := range l.root {
		v := l.vectors[k*d : (k+1)*d]
		for i, x := range v {
			vec.AddScaled(l.h[i*d:(i+1)*d], float64(r*x), v)
		}
	}
	gap, err := l.space.Project(l.next, l.h, l.next, l.set, l.tolerance())
	if err != nil && (noregret.CodeOf(err) != noregret.Diverged || !(gap < math.Inf(1))) ||
		!vec.IsFinite(vec.MaxAbs(l.next)) {
		l.failed = noregret.Errorf(noregret.Diverged, fmt.Sprintf("round %d", st.T), "no projection: %v", err)
		return l.failed
	}
	st.Slack.add(gap)
	copy(st.X, l.next)
	return nil
}

// factor computes the eigenvectors and eigenvalues of H, and its trace.
func (l *FullMatrixAdaGrad) factor() error {
	st := &l.state
	l.tri.Factor(st.G, l.off)
	if !l.tri.Eigen(l.values, l.vectors, l.off) {
		return noregret.Errorf(noregret.Diverged, fmt.Sprintf("round %d", st.T+1), "the eigenvalues do not converge")
	}
	d := float64(l.Dim())
	var all, trace sum
	for _, v := range l.values {
		all.add(max(v, 0))
	}
	least := float64(fullMatrixShare * fullMatrixShare * (all.value() / (d * d)))
	for k, v := range l.values {
		l.root[k] = math.Sqrt(max(v, 0) + least)
		trace.add(l.root[k])
	}
	st.Trace = max(trace.value(), st.Trace)
	// By the rounding of the eigenvalues, d·2⁻⁵² of the largest, H may shrink by this in a round.
	noise := float64(d*0x1p-52*l.values[0]) / math.Sqrt(least)
	st.Slack.add(float64(l.reach * l.reach / 2 * noise))
	return nil
}

// scale changes the exponent, if necessary, so that squares of values of about 2^e are in range.
func (s *fullMatrixState) scale(e int) {
	shift := s.Exp - e
	if s.Some && shift > -300 {
		return
	}
	if s.Some {
		for i, v := range s.G {
			s.G[i] = math.Ldexp(v, 2*shift)
		}
		s.Trace = math.Ldexp(s.Trace, shift)
		for _, v := range []*sum{&s.Spent, &s.Slack} {
			v.S, v.C = math.Ldexp(v.S, shift), math.Ldexp(v.C, shift)
		}
	}
	s.Some, s.Exp = true, e
}

// Bound implements [Bounder].
func (l *FullMatrixAdaGrad) Bound(u []float64) (float64, error) {
	if inside, err := comparator(u, l.set); err != nil || !inside {
		return math.Inf(1), err
	}
	return l.bound(l.reach), nil
}

// SharpBound implements [SharpBounder]: with the largest distance of u to a point of the set in
// place of D, for boxes and Euclidean balls.
func (l *FullMatrixAdaGrad) SharpBound(u []float64) (float64, error) {
	b, err := l.Bound(u)
	if err != nil || math.IsInf(b, 1) {
		return b, err
	}
	return min(b, l.bound(reach(l.set, u))), nil
}

func (l *FullMatrixAdaGrad) bound(r float64) float64 {
	st := &l.state
	b := float64(r*r/(2*l.eta)*st.Trace) + float64(l.eta/2*st.Spent.value()) + st.Slack.value()/l.eta
	return orInf(math.Ldexp(b, st.Exp))
}

// String describes the learner and its options in one line.
func (l *FullMatrixAdaGrad) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *FullMatrixAdaGrad) MarshalBinary() ([]byte, error) {
	if l.failed != nil {
		return nil, l.failed
	}
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *FullMatrixAdaGrad) UnmarshalBinary(data []byte) error {
	err := restore(data, l.text, &l.state, func(s *fullMatrixState) error {
		if err := checkState(l.Dim(), s.T, s.X); err != nil {
			return err
		}
		if !allFinite(s.G, l.Dim()*l.Dim()) || !(s.Trace >= 0) || !(s.Spent.value() >= 0) || !(s.Slack.value() >= 0) {
			return snapshot.Bad("damaged: its matrix or sums do not fit dimension %d", l.Dim())
		}
		return nil
	})
	if err == nil {
		l.failed = nil
	}
	return err
}
