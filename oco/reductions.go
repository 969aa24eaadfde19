package oco

import (
	"errors"
	"fmt"
	"math"

	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/loss"
)

// Linearized plays any convex losses with a learner of linear ones (Orabona 2019, section 2.3): Σ l_t(x_t)
// − l_t(u) ≤ Σ ⟨g_t, x_t − u⟩ for subgradients g_t at x_t. It is the learner itself with UpdateLoss added.
type Linearized struct {
	Learner
	g []float64
}

// NewLinearized wraps a learner.
func NewLinearized(learner Learner) (*Linearized, error) {
	if learner == nil {
		return nil, badArgument("learner", "nil: want a learner")
	}
	return &Linearized{learner, make([]float64, learner.Dim())}, nil
}

// UpdateLoss implements [LossLearner]. A learner that takes losses is given the loss itself; one that is
// [Curved] is told the loss's strong convexity.
func (l *Linearized) UpdateLoss(f loss.Function) error {
	if err := checkLoss(f, l.Dim()); err != nil {
		return err
	}
	if whole, ok := l.Learner.(LossLearner); ok {
		return whole.UpdateLoss(f)
	}
	f.Subgradient(l.g, l.Predict())
	if curved, ok := l.Learner.(Curved); ok {
		if c, ok := f.(loss.Curvature); ok {
			return curved.UpdateCurved(l.g, c.StrongConvexity())
		}
	}
	return l.Update(l.g)
}

// Bound implements [Bounder]: that of the learner.
func (l *Linearized) Bound(u []float64) (float64, error) {
	if b, ok := l.Learner.(Bounder); ok {
		return b.Bound(u)
	}
	_, err := checkVector("comparator", u, l.Dim())
	return math.Inf(1), err
}

// MarshalBinary implements [Snapshotter]; the learner inside must be one too.
func (l *Linearized) MarshalBinary() ([]byte, error) { return marshalInner(l.Learner) }

// UnmarshalBinary implements [Snapshotter].
func (l *Linearized) UnmarshalBinary(data []byte) error { return unmarshalInner(l.Learner, data) }

func marshalInner(l Learner) ([]byte, error) {
	s, ok := l.(Snapshotter)
	if !ok {
		return nil, badArgument("learner", "%v cannot be saved", l)
	}
	return s.MarshalBinary()
}

func unmarshalInner(l Learner, data []byte) error {
	s, ok := l.(Snapshotter)
	if !ok {
		return badArgument("learner", "%v cannot be restored", l)
	}
	return s.UnmarshalBinary(data)
}

// Split plays on a product of intervals with one learner for each coordinate (Orabona 2019, section 4.2.4):
// the regret is the sum of theirs. [AdaGrad] is it, with adaptive subgradient descent in each coordinate.
type Split struct {
	learners []Learner
	point    []float64
	saved    []Snapshotter
	one      [1]float64
	rounds   int
	failed   error
}

type splitState struct {
	Rounds int
	Inner  [][]byte
}

// NewSplit plays with learners of dimension 1, at their starts.
func NewSplit(learners ...Learner) (*Split, error) {
	if len(learners) == 0 {
		return nil, badArgument("learners", "none: want at least one")
	}
	l := &Split{learners: learners, point: make([]float64, len(learners))}
	for i, p := range learners {
		if p == nil || p.Dim() != 1 {
			return nil, badArgument(fmt.Sprintf("learners[%d]", i), "want a learner of dimension 1")
		}
		if s, ok := p.(Snapshotter); ok {
			l.saved = append(l.saved, s)
		}
	}
	return l, nil
}

// Dim implements [Learner].
func (l *Split) Dim() int { return len(l.learners) }

// Rounds implements [Counter].
func (l *Split) Rounds() int { return l.rounds }

// Predict implements [Learner].
func (l *Split) Predict() []float64 {
	for i, p := range l.learners {
		l.point[i] = p.Predict()[0]
	}
	return l.point
}

