package experts

import (
	"encoding"
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/compensated"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/snapshot"
)

// Learner is a learner on the simplex as [Randomized] needs it: oco.AdaHedge and every other
// oco.Learner that plays there.
type Learner interface {
	Dim() int
	Predict() []float64
	Update(g []float64) error
}

type (
	bounder interface {
		Bound(u []float64) (float64, error)
	}
	snapshotter interface {
		encoding.BinaryMarshaler
		encoding.BinaryUnmarshaler
	}
)

// RandomizedOptions are the parameters of [NewRandomized]. Begin with [DefaultRandomizedOptions].
type RandomizedOptions struct {
	// Seed is that of the draws. Equal seeds give equal runs.
	Seed uint64
	// Low and High are the range of the losses, finite numbers, Low < High.
	Low, High float64
}

// DefaultRandomizedOptions are losses in [0, 1].
func DefaultRandomizedOptions(seed uint64) RandomizedOptions {
	return RandomizedOptions{Seed: seed, High: 1}
}

// Randomized chooses among experts at random, from the weights of a learner on the simplex (Freund
// and Schapire 1997; Orabona 2019, Algorithm 6.3 and section 6.8): i_t is drawn by the inverse
// distribution function at a number of the seeded source, u: it is the first i with x_{t,1} + ... +
// x_{t,i} > u, and the last with a weight above 0 where rounding leaves none. The learner is then
// given the losses of all experts.
//
// A round costs O(d) beyond the learner's; memory is O(d). It is deterministic given its seed, and
// not safe for concurrent use.
type Randomized struct {
	learner   Learner
	low, high float64
	seed      uint64
	source    *random.Source
	vertex    []float64
	rounds    int
	choice    int // −1 before the draw
	paid      compensated.Sum
	text      string
}

// state is what a snapshot holds.
type state struct {
	Rounds, Choice int
	Paid           compensated.Sum
	Source         []byte
	Learner        []byte
}

const snapshotMagic = "noregret-experts-2\n"

// NewRandomized wraps a learner whose points are in the probability simplex, which is checked in
// every round. It returns an error of code bad_input if the learner is nil or begins outside the
// simplex, or the range is empty or not finite.
func NewRandomized(learner Learner, o RandomizedOptions) (*Randomized, error) {
	if learner == nil {
		return nil, noregret.BadInputf("learner", "nil: want a learner on the simplex")
	}
	if !(o.Low < o.High) || math.IsInf(o.High-o.Low, 1) {
		return nil, noregret.BadInputf("range",
			"[%v, %v]: want finite numbers, the first below the second", o.Low, o.High)
	}
	d := learner.Dim()
	if d < 1 {
		return nil, noregret.BadInputf("learner", "its dimension is %d: want at least 1", d)
	}
	r := &Randomized{
		learner: learner, low: o.Low, high: o.High, seed: o.Seed, source: random.New(o.Seed, "experts"),
		vertex: make([]float64, d), choice: -1,
	}
	name := fmt.Sprintf("%T(%d)", learner, d)
	if s, ok := learner.(fmt.Stringer); ok {
		name = s.String()
	}
	r.text = fmt.Sprintf("randomized(%s, seed=%d, range=[%v, %v])", name, o.Seed, o.Low, o.High)
	if err := r.check(learner.Predict()); err != nil {
		return nil, err
	}
	return r, nil
}

// check refuses points outside the simplex.
func (r *Randomized) check(x []float64) error {
	if len(x) != len(r.vertex) {
		return noregret.BadInputf("learner", "its point has %d values for %d experts", len(x),
			len(r.vertex))
	}
	var s float64
	for i, v := range x {
		if !(v >= -1e-12) {
			return noregret.BadInputf("learner", "its point has %v at %d: want weights of at least 0",
				v, i)
		}
		s += v
	}
	if !(math.Abs(s-1) <= 1e-9) {
		return noregret.BadInputf("learner",
			"its point has sum %v: want a point of the simplex, of sum 1", s)
	}
	return nil
}

// Dim is the number of experts.
func (r *Randomized) Dim() int { return len(r.vertex) }

// Rounds is the number of rounds finished.
func (r *Randomized) Rounds() int { return r.rounds }

// Distribution is x_t, what the running round's expert is drawn from. The slice is the learner's:
// read it, do not keep it.
func (r *Randomized) Distribution() []float64 { return r.learner.Predict() }

// Draw is i_t, from 0 to d−1. It is drawn once a round, by the first call; further calls return the
// same.
func (r *Randomized) Draw() int {
	if r.choice >= 0 {
		return r.choice
	}
	u := r.source.Float64()
	x := r.learner.Predict()
	sum, last := 0.0, 0
	for i, v := range x {
		if !(v > 0) {
			continue
		}
		last = i
		if sum += v; u < sum {
			break
		}
	}
	r.choice = last
	return last
}

