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

// OptimisticAdaGrad is AdaGrad on a box that takes a guess h_t of the coming subgradient (Mohri and
// Yang 2016, AO-FTRL-Prox). In every coordinate, with δ_t = g_t − h_t and D = b − a,
//
//	q_t = Σ_{s≤t} δ_s²,   σ_t = (√q_t − √q_{t−1})/α,   α = D/√2,
//	x_{t+1} = clip((Σ_{s≤t} σ_s·x_s − Σ_{s≤t} g_s − h_{t+1})/Σ_{s≤t} σ_s, a, b),
//
// and the minimizer of (Σ g + h)·x on [a, b] while q is 0, the start if that is all of [a, b].
// Losses are convex; no parameters. It is any-time, and scale-free per coordinate.
//
// Guarantee (Bound): √2·Σ_i D_i·√(Σ_t (g_{t,i} − h_{t,i})²), that of [AdaGrad] with the hints'
// errors in place of the subgradients, and 0 for perfect hints. It is Lemma 7.15 of Orabona (2019)
// for F_t = Σ_{s<t} g_s·x + h_t·x + Σ_{s≤t} (σ_s/2)(x − x_s)², whose minimizer is x_t: each round
// costs at most δ_t²/(2Σ_{s≤t} σ_s), in all α·√q, and the regularizer D²√q/(2α).
//
// A round costs O(d); memory is O(d).
type OptimisticAdaGrad struct {
	box          *convex.Box
	lower, upper []float64
	start        []float64
	state        optimisticAdaGradState
	point        []float64
	fresh        bool
	text         string
}

type optimisticAdaGradState struct {
	Dual   dualSum   // Θ = −Σ g
	Root   []float64 // √q
	Center []float64 // α·Σ σ·(x − x_1)
	Hint   []float64
}

// NewOptimisticAdaGrad plays in a box with finite sides from start, nil for the projection of the
// origin.
func NewOptimisticAdaGrad(box *convex.Box, start []float64) (*OptimisticAdaGrad, error) {
	if box == nil {
		return nil, noregret.BadInputf("box", "nil: want a box")
	}
	x, err := startIn(box, start)
	if err != nil {
		return nil, err
	}
	d := len(x)
	l := &OptimisticAdaGrad{box: box, start: x, point: slices.Clone(x), fresh: true}
	l.lower, l.upper = sides(box)
	for i := range x {
		if width := l.upper[i] - l.lower[i]; !vec.IsFinite(width) {
			return nil, noregret.BadInputf(fmt.Sprintf("box[%d]", i),
				"[%v, %v]: the theorem needs sides of finite length", l.lower[i], l.upper[i])
		}
	}
	l.state = optimisticAdaGradState{
		Dual: dualSum{Theta: make([]float64, d)}, Root: make([]float64, d), Center: make([]float64, d),
		Hint: make([]float64, d),
	}
	l.text = fmt.Sprintf("optimistic-adagrad(%v, start=%s)", box, digest(x))
	return l, nil
}

// Dim implements [Learner].
func (l *OptimisticAdaGrad) Dim() int { return len(l.point) }

// Rounds implements [Counter].
func (l *OptimisticAdaGrad) Rounds() int { return l.state.Dual.T }

// Hint implements [Hinted].
func (l *OptimisticAdaGrad) Hint(h []float64) error {
	if err := l.checkHint(h); err != nil {
		return err
	}
	copy(l.state.Hint, h)
	l.fresh = false
	return nil
}

func (l *OptimisticAdaGrad) checkHint(h []float64) error {
	largest, err := checkVector("hint", h, l.Dim())
	if err != nil {
		return err
	}
	return l.state.Dual.checkRange(largest)
}

// Predict implements [Learner].
func (l *OptimisticAdaGrad) Predict() []float64 {
	if !l.fresh {
		for i := range l.point {
			l.point[i] = l.coordinate(i)
		}
		l.fresh = true
	}
	return l.point
}

func (l *OptimisticAdaGrad) coordinate(i int) float64 {
	st := &l.state
	if l.lower[i] == l.upper[i] {
		return l.lower[i]
	}
	pull := st.Dual.Theta[i] - st.Hint[i]
	if st.Root[i] == 0 {
		switch {
		case pull > 0:
			return l.upper[i]
		case pull < 0:
			return l.lower[i]
		}
		return l.start[i]
	}
	alpha := (l.upper[i] - l.lower[i]) * (math.Sqrt2 / 2)
	x := l.start[i] + (st.Center[i]/st.Root[i] + float64(alpha*(pull/st.Root[i])))
	return min(max(x, l.lower[i]), l.upper[i])
}

// Update implements [Learner]. It also clears the hint: the next hint is 0 until Hint is called.
func (l *OptimisticAdaGrad) Update(g []float64) error {
	st := &l.state
	largest, err := st.Dual.check(g)
	if err != nil {
		return err
	}
	x := l.Predict()
	if max(largest, vec.MaxAbs(st.Hint)) > 1e100 {
		for i, v := range g {
			if !vec.IsFinite(st.Center[i] + float64(length(st.Root[i], v-st.Hint[i])*(x[i]-l.start[i]))) {
				return noregret.BadInputf(fmt.Sprintf("gradient[%d]", i),
					"%v: times the side of the box it leaves the range of float64", v)
			}
		}
	}
	for i, v := range g {
		next := length(st.Root[i], v-st.Hint[i])
		st.Center[i] += float64((next - st.Root[i]) * (x[i] - l.start[i]))
		st.Root[i] = next
	}
	st.Dual.subtract(g, largest)
	clear(st.Hint)
	l.fresh = false
	return nil
}

// length is √(a² + b²) for a ≥ 0, without overflow or underflow on the way.
func length(a, b float64) float64 {
	b = math.Abs(b)
	if a < b {
		a, b = b, a
	}
	if b == 0 {
		return a
	}
	q := b / a
	return float64(a * math.Sqrt(1+float64(q*q)))
}

// Bound implements [Bounder].
func (l *OptimisticAdaGrad) Bound(u []float64) (float64, error) {
	if inside, err := comparator(u, l.box); err != nil || !inside {
		return math.Inf(1), err
	}
	var b sum
	for i, r := range l.state.Root {
		b.add((l.upper[i] - l.lower[i]) * r)
	}
	return orInf(math.Sqrt2 * b.value()), nil
}

// String describes the learner and its options in one line.
func (l *OptimisticAdaGrad) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *OptimisticAdaGrad) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *OptimisticAdaGrad) UnmarshalBinary(data []byte) error {
	l.fresh = false
	return restore(data, l.text, &l.state, func(s *optimisticAdaGradState) error {
		return checkState(l.Dim(), s.Dual.T, s.Dual.Theta, s.Root, s.Center, s.Hint)
	})
}