// Update implements [Learner]. A subgradient that is not finite or of the wrong length changes nothing. Where a learner refuses its
// coordinate for a reason of its own (a horizon, the range of float64) after others have moved, the split is at an end: that error
// is returned from then on, until a snapshot is restored.
func (l *Split) Update(g []float64) error {
	if _, err := checkVector("gradient", g, l.Dim()); err != nil {
		return err
	}
	if l.failed != nil {
		return l.failed
	}
	for i, p := range l.learners {
		l.one[0] = g[i]
		if err := p.Update(l.one[:]); err != nil {
			err = fmt.Errorf("coordinate %d: %w", i, err)
			if i > 0 {
				l.failed = err
			}
			return err
		}
	}
	l.rounds++
	return nil
}

// Bound implements [Bounder]: the sum of the learners' bounds.
func (l *Split) Bound(u []float64) (float64, error) {
	if _, err := checkVector("comparator", u, l.Dim()); err != nil {
		return 0, err
	}
	var total sum
	for i, p := range l.learners {
		b, ok := p.(Bounder)
		if !ok {
			return math.Inf(1), nil
		}
		v, err := b.Bound(u[i : i+1])
		if err != nil {
			return 0, err
		}
		total.add(v)
	}
	return total.value(), nil
}

// String describes the learner and its options in one line.
func (l *Split) String() string { return fmt.Sprintf("split%v", l.learners) }

// MarshalBinary implements [Snapshotter]; the learners inside must be so too.
func (l *Split) MarshalBinary() ([]byte, error) {
	if l.failed != nil {
		return nil, l.failed
	}
	if len(l.saved) != len(l.learners) {
		return nil, badArgument("learners", "some of them cannot be saved")
	}
	s := splitState{Rounds: l.rounds}
	for _, p := range l.saved {
		b, err := p.MarshalBinary()
		if err != nil {
			return nil, err
		}
		s.Inner = append(s.Inner, b)
	}
	return snapshot.Seal(snapshotMagic, l.String(), &s)
}

// UnmarshalBinary implements [Snapshotter].
func (l *Split) UnmarshalBinary(data []byte) error {
	var s splitState
	if err := snapshot.Open(data, snapshotMagic, l.String(), &s); err != nil {
		return err
	}
	if len(s.Inner) != len(l.saved) || s.Rounds < 0 {
		return snapshot.Bad("it is damaged: it holds %d learners for %d", len(s.Inner), len(l.saved))
	}
	var before [][]byte
	for _, p := range l.saved {
		b, err := p.MarshalBinary()
		if err != nil {
			return err
		}
		before = append(before, b)
	}
	for i, p := range l.saved {
		if err := p.UnmarshalBinary(s.Inner[i]); err != nil {
			for k := range i { // back to where they were
				err = errors.Join(err, l.saved[k].UnmarshalBinary(before[k]))
			}
			return err
		}
	}
	l.rounds, l.failed = s.Rounds, nil
	return nil
}

// HintExperts chooses among hint strategies while it plays (Orabona 2019, Remark 7.29): [AdaHedge] weighs
// the strategies by the loss ‖g_t − h_t^k‖*², and the weighted mean of their hints goes to an optimistic
// learner. By convexity its guarantee is that of the best strategy plus the experts' regret over 2λ.
type HintExperts struct {
	learner Hinted
	experts *AdaHedge
	norm    interface{ Of([]float64) float64 }
	hints   [][]float64
	mean    []float64
	losses  []float64
	given   bool
}

// NewHintExperts mixes the hints of k strategies for the learner. Norm is the dual norm of the learner's theorem.
func NewHintExperts(learner Hinted, k int, norm interface{ Of([]float64) float64 }) (*HintExperts, error) {
	if learner == nil || norm == nil {
		return nil, badArgument("learner", "nil: want a learner and a norm")
	}
	experts, err := NewAdaHedge(k, 0)
	if err != nil {
		return nil, err
	}
	l := &HintExperts{learner: learner, experts: experts, norm: norm, mean: make([]float64, learner.Dim()), losses: make([]float64, k)}
	for range k {
		l.hints = append(l.hints, make([]float64, learner.Dim()))
	}
	return l, nil
}

