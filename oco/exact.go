package oco

import (
	"encoding"
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// Minimizer defines the problem of [ExactFTRL]: the set, the regularizers and the minimization. It
// accumulates the losses. [QuadraticMinimizer] takes constant memory; [ListMinimizer] keeps losses
// of any kind.
type Minimizer interface {
	// Set is V, where points and comparators live.
	Set() convex.Set
	// Regularizer is ψ_t(x) and its strong convexity in the Euclidean norm, for t = 1, 2, ... ψ_t
	// does not decrease with t and does not depend on the losses. Both are always 0 for
	// follow-the-leader.
	Regularizer(t int, x []float64) (value, strongConvexity float64)
	// Takes returns an error for a loss or hint of round t that Add or Minimize does not support.
	Takes(t int, f loss.Function) error
	// Add adds the loss of the next round, for which Takes has returned nil. The caller may reuse
	// f.
	Add(f loss.Function)
	// Minimize writes a point x_t ∈ argmin_{x∈V} ψ_t(x) + Σ_{i<t} l_i(x) + h_t(x) to dst, for round
	// t, the t−1 losses added and a hint that Takes has passed, nil for none. The objective at dst
	// is at most gap above its minimum.
	Minimize(dst []float64, t int, hint loss.Function) (gap float64, err error)
	// The losses added, to and from bytes.
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
	// String describes everything but the losses in one line. Snapshots contain it.
	String() string
}

// ExactFTRL is follow-the-regularized-leader on the losses themselves (Orabona 2019, Algorithm
// 7.1), with ψ = 0 follow-the-leader, and with hints optimistic FTRL in its general form (Algorithm
// 7.7):
//
//	x_t ∈ argmin_{x∈V} ψ_t(x) + Σ_{i<t} l_i(x) + h_t(x),
//
// where the hint h_t, a guess of the coming loss, is used for one round only. A round costs what
// the [Minimizer] costs. Update takes a subgradient as a linear loss.
//
// Guarantees (Bound), with μ_i the strong convexity that [loss.Curvature] knows of l_i: ψ_T(u) −
// ψ_1(x_1) + ½Σ ‖g_t − h_t'‖²/λ_t, λ_t that of ψ_t + Σ_{i<t} l_i (Lemma 7.7 and Theorem 7.28), for
// hints that are smooth, so that h_t' is their gradient at x_t; for ψ = 0 without hints ½Σ
// ‖g_t‖²/Σ_{i≤t} μ_i (Corollary 7.17). The bound includes the possible cost of the minimizer's
// gaps. μ is not needed to run it.
type ExactFTRL struct {
	m        Minimizer
	d        int
	state    exactState
	point    []float64
	gradient []float64
	guess    []float64
	linear   loss.Linear  // of Update and Hint
	hint     *loss.Linear // the hint's copy, if it is linear
	failed   error
	text     string
}

type exactState struct {
	T      int
	X, X1  []float64
	Gap    float64
	Hint   []loss.Function // none or one
	Mu     sum
	Spent  sum    // Σ ‖g_t − h_t'‖²/λ_t
	Slack  sum    // the possible cost of gaps
	Losses []byte // the minimizer's, in snapshots only
}

// NewExactFTRL plays the minimizer's points.
func NewExactFTRL(m Minimizer) (*ExactFTRL, error) {
	if m == nil {
		return nil, noregret.BadInputf("minimizer", "nil: want one")
	}
	d := m.Set().Dim()
	l := &ExactFTRL{m: m, d: d, point: make([]float64, d), gradient: make([]float64, d), guess: make([]float64, d)}
	l.text = fmt.Sprintf("exact-ftrl(%v)", m)
	l.state.X, l.state.X1 = make([]float64, d), make([]float64, d)
	if err := l.move(nil); err != nil {
		return nil, err
	}
	copy(l.state.X1, l.state.X)
	return l, nil
}

// minimize sets point, which is scratch, to the minimizer for the losses so far and a hint.
func (l *ExactFTRL) minimize(hint loss.Function) (gap float64, err error) {
	if gap, err = l.m.Minimize(l.point, l.state.T+1, hint); err != nil {
		return 0, err
	}
	if err := checkFinite("minimizer", l.point, l.d); err != nil {
		return 0, err
	}
	if !(gap >= 0) {
		return 0, noregret.BadInputf("minimizer", "gap %v: want a number, at least 0", gap)
	}
	return gap, nil
}

// move sets the learner's point to the minimizer for the losses so far and a hint.
func (l *ExactFTRL) move(hint loss.Function) error {
	gap, err := l.minimize(hint)
	if err != nil {
		return err
	}
	copy(l.state.X, l.point)
	l.state.Gap = gap
	return nil
}

// Dim implements [Learner].
func (l *ExactFTRL) Dim() int { return l.d }

// Rounds implements [Counter].
func (l *ExactFTRL) Rounds() int { return l.state.T }

// Predict implements [Learner].
func (l *ExactFTRL) Predict() []float64 { return l.state.X }

// Hint implements [Hinted], for a linear hint.
func (l *ExactFTRL) Hint(g []float64) error {
	if err := checkFinite("hint", g, l.d); err != nil {
		return err
	}
	l.linear.C = g
	return l.HintLoss(&l.linear)
}

// HintLoss sets the guess of the current round's loss, a convex function. A second call replaces
// the first. The hint is copied as losses are.
func (l *ExactFTRL) HintLoss(h loss.Function) error {
	if err := l.takesHint(h); err != nil {
		return err
	}
	if err := l.move(h); err != nil {
		return err
	}
	st := &l.state
	st.Hint = append(st.Hint[:0], l.copied(h))
	if st.T == 0 {
		copy(st.X1, st.X)
	}
	return nil
}

// takesHint returns an error for a hint that is refused before the minimizer sees it.
func (l *ExactFTRL) takesHint(h loss.Function) error {
	if err := checkLoss(h, l.d); err != nil {
		return err
	}
	if l.failed != nil {
		return l.failed
	}
	return l.m.Takes(l.state.T+1, h)
}

func (l *ExactFTRL) checkHint(g []float64) error {
	if err := checkFinite("hint", g, l.d); err != nil {
		return err
	}
	l.linear.C = g
	if err := l.takesHint(&l.linear); err != nil {
		return err
	}
	_, err := l.minimize(&l.linear)
	return err
}

// Update implements [Learner], for a linear loss.
func (l *ExactFTRL) Update(g []float64) error {
	if err := checkFinite("gradient", g, l.d); err != nil {
		return err
	}
	l.linear.C = g
	return l.UpdateLoss(&l.linear)
}

// copied is a copy of the hint. Linear hints share one buffer.
func (l *ExactFTRL) copied(h loss.Function) loss.Function {
	f, ok := h.(*loss.Linear)
	if !ok {
		return new(lossStore).keep(h)
	}
	if l.hint == nil {
		l.hint = &loss.Linear{C: make([]float64, l.d)}
	}
	copy(l.hint.C, f.C)
	return l.hint
}

// UpdateLoss implements [LossLearner]. A loss that the minimizer does not support is replaced by
// its linearization. If the minimizer fails, UpdateLoss returns an error of code diverged, and so
// does every later call.
func (l *ExactFTRL) UpdateLoss(f loss.Function) error {
	if l.failed != nil {
		return l.failed
	}
	if err := checkLoss(f, l.d); err != nil {
		return err
	}
	st := &l.state
	f.Subgradient(l.gradient, st.X)
	if err := checkFinite("gradient", l.gradient, l.d); err != nil {
		return err
	}
	if err := l.m.Takes(st.T+1, f); err != nil {
		if _, ok := f.(*loss.Linear); ok {
			return err
		}
		l.linear.C = l.gradient
		f = &l.linear
		if err := l.m.Takes(st.T+1, f); err != nil {
			return err
		}
	}
	l.m.Add(f)
	if len(st.Hint) > 0 {
		l.account(f, l.subtractHint())
	} else {
		l.account(f, 0)
	}
	st.T++
	if err := l.move(nil); err != nil {
		l.failed = noregret.Errorf(noregret.Diverged, fmt.Sprintf("round %d", st.T), "no next point: %w", err)
		return l.failed
	}
	return nil
}

// subtractHint subtracts the hint's gradient at x_t from the round's, and returns the hint's
// smoothness.
func (l *ExactFTRL) subtractHint() float64 {
	h := l.state.Hint[0]
	h.Subgradient(l.guess, l.state.X)
	for i, v := range l.guess {
		l.gradient[i] -= v
	}
	if c, ok := h.(loss.Curvature); ok {
		return c.Smoothness()
	}
	return math.Inf(1)
}

// account adds the round's part of the bound; M is the smoothness of the hint. With x* the exact
// minimizer, δ = ‖x_t − x*‖ ≤ √(2·gap/λ) and a = ‖g_t − h'(x_t)‖, the proof of Theorem 7.28 has gap
// + (a + Mδ)·δ + (a + Mδ)²/(2λ) in place of a²/(2λ). Follow-the-leader, with M_t = Σ_{i≤t} μ_i and
// the round's loss in the quadratic, has gap + (a + √(2·gap·M_{t−1}))²/(2M_t).
func (l *ExactFTRL) account(f loss.Function, smoothness float64) {
	st := &l.state
	gap := st.Gap
	_, lambda := l.m.Regularizer(st.T+1, st.X)
	var mu float64
	if c, ok := f.(loss.Curvature); ok {
		mu = c.StrongConvexity()
	}
	hinted := len(st.Hint) > 0
	st.Hint = st.Hint[:0]
	before := st.Mu.value() + lambda
	st.Mu.add(mu)
	leader := lambda == 0 && !hinted
	if leader {
		lambda = st.Mu.value() // Corollary 7.17
		if st.T == 0 {
			gap = 0 // F_1 is 0 everywhere
		}
	} else {
		lambda = before
	}
	s, e := sumOfSquares(l.gradient, vec.MaxAbs(l.gradient))
	if s != 0 {
		st.Spent.add(math.Ldexp(s/lambda, 2*e)) // +Inf until something is strongly convex
	}
	switch a := math.Ldexp(math.Sqrt(s), e); {
	case math.IsInf(smoothness, 1):
		st.Slack.add(smoothness)
	case gap > 0 && leader: // (a + M_{t−1}δ)²/(2M_t) − a²/(2M_t)
		more := math.Sqrt(2 * gap * before)
		st.Slack.add(gap)
		if more > 0 {
			st.Slack.add(float64((2*a+more)*more) / (2 * lambda))
		}
	case gap > 0:
		delta := math.Sqrt(2 * gap / before)
		more := float64(smoothness * delta)
		st.Slack.add(gap + float64((a+more)*delta) + float64((2*a+more)*more)/(2*before))
	}
}

// Bound implements [Bounder].
func (l *ExactFTRL) Bound(u []float64) (float64, error) {
	inside, err := comparator(u, l.m.Set())
	if err != nil || !inside {
		return math.Inf(1), err
	}
	st := &l.state
	if st.T == 0 {
		return 0, nil
	}
	psi, _ := l.m.Regularizer(st.T, u)
	first, _ := l.m.Regularizer(1, st.X1)
	// The regularizer's values may be far larger than their difference: their rounding, (d+4)·2⁻⁵²
	// of them, counts.
	rounding := float64(float64(l.d+4) * 0x1p-52 * (math.Abs(psi) + math.Abs(first)))
	return orInf(psi - first + rounding + float64(st.Spent.value()/2) + st.Slack.value() + st.Gap), nil
}

// String describes the learner and its options in one line.
func (l *ExactFTRL) String() string { return l.text }

// MarshalBinary implements [Snapshotter]. It returns an error for a loss, kept by a [ListMinimizer]
// or as the hint, whose type is neither of package loss nor registered with [RegisterLoss].
func (l *ExactFTRL) MarshalBinary() ([]byte, error) {
	if l.failed != nil {
		return nil, l.failed
	}
	losses, err := l.m.MarshalBinary()
	if err != nil {
		return nil, err
	}
	st := l.state
	st.Losses = losses
	data, err := snapshot.Seal(snapshotMagic, l.text, &st)
	if err != nil {
		return nil, noregret.BadInputf("hint", "cannot be saved: %w", err)
	}
	return data, nil
}

// UnmarshalBinary implements [Snapshotter].
func (l *ExactFTRL) UnmarshalBinary(data []byte) error {
	err := restore(data, l.text, &l.state, func(s *exactState) error {
		if err := checkState(l.d, s.T, s.X, s.X1); err != nil {
			return err
		}
		if !(s.Gap >= 0) || len(s.Hint) > 1 || !(s.Mu.value() >= 0) || !(s.Spent.value() >= 0) ||
			!(s.Slack.value() >= 0) {
			return snapshot.Bad("damaged: gap %v, %d hints", s.Gap, len(s.Hint))
		}
		if err := remakeAll(s.Hint, l.d); err != nil {
			return err
		}
		return l.m.UnmarshalBinary(s.Losses)
	})
	if err == nil {
		l.state.Losses, l.failed = nil, nil
	}
	return err
}
