package confident

import (
	"math"

	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/mixed"
	"github.com/noregret/noregret/pasto/internal/round"
)

// State is what a [Learner] keeps, as a snapshot holds it.
type State struct {
	T           int
	Began       int  // the round of the last change
	Next        int  // the round in which to solve again
	AllObserved bool // every arm has been served at some time
	Unobserved  int  // active arms without data
	Found       int  // changes
	Live        int
	Active      []bool
	Model       mixed.State
	Width       float64   // what p⁺ promises beyond p⁻, as a part of the objective's range
	Up, Down    []float64 // p⁺ and p⁻
	Safe        []float64 // what is served where guardrails are promised, beside what is explored
	Serving     []float64
}

// newState is the state at the start: mixtures are uniform, or the control arm if there is one.
func newState(arms, m, control int) State {
	s := State{Width: 1}
	s.grow(arms, m)
	for k := range arms {
		for _, p := range s.mixtures() {
			if control < 0 {
				(*p)[k] = 1 / float64(arms)
			} else if k == control {
				(*p)[k] = 1
			}
		}
	}
	return s
}

// grow adds arms never served, of share 0.
func (s *State) grow(arms, m int) {
	s.Live += arms
	s.Unobserved += arms
	for range arms {
		s.Active = append(s.Active, true)
	}
	for _, p := range s.mixtures() {
		*p = append(*p, make([]float64, arms)...)
	}
	s.Model.Grow(len(s.Active), m)
}

// retire takes arm k out of what is solved for.
func (s *State) retire(k int) {
	s.Active[k] = false
	s.Live--
	for _, p := range [][]float64{s.Up, s.Down, s.Safe} {
		round.Drop(p, k, s.Active)
	}
}

// mixtures lists the mixtures.
func (s *State) mixtures() []*[]float64 { return []*[]float64{&s.Up, &s.Down, &s.Safe, &s.Serving} }

// mostRounds is more than any learner lives to see.
const mostRounds = min(1<<53, math.MaxInt)

// Fits reports whether s is a state of n arms and m metrics that a learner can be in, which may
// discount old rounds and plans by a model of the given state, whose arms and metrics are as many.
func (s *State) Fits(n, m int, discounts bool, model *mixed.State) bool {
	if n < 1 || len(s.Active) != n || s.T < 0 || s.T > mostRounds || s.Next < 0 || s.Next > mostRounds ||
		s.Began < 0 || s.Began > s.T || s.Found < 0 || s.Found > mostRounds || !(s.Width >= 0 && s.Width <= 1) ||
		!s.Model.Fits(n, m, s.T, discounts) {
		return false
	}
	for _, p := range s.mixtures() {
		if check.Mixture("", *p, n) != nil {
			return false
		}
	}
	live, unobserved := s.count(model)
	return live > 0 && s.Live == live && s.Unobserved == unobserved
}

// count returns the numbers of active arms and of those of them without data in a model.
func (s *State) count(of *mixed.State) (live, unobserved int) {
	for k, active := range s.Active {
		if active {
			live++
			if of.Rounds(k) == 0 {
				unobserved++
			}
		}
	}
	return live, unobserved
}

// MarshalBinary implements [pasto.Learner].
func (l *Learner) MarshalBinary() ([]byte, error) { return Inside{l}.Seal(l.text, &l.s) }

// UnmarshalBinary implements [pasto.Learner].
func (l *Learner) UnmarshalBinary(data []byte) error {
	var s State
	if err := (Inside{l}).Open(data, l.text, &s); err != nil {
		return err
	}
	n, m := len(s.Active), l.objective.Dim()
	if !s.Fits(n, m, false, &s.Model) {
		return snapshot.Bad("damaged: its parts do not fit %d arms and %d metrics, or each other", n, m)
	}
	Inside{l}.Resume(s)
	return nil
}