// Dim implements [Learner].
func (l *HintExperts) Dim() int { return l.learner.Dim() }

// Rounds implements [Counter].
func (l *HintExperts) Rounds() int { return l.experts.Rounds() }

// Hints sets the strategies' hints for the running round.
func (l *HintExperts) Hints(hints [][]float64) error {
	if len(hints) != len(l.hints) {
		return badArgument("hints", "there are %d for %d strategies", len(hints), len(l.hints))
	}
	for k, h := range hints {
		if _, err := checkVector(fmt.Sprintf("hints[%d]", k), h, l.Dim()); err != nil {
			return err
		}
	}
	clear(l.mean)
	for k, p := range l.experts.Predict() {
		copy(l.hints[k], hints[k])
		for i, v := range hints[k] {
			l.mean[i] += float64(p * v)
		}
	}
	l.given = true
	return l.learner.Hint(l.mean)
}

// Weights are the strategies' weights of the running round.
func (l *HintExperts) Weights() []float64 { return l.experts.Predict() }

// Predict implements [Learner].
func (l *HintExperts) Predict() []float64 { return l.learner.Predict() }

// Update implements [Learner]. Without Hints in this round all strategies are taken to have said 0.
func (l *HintExperts) Update(g []float64) error {
	if _, err := checkVector("gradient", g, l.Dim()); err != nil {
		return err
	}
	for k, h := range l.hints {
		for i, v := range g {
			if l.mean[i] = v; l.given {
				l.mean[i] -= h[i]
			}
		}
		n := l.norm.Of(l.mean)
		if l.losses[k] = float64(n * n); !finite(l.losses[k]) {
			return badArgument("gradient", "its distance %v to hint %d leaves the range of float64 when squared", n, k)
		}
	}
	largest, delta, err := l.experts.admit(l.losses)
	if err != nil {
		return err
	}
	if err := l.learner.Update(g); err != nil {
		return err
	}
	l.given = false
	l.experts.take(l.losses, largest, delta)
	return nil
}

// Bound implements [Bounder]: that of the learner, with the mixed hints.
func (l *HintExperts) Bound(u []float64) (float64, error) {
	if b, ok := l.learner.(Bounder); ok {
		return b.Bound(u)
	}
	_, err := checkVector("comparator", u, l.Dim())
	return math.Inf(1), err
}

type hintExpertsState struct {
	Learner, Experts []byte
	Hints            [][]float64
	Given            bool
}

// String describes the learner and its options in one line.
func (l *HintExperts) String() string {
	return fmt.Sprintf("hint-experts(%v, %d)", l.learner, len(l.hints))
}

// MarshalBinary implements [Snapshotter]; the learner inside must be one too.
func (l *HintExperts) MarshalBinary() ([]byte, error) {
	s := hintExpertsState{Hints: l.hints, Given: l.given}
	var err error
	if s.Learner, err = marshalInner(l.learner); err != nil {
		return nil, err
	}
	if s.Experts, err = l.experts.MarshalBinary(); err != nil {
		return nil, err
	}
	return snapshot.Seal(snapshotMagic, l.String(), &s)
}

// UnmarshalBinary implements [Snapshotter].
func (l *HintExperts) UnmarshalBinary(data []byte) error {
	var s hintExpertsState
	if err := snapshot.Open(data, snapshotMagic, l.String(), &s); err != nil {
		return err
	}
	if len(s.Hints) != len(l.hints) {
		return snapshot.Bad("it is damaged: it has the hints of %d strategies for %d", len(s.Hints), len(l.hints))
	}
	if err := checkState(l.Dim(), 0, s.Hints...); err != nil {
		return err
	}
	before, err := marshalInner(l.learner)
	if err != nil {
		return err
	}
	if err := unmarshalInner(l.learner, s.Learner); err != nil {
		return err
	}
	if err := l.experts.UnmarshalBinary(s.Experts); err != nil {
		return errors.Join(err, unmarshalInner(l.learner, before))
	}
	l.hints, l.given = s.Hints, s.Given
	return nil
}