// Predict is the vertex e_{i_t} of the simplex, for play in package regret. The slice belongs to
// the player and is good until the next call.
func (r *Randomized) Predict() []float64 {
	i := r.Draw()
	clear(r.vertex)
	r.vertex[i] = 1
	return r.vertex
}

// Update ends the round with the losses of all experts, in the range of the options; it pays that
// of the draw (which is made if it was not). Losses out of range, or of the wrong number, are
// refused with an error of code bad_input, and nothing but the draw has happened then.
func (r *Randomized) Update(g []float64) error {
	if len(g) != len(r.vertex) {
		return noregret.BadInputf("losses", "there are %d for %d experts", len(g), len(r.vertex))
	}
	for i, v := range g {
		if !(v >= r.low && v <= r.high) {
			return noregret.BadInputf(fmt.Sprintf("losses[%d]", i), "%v: want a number from %v to %v",
				v, r.low, r.high)
		}
	}
	if err := r.check(r.learner.Predict()); err != nil {
		return err
	}
	i := r.Draw()
	if err := r.learner.Update(g); err != nil {
		return err
	}
	r.paid.Add(g[i])
	r.rounds++
	r.choice = -1
	return nil
}

// Loss is Σ g_{t,i_t}, what has been paid.
func (r *Randomized) Loss() float64 { return r.paid.Value() }

// Bound is the learner's bound against u, one on the expected regret E[Σ g_{t,i_t} − ⟨g_t, u⟩]; a
// vertex u is an expert. +Inf if the learner has none.
func (r *Randomized) Bound(u []float64) (float64, error) {
	if b, ok := r.learner.(bounder); ok {
		return b.Bound(u)
	}
	return math.Inf(1), nil
}

// HighProbabilityBound is Bound(u) + (High − Low)·√(2T·ln(1/δ)): with probability at least 1 −
// delta, delta in (0, 1), the regret against a u fixed beforehand, or against every u at once where
// Bound holds for the learner on every sequence, is within it (Azuma's inequality for the
// differences g_{t,i_t} − ⟨g_t, x_t⟩, whose sum does not depend on u).
func (r *Randomized) HighProbabilityBound(u []float64, delta float64) (float64, error) {
	if !(delta > 0 && delta < 1) {
		return 0, noregret.BadInputf("delta", "%v: want a number above 0 and below 1", delta)
	}
	b, err := r.Bound(u)
	if err != nil {
		return 0, err
	}
	return b + float64((r.high-r.low)*math.Sqrt(2*float64(r.rounds)*-portable.Log(delta))), nil
}

// String describes the player and its options in one line.
func (r *Randomized) String() string { return r.text }

// MarshalBinary saves the learner's state and that of the source of the draws. It is an error for
// learners that have no snapshot.
func (r *Randomized) MarshalBinary() ([]byte, error) {
	l, ok := r.learner.(snapshotter)
	if !ok {
		return nil, noregret.Errorf(noregret.Usage, "snapshot", "%T: this learner cannot be saved", r.learner)
	}
	s := state{Rounds: r.rounds, Choice: r.choice, Paid: r.paid}
	var err error
	if s.Learner, err = l.MarshalBinary(); err != nil {
		return nil, err
	}
	if s.Source, err = r.source.MarshalBinary(); err != nil {
		return nil, err
	}
	return snapshot.Seal(snapshotMagic, r.text, &s)
}

// UnmarshalBinary restores a snapshot of a player with the same options. Continuing is
// bit-identical. A snapshot that is refused changes nothing.
func (r *Randomized) UnmarshalBinary(data []byte) error {
	l, ok := r.learner.(snapshotter)
	if !ok {
		return noregret.Errorf(noregret.Usage, "snapshot", "%T: this learner cannot be restored", r.learner)
	}
	var s state
	if err := snapshot.Open(data, snapshotMagic, r.text, &s); err != nil {
		return err
	}
	if s.Rounds < 0 || s.Choice < -1 || s.Choice >= len(r.vertex) || s.Paid.Value()-s.Paid.Value() != 0 {
		return snapshot.Bad("damaged: %d rounds, choice %d of %d experts, loss %v", s.Rounds, s.Choice,
			len(r.vertex), s.Paid)
	}
	source := random.New(r.seed, "experts")
	if err := source.UnmarshalBinary(s.Source); err != nil {
		return snapshot.Bad("damaged: %w", err)
	}
	if err := l.UnmarshalBinary(s.Learner); err != nil {
		return err
	}
	r.rounds, r.choice, r.paid, r.source = s.Rounds, s.Choice, s.Paid, source
	return nil
}
