package oco

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// AdaGrad is AdaGrad on a box (McMahan and Streeter 2010; Duchi, Hazan and Singer 2010; Orabona
// 2019, Algorithm 4.1): one adaptive subgradient descent for every coordinate,
//
//	q_i ← q_i + g_{t,i}²,   x_i ← clip(x_i − (√2·D_i/2)/√q_i · g_{t,i}, a_i, b_i),   D_i = b_i − a_i.
//
// Losses are convex; no parameters. It is any-time, and scale-free per coordinate: multiplying all
// g_{·,i} by c_i > 0 changes no point. There is no ε under the root, which would break that; a
// coordinate with q_i = 0 does not move.
//
// Guarantee (Bound): √2·Σ_i D_i·√(Σ_t g_{t,i}²) (Theorem 4.22), never worse than that of
// [SubgradientDescent] with the adaptive rate on the same box. A round costs O(nnz) time; memory is
// O(d). Dense rounds use AVX where there is one, with the same bits.
type AdaGrad struct {
	lower, upper, rate []float64 // rate is √2·D_i/2
	text               string
	state              adagradState
	vectors            bool // adagradStep may be used: every Exp is 0
	box                *convex.Box
}

// adagradState holds the sums of squares as Q_i·2^(2·Exp_i) and Σ_t η_{t,i}·g_{t,i}² as
// Spent_i·2^Exp_i, where η_{t,i} is the rate of the step. Exp_i stays 0 for subgradients of
// moderate size.
type adagradState struct {
	T     int
	X, Q  []float64
	Exp   []int32
	Spent []float64
}

// NewAdaGrad plays in a box with finite sides from start, nil for the projection of the origin.
func NewAdaGrad(box *convex.Box, start []float64) (*AdaGrad, error) {
	if box == nil {
		return nil, noregret.BadInputf("box", "nil: want a box")
	}
	lower, upper := sides(box)
	x, err := startIn(box, start)
	if err != nil {
		return nil, err
	}
	l := &AdaGrad{box: box, lower: lower, upper: upper, rate: make([]float64, len(x))}
	for i := range x {
		width := upper[i] - lower[i]
		if !vec.IsFinite(width) {
			return nil, noregret.BadInputf(fmt.Sprintf("box[%d]", i),
				"[%v, %v]: the theorem needs sides of finite length",
				lower[i], upper[i])
		}
		l.rate[i] = width * (math.Sqrt2 / 2)
		lower[i], upper[i] = lower[i]+0, upper[i]+0 // no −0, see adagradStep
	}
	l.text = fmt.Sprintf("adagrad(%v, start=%s)", box, digest(x))
	l.state = adagradState{
		X: slices.Clone(x), Q: make([]float64, len(x)), Exp: make([]int32, len(x)), Spent: make([]float64, len(x)),
	}
	l.vectors = hasAdagradStep
	return l, nil
}

// Dim implements [Learner].
func (l *AdaGrad) Dim() int { return len(l.rate) }

// Rounds implements [Counter].
func (l *AdaGrad) Rounds() int { return l.state.T }

// Predict implements [Learner].
func (l *AdaGrad) Predict() []float64 { return l.state.X }

// At implements [SparseLearner].
func (l *AdaGrad) At(i int) float64 { return l.state.X[i] }

// Update implements [Learner].
func (l *AdaGrad) Update(g []float64) error {
	if err := checkFinite("gradient", g, l.Dim()); err != nil {
		return err
	}
	if hasAdagradStep && !l.vectors {
		l.vectors = plain(l.state.Exp)
	}
	for i := 0; i < len(g); {
		if l.vectors && len(g)-i >= 4 {
			st := &l.state
			i += adagradStep(len(g)-i, &g[i], &st.Q[i], &st.X[i], &l.rate[i], &l.lower[i], &l.upper[i], &st.Spent[i])
		}
		end := len(g)
		if l.vectors {
			end = min(i+4, end)
		}
		for ; i < end; i++ {
			l.step(i, g[i])
		}
	}
	l.state.T++
	return nil
}

// step is the round of one coordinate.
func (l *AdaGrad) step(i int, v float64) {
	if v == 0 {
		return
	}
	st := &l.state
	s := float64(v * v)
	if sum := st.Q[i] + s; sum < 0x1p900 && s > 0x1p-900 && st.Exp[i] == 0 {
		st.Q[i] = sum
		move := float64(v * l.rate[i] / math.Sqrt(sum))
		st.X[i] = min(max(st.X[i]-move, l.lower[i]), l.upper[i])
		st.Spent[i] += float64(v * move)
		return
	}
	l.extreme(i, v)
}

