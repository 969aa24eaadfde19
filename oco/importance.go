package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
)

// Importance gives rounds weights w_t ≥ 0: it passes w_t·g_t to a learner, whose regret is then
// that on the losses w_t·l_t. With w_t = 1/p_t for rounds that are observed with probability p_t,
// and 0 for the others, the weighted losses are unbiased (importance sampling), and with the
// weights of a data set's rows the regret is that on the weighted data. Scale-free learners such as
// [AdaGrad] need not know the largest weight.
//
// Hints, features, sparse subgradients and strong convexity go to the learner. The weight of a
// round scales its loss, and so its strong convexity and, in regression, its features; give the
// features of a weighted round with FeaturesWeighted.
//
// Guarantee (Bound): the learner's, on the weighted losses. A round costs O(d) more than the
// learner's, or O(nnz) for sparse subgradients.
type Importance struct {
	Learner
	scaled []float64
	values []float64
}

// NewImportance wraps a learner at its start.
func NewImportance(learner Learner) (*Importance, error) {
	if learner == nil {
		return nil, noregret.BadInputf("learner", "nil: want a learner")
	}
	return &Importance{Learner: learner, scaled: make([]float64, learner.Dim())}, nil
}

func checkWeight(w float64) error {
	if !(w >= 0) || !vec.IsFinite(w) {
		return noregret.BadInputf("weight", "%v: want a finite number, at least 0", w)
	}
	return nil
}

// UpdateWeighted ends the round with a subgradient of its loss, not yet weighted, and its weight.
// Update is UpdateWeighted with weight 1.
func (l *Importance) UpdateWeighted(g []float64, w float64) error {
	if err := l.scale(g, w); err != nil {
		return err
	}
	return l.Update(l.scaled)
}

// scale sets scaled to w·g.
func (l *Importance) scale(g []float64, w float64) error {
	if err := checkWeight(w); err != nil {
		return err
	}
	if err := checkFinite("gradient", g, l.Dim()); err != nil {
		return err
	}
	for i, v := range g {
		l.scaled[i] = w * v
	}
	return nil
}

// UpdateWeightedCurved is UpdateWeighted for a loss that is mu-strongly convex, not yet weighted.
func (l *Importance) UpdateWeightedCurved(g []float64, w, mu float64) error {
	if err := checkMu(mu); err != nil {
		return err
	}
	if err := l.scale(g, w); err != nil {
		return err
	}
	return forwardCurved(l.Learner, l.scaled, float64(w*mu))
}

// UpdateWeightedSparse is UpdateWeighted for a sparse subgradient.
func (l *Importance) UpdateWeightedSparse(g Sparse, w float64) error {
	if err := checkWeight(w); err != nil {
		return err
	}
	l.values = l.values[:0]
	for _, v := range g.Value {
		l.values = append(l.values, w*v)
	}
	return forwardSparse(l.Learner, Sparse{Index: g.Index, Value: l.values}, l.scaled)
}

// UpdateCurved implements [Curved], with weight 1.
func (l *Importance) UpdateCurved(g []float64, mu float64) error {
	return forwardCurved(l.Learner, g, mu)
}

// UpdateSparse implements [SparseLearner], with weight 1.
func (l *Importance) UpdateSparse(g Sparse) error { return forwardSparse(l.Learner, g, l.scaled) }

// At implements [SparseLearner].
func (l *Importance) At(i int) float64 { return at(l.Learner, i) }

// Hint implements [Hinted], with a guess of the weighted subgradient.
func (l *Importance) Hint(g []float64) error { return forwardHint(l.Learner, g) }

// Features implements [FeatureLearner], for a round of weight 1.
func (l *Importance) Features(z []float64) error { return forwardFeatures(l.Learner, z) }

func (l *Importance) checkHint(h []float64) error { return checkHint(l.Learner, h) }

func (l *Importance) checkFeatures(z []float64) error { return checkFeatures(l.Learner, z) }

// FeaturesWeighted sets the features of a round of weight w. The learner gets √w·z, as the weighted
// loss of regression is w·½(⟨z, x⟩ − y)² = ½(⟨√w·z, x⟩ − √w·y)².
func (l *Importance) FeaturesWeighted(z []float64, w float64) error {
	if err := checkWeight(w); err != nil {
		return err
	}
	if err := checkFinite("features", z, l.Dim()); err != nil {
		return err
	}
	root := math.Sqrt(w)
	for i, v := range z {
		l.scaled[i] = root * v
	}
	return forwardFeatures(l.Learner, l.scaled)
}

// Rounds implements [Counter], for a learner that counts; 0 for others.
func (l *Importance) Rounds() int {
	if c, ok := l.Learner.(Counter); ok {
		return c.Rounds()
	}
	return 0
}

// Bound implements [Bounder]: that of the learner, on the weighted losses.
func (l *Importance) Bound(u []float64) (float64, error) {
	return boundOf(l.Learner, u)
}

// String describes the learner and its options in one line.
func (l *Importance) String() string { return fmt.Sprintf("importance(%s)", kindOf(l.Learner)) }

// MarshalBinary implements [Snapshotter]; the learner inside must be one too.
func (l *Importance) MarshalBinary() ([]byte, error) { return marshalInner(l.Learner) }

// UnmarshalBinary implements [Snapshotter].
func (l *Importance) UnmarshalBinary(data []byte) error { return unmarshalInner(l.Learner, data) }
