package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// Alpha is a schedule of weights α_t > 0 of the rounds of online-to-batch conversion. It must not
// depend on the data.
type Alpha struct {
	name string
	f    func(t int) float64
}

// UniformAlpha is α_t = 1.
func UniformAlpha() Alpha { return Alpha{"uniform", func(int) float64 { return 1 }} }

// LinearAlpha is α_t = t, which for strongly convex losses removes the factor ln T from the rate.
func LinearAlpha() Alpha { return Alpha{"linear", func(t int) float64 { return float64(t) }} }

// InverseSqrtAlpha is α_t = 1/(c·√t), which needs no horizon.
func InverseSqrtAlpha(c float64) Alpha {
	return Alpha{fmt.Sprintf("inverse-sqrt(%v)", c), func(t int) float64 { return 1 / (c * math.Sqrt(float64(t))) }}
}

func (a Alpha) validate() error {
	if a.f == nil {
		return noregret.BadInputf("alpha", "the zero Alpha is not a schedule; take UniformAlpha, LinearAlpha or "+
			"InverseSqrtAlpha")
	}
	if v := a.f(1); !(v > 0) || !vec.IsFinite(v) {
		return noregret.BadInputf("alpha", "%s is %v in round 1: want a finite number above 0", a.name, v)
	}
	return nil
}

// weighted passes α_t·g_t to a learner. The conversions share it.
type weighted struct {
	learner Learner
	alpha   Alpha
	name    string
	scaled  []float64
	played  []float64
	values  []float64 // of a sparse subgradient, weighted
	state   weightedState
}

type weightedState struct {
	T     int
	Total sum       // Σ α
	Mean  []float64 // Σ α·x/Σ α, or the iterate kept
	Inner []byte    // the learner's own snapshot
	Draws []byte    // the random source's state
}

func newWeighted(name string, learner Learner, alpha Alpha) (*weighted, error) {
	if learner == nil {
		return nil, noregret.BadInputf("learner", "nil: want a learner")
	}
	if err := alpha.validate(); err != nil {
		return nil, err
	}
	d := learner.Dim()
	return &weighted{
		learner: learner, alpha: alpha, name: name, scaled: make([]float64, d), played: make([]float64, d),
		state: weightedState{Mean: make([]float64, d)},
	}, nil
}

// Dim implements [Learner].
func (l *weighted) Dim() int { return l.learner.Dim() }

// Rounds implements [Counter].
func (l *weighted) Rounds() int { return l.state.T }

// next returns α_t and the sum of the weights including it.
func (l *weighted) next() (alpha float64, total sum) {
	alpha, total = l.alpha.f(l.state.T+1), l.state.Total
	total.add(alpha)
	return alpha, total
}

// feed passes α·g to the learner and stores the point it had played in played.
// A mu ≥ 0 is the strong convexity of the sample's loss.
func (l *weighted) feed(g []float64, alpha, mu float64) error {
	if err := checkFinite("gradient", g, l.Dim()); err != nil {
		return err
	}
	l.scale(alpha, g)
	copy(l.played, l.learner.Predict())
	if c, ok := l.learner.(Curved); ok && mu >= 0 {
		return c.UpdateCurved(l.scaled, float64(alpha*mu))
	}
	return l.learner.Update(l.scaled)
}

// feedSparse is feed for a sparse subgradient.
func (l *weighted) feedSparse(g Sparse, alpha float64) error {
	if _, err := checkSparse("gradient", g, l.Dim()); err != nil {
		return err
	}
	copy(l.played, l.learner.Predict())
	l.values = l.values[:0]
	for _, v := range g.Value {
		l.values = append(l.values, alpha*v)
	}
	return forwardSparse(l.learner, Sparse{Index: g.Index, Value: l.values}, l.scaled)
}

// scale sets scaled to factor·v, and returns it.
func (l *weighted) scale(factor float64, v []float64) []float64 {
	for i, x := range v {
		l.scaled[i] = factor * x
	}
	return l.scaled
}

// Hint implements [Hinted], with a guess of the sample's subgradient, not yet weighted.
func (l *weighted) Hint(g []float64) error {
	if err := checkFinite("hint", g, l.Dim()); err != nil {
		return err
	}
	alpha, _ := l.next()
	return forwardHint(l.learner, l.scale(alpha, g))
}

func (l *weighted) checkHint(g []float64) error {
	if err := checkFinite("hint", g, l.Dim()); err != nil {
		return err
	}
	alpha, _ := l.next()
	return checkHint(l.learner, l.scale(alpha, g))
}

// Features implements [FeatureLearner]. The learner gets √α_t·z, as the weighted loss of regression
// is α·½(⟨z, x⟩ − y)² = ½(⟨√α·z, x⟩ − √α·y)².
func (l *weighted) Features(z []float64) error {
	if err := checkFinite("features", z, l.Dim()); err != nil {
		return err
	}
	alpha, _ := l.next()
	return forwardFeatures(l.learner, l.scale(math.Sqrt(alpha), z))
}

func (l *weighted) checkFeatures(z []float64) error {
	if err := checkFinite("features", z, l.Dim()); err != nil {
		return err
	}
	alpha, _ := l.next()
	return checkFeatures(l.learner, l.scale(math.Sqrt(alpha), z))
}

// Bound implements [Bounder]: that of the learner, on the weighted losses.
func (l *weighted) Bound(u []float64) (float64, error) {
	return boundOf(l.learner, u)
}

// String describes the learner and its options in one line.
func (l *weighted) String() string {
	return fmt.Sprintf("%s(%s, alpha=%s)", l.name, kindOf(l.learner), l.alpha.name)
}

// MarshalBinary implements [Snapshotter]; the learner inside must be one too.
func (l *weighted) MarshalBinary() ([]byte, error) {
	s := l.state
	var err error
	if s.Inner, err = marshalInner(l.learner); err != nil {
		return nil, err
	}
	return snapshot.Seal(snapshotMagic, l.String(), &s)
}

// UnmarshalBinary implements [Snapshotter].
func (l *weighted) UnmarshalBinary(data []byte) error {
	var s weightedState
	if err := snapshot.Open(data, snapshotMagic, l.String(), &s); err != nil {
		return err
	}
	if err := checkState(l.Dim(), s.T, s.Mean); err != nil {
		return err
	}
	if err := unmarshalInner(l.learner, s.Inner); err != nil {
		return err
	}
	s.Inner = nil
	l.state = s
	return nil
}