// plain reports whether all squares are held as they are.
func plain(exponents []int32) bool {
	return !slices.ContainsFunc(exponents, func(e int32) bool { return e != 0 })
}

// UpdateSparse implements [SparseLearner].
func (l *AdaGrad) UpdateSparse(g Sparse) error {
	if _, err := checkSparse("gradient", g, l.Dim()); err != nil {
		return err
	}
	for k, i := range g.Index {
		l.step(int(i), g.Value[k])
	}
	l.state.T++
	return nil
}

// extreme is the step of coordinate i for values whose squares leave the range of float64.
func (l *AdaGrad) extreme(i int, v float64) {
	st := &l.state
	e := int32(math.Ilogb(v))
	if st.Q[i] == 0 {
		st.Exp[i] = e
	} else {
		e = max(e, st.Exp[i]+int32(math.Ilogb(st.Q[i]))/2) // of the larger of |v| and √q
		if shift := int(st.Exp[i] - e); shift < -100 || shift > 100 {
			st.Q[i] = math.Ldexp(st.Q[i], 2*shift)
			st.Spent[i] = math.Ldexp(st.Spent[i], shift)
			st.Exp[i] = e
		}
	}
	if st.Exp[i] != 0 {
		l.vectors = false
	}
	y := math.Ldexp(v, -int(st.Exp[i]))
	st.Q[i] += float64(y * y)
	move := float64(y * l.rate[i] / math.Sqrt(st.Q[i]))
	st.X[i] = min(max(st.X[i]-move, l.lower[i]), l.upper[i])
	st.Spent[i] += float64(y * move)
}

// Bound implements [Bounder].
func (l *AdaGrad) Bound(u []float64) (float64, error) {
	if inside, err := comparator(u, l.box); err != nil || !inside {
		return math.Inf(1), err
	}
	var b sum
	for i, q := range l.state.Q {
		b.add(2 * l.rate[i] * math.Ldexp(math.Sqrt(q), int(l.state.Exp[i])))
	}
	return orInf(b.value()), nil
}

// SharpBound implements [SharpBounder]: Σ_i (R_i²/(2η_{T,i}) + ½Σ_t η_{t,i}·g_{t,i}²), the sum that
// the proof of Theorem 4.22 bounds, where η_{t,i} are the rates and R_i is the distance of u_i to
// the farther end of its side. Bound replaces R_i by D_i and the second sum by its largest value,
// (√2/2)·D_i·√(Σ_t g_{t,i}²).
func (l *AdaGrad) SharpBound(u []float64) (float64, error) {
	bound, err := l.Bound(u)
	if err != nil || math.IsInf(bound, 1) {
		return bound, err
	}
	var b sum
	for i, q := range l.state.Q {
		width := l.upper[i] - l.lower[i]
		if width == 0 {
			continue
		}
		r := max(l.upper[i]-u[i], u[i]-l.lower[i]) / width
		e := int(l.state.Exp[i])
		b.add(l.rate[i] * float64(r*r) * math.Ldexp(math.Sqrt(q), e))
		b.add(math.Ldexp(l.state.Spent[i], e-1))
	}
	return min(bound, orInf(b.value())), nil
}

// String describes the learner and its options in one line.
func (l *AdaGrad) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *AdaGrad) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *AdaGrad) UnmarshalBinary(data []byte) error {
	var s adagradState
	if err := snapshot.Open(data, snapshotMagic, l.text, &s); err != nil {
		return err
	}
	if err := checkState(l.Dim(), s.T, s.X, s.Q); err != nil {
		return err
	}
	if len(s.Exp) != l.Dim() {
		return snapshot.Bad("damaged: it has %d exponents", len(s.Exp))
	}
	if len(s.Spent) != l.Dim() || slices.ContainsFunc(s.Spent, func(v float64) bool { return !(v >= 0) }) {
		return snapshot.Bad("damaged: it has %d sums of steps for dimension %d, or one is negative", len(s.Spent),
			l.Dim())
	}
	l.state = s
	l.vectors = hasAdagradStep && plain(s.Exp)
	return nil
}
