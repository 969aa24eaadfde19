package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
)

// FixedShare is Hedge against a best expert that changes over time (Herbster and Warmuth 1998): on
// the simplex of ℝ^d, from x_1 uniform,
//
//	x_{t+1} = (1 − α)·v/Σ_j v_j + α/d,   v_i = x_{t,i}·exp(−η·g_{t,i}).
//
// No weight falls below α/d, so an expert that becomes good is found again at once.
//
// Guarantee, with R_t = max g_t − min g_t: against every sequence of experts that changes at most k
// times (SwitchingBound), and with k = 0 against every fixed u (Bound),
//
//	(ln d + k·ln(d/α) + (T − 1 − k)·ln(1/(1 − α + α/d)))/η + (η/8)·ΣR_t².
//
// A round costs O(d) time; memory is O(d).
type FixedShare struct {
	eta, alpha float64
	horizon    int // the rounds that the rates are for, 0 for any
	state      fixedShareState
	next       []float64
	text       string
}

type fixedShareState struct {
	T     int
	X     []float64
	Range squares // Σ(max g − min g)²
}

// NewFixedShare plays with d ≥ 1 experts, a rate eta > 0 and a share alpha, above 0 and below 1.
func NewFixedShare(d int, eta, alpha float64) (*FixedShare, error) {
	if err := checkDim(d, 2*float64(d)); err != nil {
		return nil, err
	}
	if err := positive("eta", eta); err != nil {
		return nil, err
	}
	if !(alpha > 0 && alpha < 1) {
		return nil, noregret.BadInputf("alpha", "%v: want a number above 0 and below 1", alpha)
	}
	l := &FixedShare{eta: eta, alpha: alpha, next: make([]float64, d)}
	l.state.X, _ = priorOn(d, nil)
	l.text = fmt.Sprintf("fixed-share(d=%d, eta=%v, alpha=%v)", d, eta, alpha)
	return l, nil
}

// NewFixedShareTuned is [NewFixedShare] with the share k/(T − 1) and the rate for T rounds in which
// the best expert changes k times, k from 0 to T − 1, and losses whose range is at most the given
// one. With k = 0 the share is 1/T². SwitchingBound(k) is then at most range·√(C·T/2) with C = ln d
// + k·ln(d/α) + (T − 1 − k)·ln(1/(1 − α)). An update after the last round is an error.
func NewFixedShareTuned(d, rounds, switches int, lossRange float64) (*FixedShare, error) {
	if rounds < 1 {
		return nil, noregret.BadInputf("rounds", "%d: want at least 1", rounds)
	}
	if switches < 0 || switches > rounds-1 {
		return nil, noregret.BadInputf("switches", "%d: want a number from 0 to %d", switches, rounds-1)
	}
	if err := positive("range", lossRange); err != nil {
		return nil, err
	}
	n := float64(rounds)
	alpha := 1 / (1 + float64(n*n))
	if switches > 0 {
		alpha = min(float64(switches)/(n-1), 1-1/n)
	}
	l, err := NewFixedShare(d, 1, alpha)
	if err != nil {
		return nil, err
	}
	// One expert has nothing to learn: any rate does.
	cost := max(l.cost(rounds, switches), 1e-9)
	return newFixedShareFor(d, rounds, math.Sqrt(8*cost/n)/lossRange, alpha)
}

// newFixedShareFor is NewFixedShare for a horizon.
func newFixedShareFor(d, rounds int, eta, alpha float64) (*FixedShare, error) {
	l, err := NewFixedShare(d, eta, alpha)
	if err != nil {
		return nil, err
	}
	l.horizon = rounds
	l.text = fmt.Sprintf("fixed-share(d=%d, eta=%v, alpha=%v, rounds=%d)", d, eta, alpha, rounds)
	return l, nil
}

// Dim implements [Learner].
func (l *FixedShare) Dim() int { return len(l.next) }

// Rounds implements [Counter].
func (l *FixedShare) Rounds() int { return l.state.T }

// Predict implements [Learner].
func (l *FixedShare) Predict() []float64 { return l.state.X }

// Update implements [Learner].
func (l *FixedShare) Update(g []float64) error {
	if _, err := checkVector("gradient", g, l.Dim()); err != nil {
		return err
	}
	if l.horizon > 0 && l.state.T >= l.horizon {
		return noregret.BadInputf("round", "%d: the rate is tuned for %d rounds, and promises nothing after them",
			l.state.T+1, l.horizon)
	}
	width := spread(g)
	if math.IsInf(width, 1) {
		return noregret.BadInputf("gradient", "the difference of its values leaves the range of float64")
	}
	x := l.state.X
	copy(l.next, x)
	if width > 0 { // otherwise only the share moves
		least := g[0]
		for _, v := range g {
			least = min(least, v)
		}
		var total float64
		for i, v := range g {
			l.next[i] *= portable.Exp(-l.eta * (v - least))
			total += l.next[i]
		}
		for i := range l.next {
			l.next[i] /= total
		}
	}
	uniform := 1 / float64(l.Dim())
	for i, v := range l.next {
		l.next[i] = v + float64(l.alpha*(uniform-v))
	}
	l.state.X, l.next = l.next, x
	l.state.Range.addScalar(width)
	l.state.T++
	return nil
}

// cost is the first part of the bound, times η.
func (l *FixedShare) cost(rounds, switches int) float64 {
	d := float64(l.Dim())
	stay := -portable.Log1p(-l.alpha + l.alpha/d)
	return portable.Log(d) + float64(float64(switches)*(portable.Log(d)-portable.Log(l.alpha))) +
		float64(float64(rounds-1-switches)*stay)
}

// SwitchingBound bounds Σ ⟨g_t, x_t⟩ − Σ g_{t,i_t} for every sequence i_1, ..., i_T of experts that
// changes at most the given number of times.
func (l *FixedShare) SwitchingBound(switches int) (float64, error) {
	if switches < 0 {
		return 0, noregret.BadInputf("switches", "%d: want at least 0", switches)
	}
	if l.state.T == 0 {
		return 0, nil
	}
	c := l.cost(l.state.T, min(switches, l.state.T-1))
	return orInf(c/l.eta + float64(l.eta/8*l.state.Range.value())), nil
}

// Bound implements [Bounder].
func (l *FixedShare) Bound(u []float64) (float64, error) {
	if err := checkFinite("comparator", u, l.Dim()); err != nil {
		return 0, err
	}
	if !onSimplex(u) {
		return math.Inf(1), nil
	}
	return l.SwitchingBound(0)
}

// String describes the learner and its options in one line.
func (l *FixedShare) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *FixedShare) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *FixedShare) UnmarshalBinary(data []byte) error {
	return restore(data, l.text, &l.state, func(s *fixedShareState) error {
		if err := checkState(l.Dim(), s.T, s.X); err != nil {
			return err
		}
		if !onSimplex(s.X) {
			return snapshot.Bad("damaged: the weights are not a distribution")
		}
		return nil
	})
}
