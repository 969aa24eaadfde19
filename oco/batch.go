package oco

import (
	"errors"
	"fmt"
	"math"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/snapshot"
)

// Alpha is a schedule of weights α_t > 0 of the rounds of online-to-batch conversion. It must not depend on
// the data.
type Alpha struct {
	name string
	f    func(t int) float64
}

// UniformAlpha is α_t = 1.
func UniformAlpha() Alpha { return Alpha{"uniform", func(int) float64 { return 1 }} }

// LinearAlpha is α_t = t, which for strongly convex losses takes the ln T off the rate.
func LinearAlpha() Alpha { return Alpha{"linear", func(t int) float64 { return float64(t) }} }

// InverseSqrtAlpha is α_t = 1/(c·√t), which needs no horizon.
func InverseSqrtAlpha(c float64) Alpha {
	return Alpha{fmt.Sprintf("inverse-sqrt(%v)", c), func(t int) float64 { return 1 / (c * math.Sqrt(float64(t))) }}
}

func (a Alpha) validate() error {
	if a.f == nil {
		return badArgument("alpha", "the zero Alpha is no schedule; take UniformAlpha, LinearAlpha or InverseSqrtAlpha")
	}
	if v := a.f(1); !(v > 0) || !finite(v) {
		return badArgument("alpha", "%s is %v in round 1: want a finite number above 0", a.name, v)
	}
	return nil
}

