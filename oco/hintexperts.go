package oco

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/internal/memory"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// HintExperts learns which of several hint strategies is best (Orabona 2019, Remark 7.29):
// [AdaHedge] weights the strategies by the loss ‖g_t − h_t^k‖*², and the weighted mean of their
// hints goes to an optimistic learner. By convexity its guarantee is that of the best strategy plus
// the experts' regret over 2λ.
//
// Features, sparse subgradients and strong convexity go to the learner. The hints are those of the
// strategies, given by Hints, so HintExperts is not [Hinted]. A further hint is a further strategy.
type HintExperts struct {
	learner Hinted
	experts *AdaHedge
	norm    interface{ Of([]float64) float64 }
	hints   [][]float64
	mean    []float64
	dense   []float64 // a sparse subgradient
	losses  []float64
	scale   int // the experts' losses are divided by 2^(2·scale); 0 unless squares leave the range
	given   bool
}

// NewHintExperts mixes the hints of k strategies for the learner. Norm is the dual norm of the
// learner's theorem.
func NewHintExperts(learner Hinted, k int, norm interface{ Of([]float64) float64 }) (*HintExperts, error) {
	if learner == nil || norm == nil {
		return nil, noregret.BadInputf("learner", "nil: want a learner and a norm")
	}
	what := fmt.Sprintf("the hints of %d strategies in dimension %d", k, learner.Dim())
	if err := memory.Check("strategies", what, float64(k)*float64(learner.Dim())); err != nil {
		return nil, err
	}
	experts, err := NewAdaHedge(k, DefaultAdaHedgeAlpha(k))
	if err != nil {
		return nil, err
	}
	l := &HintExperts{
		learner: learner, experts: experts, norm: norm, mean: make([]float64, learner.Dim()),
		dense: make([]float64, learner.Dim()), losses: make([]float64, k),
	}
	for range k {
		l.hints = append(l.hints, make([]float64, learner.Dim()))
	}
	return l, nil
}

// Dim implements [Learner].
func (l *HintExperts) Dim() int { return l.learner.Dim() }

// Rounds implements [Counter].
func (l *HintExperts) Rounds() int { return l.experts.Rounds() }

// Hints sets the strategies' hints for the current round.
func (l *HintExperts) Hints(hints [][]float64) error {
	if len(hints) != len(l.hints) {
		return noregret.BadInputf("hints", "%d hints for %d strategies", len(hints), len(l.hints))
	}
	for k, h := range hints {
		if err := checkFinite(fmt.Sprintf("hints[%d]", k), h, l.Dim()); err != nil {
			return err
		}
	}
	clear(l.mean)
	for k, p := range l.experts.Predict() {
		for i, v := range hints[k] {
			l.mean[i] += float64(p * v)
		}
	}
	if err := l.learner.Hint(l.mean); err != nil {
		return err
	}
	for k, h := range hints {
		copy(l.hints[k], h)
	}
	l.given = true
	return nil
}

// Features implements [FeatureLearner].
func (l *HintExperts) Features(z []float64) error { return forwardFeatures(l.learner, z) }

func (l *HintExperts) checkFeatures(z []float64) error { return checkFeatures(l.learner, z) }

// Weights are the strategies' weights in the current round.
func (l *HintExperts) Weights() []float64 { return l.experts.Predict() }

// Predict implements [Learner].
func (l *HintExperts) Predict() []float64 { return l.learner.Predict() }

// Update implements [Learner]. Without Hints in this round all hints count as 0.
func (l *HintExperts) Update(g []float64) error {
	if err := checkFinite("gradient", g, l.Dim()); err != nil {
		return err
	}
	return l.end(g, func() error { return l.learner.Update(g) })
}

// UpdateCurved implements [Curved], like Update.
func (l *HintExperts) UpdateCurved(g []float64, mu float64) error {
	if err := checkFinite("gradient", g, l.Dim()); err != nil {
		return err
	}
	return l.end(g, func() error { return forwardCurved(l.learner, g, mu) })
}

// UpdateSparse implements [SparseLearner], like Update. The hints make it O(d) for each strategy.
func (l *HintExperts) UpdateSparse(g Sparse) error {
	if _, err := checkSparse("gradient", g, l.Dim()); err != nil {
		return err
	}
	scatter(l.dense, g)
	return l.end(l.dense, func() error { return forwardSparse(l.learner, g, l.dense) })
}

// At implements [SparseLearner].
func (l *HintExperts) At(i int) float64 { return at(l.learner, i) }

// end ends the round, whose subgradient is g, with a function that hands it to the learner.
func (l *HintExperts) end(g []float64, update func() error) error {
	var top float64
	for k, h := range l.hints {
		for i, v := range g {
			if l.mean[i] = v; l.given {
				l.mean[i] -= h[i]
			}
		}
		n := l.norm.Of(l.mean)
		if !vec.IsFinite(n) {
			return noregret.BadInputf("gradient", "the distance to hint %d leaves the range of float64", k)
		}
		l.losses[k] = n
		top = max(top, n)
	}
	scale := l.scale
	if top > 0x1p480 {
		scale = max(scale, math.Ilogb(top))
	}
	for k, n := range l.losses {
		n = math.Ldexp(n, -scale)
		l.losses[k] = float64(n * n)
	}
	before, theta := l.experts.state, []float64(nil)
	if scale != l.scale { // AdaHedge is scale-free
		theta = slices.Clone(before.Dual.Theta)
		l.experts.rescale(2 * (l.scale - scale))
	}
	largest, delta, err := l.experts.check(l.losses)
	if err == nil {
		err = update()
	}
	if err != nil {
		if scale != l.scale {
			l.experts.state, l.experts.fresh = before, false
			l.experts.state.Dual.Theta = theta
		}
		return err
	}
	l.scale = scale
	l.given = false
	l.experts.accept(l.losses, largest, delta)
	return nil
}

// Bound implements [Bounder]: that of the learner, with the mixed hints.
func (l *HintExperts) Bound(u []float64) (float64, error) {
	return boundOf(l.learner, u)
}

type hintExpertsState struct {
	Learner, Experts []byte
	Hints            [][]float64
	Given            bool
	Scale            int
}

// String describes the learner and its options in one line.
func (l *HintExperts) String() string {
	return fmt.Sprintf("hint-experts(%s, %d)", kindOf(l.learner), len(l.hints))
}

// MarshalBinary implements [Snapshotter]; the learner inside must be one too.
func (l *HintExperts) MarshalBinary() ([]byte, error) {
	s := hintExpertsState{Hints: l.hints, Given: l.given, Scale: l.scale}
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
		return snapshot.Bad("damaged: hints of %d strategies for %d", len(s.Hints), len(l.hints))
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
	l.hints, l.given, l.scale = s.Hints, s.Given, s.Scale
	return nil
}
