package confident

import (
	"math"

	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/round"
)

// state is what a [Learner] keeps, as a snapshot holds it. Invariants: Live and Unobserved count
// active arms; Up, Down and Serving are distributions over the arms.
type state struct {
	T           int
	Began       int  // the round of the last change
	Next        int  // the round in which to solve again
	AllObserved bool // every arm has been observed at some time
	Live        int
	Unobserved  int // active arms without data
	Found       int // changes
	Active      []bool
	Sums        sums
	Width       float64   // what p⁺ promises beyond p⁻, as a part of the range of the arms' rewards
	Up, Down    []float64 // p⁺ and p⁻
	Serving     []float64
}

// newState is the state at the start, with uniform mixtures.
func newState(arms, metrics int) state {
	s := state{Width: 1}
	s.grow(arms, metrics)
	for _, p := range s.mixtures() {
		for k := range *p {
			(*p)[k] = 1 / float64(arms)
		}
	}
	return s
}

// grow adds arms without data, of share 0.
func (s *state) grow(arms, metrics int) {
	s.Live += arms
	s.Unobserved += arms
	for range arms {
		s.Active = append(s.Active, true)
	}
	for _, p := range s.mixtures() {
		*p = append(*p, make([]float64, arms)...)
	}
	s.Sums.lists().Grow(len(s.Active), metrics)
}

// begin begins arms anew that have changed in this round.
func (s *state) begin(arms []int) {
	clear(s.Sums.Since)
	for _, k := range arms {
		s.Sums.forget(k)
	}
	s.Unobserved += len(arms)
	s.Found += len(arms)
	s.Began = s.T
}

// retire takes arm k out of the mixtures.
func (s *state) retire(k int) {
	s.Active[k] = false
	s.Live--
	if s.Sums.Rounds[k] == 0 {
		s.Unobserved--
	}
	s.AllObserved = s.AllObserved || s.Unobserved == 0
	for _, p := range s.mixtures() {
		round.Drop(*p, k, s.Active)
	}
}

// mixtures lists the mixtures.
func (s *state) mixtures() []*[]float64 { return []*[]float64{&s.Up, &s.Down, &s.Serving} }

// mostRounds is more than any learner lives to see.
const mostRounds = min(1<<53, math.MaxInt)

// fits reports whether s is a state of n arms and m metrics that a learner can be in.
func (s *state) fits(n, m int) bool {
	if n < 1 || s.T < 0 || s.T > mostRounds || s.Next < 0 || s.Next > mostRounds || s.Began < 0 || s.Began > s.T ||
		s.Found < 0 || s.Found > mostRounds || !(s.Width >= 0 && s.Width <= 1) || !s.Sums.fits(n, m, s.T) {
		return false
	}
	live, unobserved := 0, 0
	for k, active := range s.Active {
		if active {
			live++
			if s.Sums.Rounds[k] == 0 {
				unobserved++
			}
		}
	}
	for _, p := range s.mixtures() {
		if check.Mixture("", *p, n) != nil {
			return false
		}
	}
	return live > 0 && s.Live == live && s.Unobserved == unobserved
}

// fits reports whether s are sums of n arms and m metrics over no more than so many rounds.
func (s *sums) fits(n, m, rounds int) bool {
	if !s.lists().Fit(n, m) || !(s.WithinFree >= 0) || math.IsInf(s.WithinFree, 1) {
		return false
	}
	free := 0.0
	for k, count := range s.Rounds {
		free += s.Free[k]
		if count > float64(rounds) || (count > 0) != (s.Weight[k] > 0) || s.Free[k] > count ||
			!check.AtMost(s.Since[k], s.Weight[k]) {
			return false
		}
		for _, r := range append(s.recents(), &s.All) {
			if (count > 0) != (r.Weight[k] > 0) || !check.AtMost(r.Weight[k], s.Weight[k]) {
				return false
			}
		}
	}
	return free == s.Freedom
}

// format is that of the state in snapshots.
const format = ", state 1: "

// MarshalBinary implements [pasto.Learner].
func (l *Learner) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(round.SnapshotMagic, l.text+format+round.Identity(l.objective), &l.s)
}

// UnmarshalBinary implements [pasto.Learner].
func (l *Learner) UnmarshalBinary(data []byte) error {
	var s state
	if err := snapshot.Open(data, round.SnapshotMagic, l.text+format+round.Identity(l.objective), &s); err != nil {
		return err
	}
	if n, m := len(s.Active), len(l.metrics); !s.fits(n, m) {
		return snapshot.Bad("damaged: its parts do not fit %d arms and %d metrics, or each other", n, m)
	}
	l.s = s
	l.s.Sums.refresh()
	l.program.Reset(l.objective, len(s.Active))
	l.sampler.Reset()
	return nil
}