// weighted hands α_t·g_t to a learner; the conversions below share it.
type weighted struct {
	learner Learner
	alpha   Alpha
	name    string
	scaled  []float64
	played  []float64
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
		return nil, badArgument("learner", "nil: want a learner")
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

// next is α_t and Σ α with it.
func (l *weighted) next() (alpha float64, total sum) {
	alpha, total = l.alpha.f(l.state.T+1), l.state.Total
	total.add(alpha)
	return alpha, total
}

// feed hands α·g to the learner and leaves the point it had played in played.
func (l *weighted) feed(g []float64, alpha float64) error {
	if _, err := checkVector("gradient", g, l.Dim()); err != nil {
		return err
	}
	for i, v := range g {
		l.scaled[i] = alpha * v
	}
	copy(l.played, l.learner.Predict())
	return l.learner.Update(l.scaled)
}

// Bound implements [Bounder]: that of the learner, on the weighted losses.
func (l *weighted) Bound(u []float64) (float64, error) {
	if b, ok := l.learner.(Bounder); ok {
		return b.Bound(u)
	}
	_, err := checkVector("comparator", u, l.Dim())
	return math.Inf(1), err
}

// String describes the learner and its options in one line.
func (l *weighted) String() string {
	return fmt.Sprintf("%s(%v, alpha=%s)", l.name, l.learner, l.alpha.name)
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

// Averaging is online-to-batch conversion (Cesa-Bianchi, Conconi and Gentile 2004; Orabona 2019, Theorem
// 3.1): it hands α_t·g_t to a learner and averages the points played,
//
//	x̄_T = Σ α_t·x_t/Σ α_t,   E[F(x̄_T)] − F(u) ≤ E[Regret_T(u)]/Σ α_t,
//
// for independent samples of a convex F. The points are those before each update; the one after the last is
// not among them. The regret, and Bound, are of the weighted losses. A round costs O(d) more than the
// learner's.
type Averaging struct{ *weighted }

// NewAveraging wraps a learner at its start.
func NewAveraging(learner Learner, alpha Alpha) (*Averaging, error) {
	w, err := newWeighted("averaging", learner, alpha)
	if err != nil {
		return nil, err
	}
	return &Averaging{w}, nil
}

// Predict implements [Learner]: the learner's own point x_t, where the sample's gradient is to be taken.
func (l *Averaging) Predict() []float64 { return l.learner.Predict() }

// Update implements [Learner], with a subgradient of the sample's loss, not yet weighted.
func (l *Averaging) Update(g []float64) error {
	alpha, total := l.next()
	if err := l.feed(g, alpha); err != nil {
		return err
	}
	share := alpha / total.value()
	for i, x := range l.played {
		l.state.Mean[i] += float64(share * (x - l.state.Mean[i]))
	}
	l.state.Total = total
	l.state.T++
	return nil
}

// Average is x̄ of the finished rounds, an error before the first. The slice belongs to the learner.
func (l *Averaging) Average() ([]float64, error) {
	if l.state.T == 0 {
		return nil, badArgument("average", "no round has been finished: there is nothing to average")
	}
	return l.state.Mean, nil
}

// RandomIterate is online-to-batch conversion without convexity of the risk (Orabona 2019, section 3.3):
// one of the points played, x_τ with P[τ = t] = α_t/Σα, whose expected risk is the weighted mean of the
// risks. It keeps one point, replaced in round t with probability α_t/Σ_{i≤t} α_i.
type RandomIterate struct {
	*weighted
	source *random.Source
}

// NewRandomIterate wraps a learner at its start. The same seed keeps the same rounds' points.
func NewRandomIterate(learner Learner, alpha Alpha, seed uint64) (*RandomIterate, error) {
	w, err := newWeighted(fmt.Sprintf("random-iterate:%d", seed), learner, alpha)
	if err != nil {
		return nil, err
	}
	return &RandomIterate{w, random.New(seed, "oco/random-iterate")}, nil
}

// Predict implements [Learner].
func (l *RandomIterate) Predict() []float64 { return l.learner.Predict() }

// Update implements [Learner], with a subgradient of the sample's loss, not yet weighted.
func (l *RandomIterate) Update(g []float64) error {
	alpha, total := l.next()
	if err := l.feed(g, alpha); err != nil {
		return err
	}
	if l.source.Float64()*total.value() < alpha {
		copy(l.state.Mean, l.played)
	}
	l.state.Total = total
	l.state.T++
	return nil
}

// Iterate is the point kept, an error before the first round has ended. The slice belongs to the learner.
func (l *RandomIterate) Iterate() ([]float64, error) {
	if l.state.T == 0 {
		return nil, badArgument("iterate", "no round has been finished: there is no point to return")
	}
	return l.state.Mean, nil
}

// MarshalBinary implements [Snapshotter].
func (l *RandomIterate) MarshalBinary() ([]byte, error) {
	draws, err := l.source.MarshalBinary()
	if err != nil {
		return nil, err
	}
	l.state.Draws = draws
	return l.weighted.MarshalBinary()
}

// UnmarshalBinary implements [Snapshotter].
func (l *RandomIterate) UnmarshalBinary(data []byte) error {
	before, err := l.MarshalBinary()
	if err != nil {
		return err
	}
	if err := l.weighted.UnmarshalBinary(data); err != nil {
		return err
	}
	if err := l.source.UnmarshalBinary(l.state.Draws); err != nil {
		return errors.Join(err, l.weighted.UnmarshalBinary(before))
	}
	return nil
}

// Anytime is anytime online-to-batch conversion (Cutkosky 2019; named in Orabona 2019, section 3.4): it
// plays the running average itself,
//
//	w_t = Σ_{i≤t} α_i·x_i/Σ_{i≤t} α_i,
//
// takes the sample's subgradient at w_t, and hands it, times α_t, to a learner of linear losses whose
// points are x_t. The last point then has the guarantee E[F(w_T)] − F(u) ≤ E[Σ ⟨α_t·g_t, x_t − u⟩]/Σ α_t at
// every T. Bound is that of the inner learner.
type Anytime struct {
	*weighted
	point []float64
	fresh bool
}

// NewAnytime wraps a learner at its start.
func NewAnytime(learner Learner, alpha Alpha) (*Anytime, error) {
	w, err := newWeighted("anytime", learner, alpha)
	if err != nil {
		return nil, err
	}
	return &Anytime{weighted: w, point: make([]float64, learner.Dim())}, nil
}

// Predict implements [Learner]: w_t.
func (l *Anytime) Predict() []float64 {
	if !l.fresh {
		alpha, total := l.next()
		share := alpha / total.value()
		for i, x := range l.learner.Predict() {
			l.point[i] = l.state.Mean[i] + float64(share*(x-l.state.Mean[i]))
		}
		l.fresh = true
	}
	return l.point
}

// Update implements [Learner], with a subgradient at Predict().
func (l *Anytime) Update(g []float64) error {
	alpha, total := l.next()
	w := l.Predict()
	if err := l.feed(g, alpha); err != nil {
		return err
	}
	copy(l.state.Mean, w)
	l.state.Total = total
	l.state.T++
	l.fresh = false
	return nil
}

// UnmarshalBinary implements [Snapshotter].
func (l *Anytime) UnmarshalBinary(data []byte) error {
	l.fresh = false
	return l.weighted.UnmarshalBinary(data)
}
