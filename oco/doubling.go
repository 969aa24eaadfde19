package oco

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/snapshot"
)

// Doubling makes a learner that must know its horizon any-time, by the doubling trick
// (Cesa-Bianchi, Freund, Haussler, Helmbold, Schapire and Warmuth 1997): phase k = 0, 1, ... has
// 2^k rounds, for which a new learner is made.
//
// Guarantee (Bound): the sum of the phases' bounds. For learners of regret c·√T it is at most
// √2/(√2 − 1)·c·√T, 3.42 times that for a known horizon. A round costs that of the current learner;
// the learners of finished phases are kept for the bound, log₂ T of them.
type Doubling struct {
	make   func(rounds int) (Learner, error)
	name   string
	phases []Learner
	rounds int
	dense  []float64
	failed error
}

type doublingState struct {
	Rounds int
	Phases [][]byte
}

// NewDoubling returns a learner that calls the function at the start of each phase for a learner of
// that many rounds. All learners must have the dimension of the first. Snapshots contain the name,
// which stands for the function.
func NewDoubling(name string, make func(rounds int) (Learner, error)) (*Doubling, error) {
	if make == nil {
		return nil, noregret.BadInputf("make", "nil: want a function")
	}
	l := &Doubling{make: make, name: name}
	if err := l.begin(1); err != nil {
		return nil, err
	}
	return l, nil
}

// begin makes the learner of the next phase.
func (l *Doubling) begin(rounds int) error {
	p, err := l.make(rounds)
	if err != nil {
		return fmt.Errorf("a phase of %d rounds: %w", rounds, err)
	}
	if p == nil || len(l.phases) > 0 && p.Dim() != l.Dim() {
		return noregret.BadInputf("make", "the learner for %d rounds is nil or of another dimension", rounds)
	}
	l.phases = append(l.phases, p)
	return nil
}

// running is the learner of the current phase.
func (l *Doubling) running() Learner { return l.phases[len(l.phases)-1] }

// Dim implements [Learner].
func (l *Doubling) Dim() int { return l.phases[0].Dim() }

// Rounds implements [Counter].
func (l *Doubling) Rounds() int { return l.rounds }

// Predict implements [Learner].
func (l *Doubling) Predict() []float64 { return l.running().Predict() }

// At implements [SparseLearner].
func (l *Doubling) At(i int) float64 { return at(l.running(), i) }

// Hint implements [Hinted].
func (l *Doubling) Hint(g []float64) error { return forwardHint(l.running(), g) }

// Features implements [FeatureLearner].
func (l *Doubling) Features(z []float64) error { return forwardFeatures(l.running(), z) }

func (l *Doubling) checkHint(h []float64) error { return checkHint(l.running(), h) }

func (l *Doubling) checkFeatures(z []float64) error { return checkFeatures(l.running(), z) }

// Update implements [Learner]. If the next phase's learner cannot be made, this and every later
// call returns the error.
func (l *Doubling) Update(g []float64) error {
	if l.failed != nil {
		return l.failed
	}
	if err := l.running().Update(g); err != nil {
		return err
	}
	l.end()
	return nil
}

// UpdateCurved implements [Curved].
func (l *Doubling) UpdateCurved(g []float64, mu float64) error {
	if l.failed != nil {
		return l.failed
	}
	if err := forwardCurved(l.running(), g, mu); err != nil {
		return err
	}
	l.end()
	return nil
}

// UpdateSparse implements [SparseLearner].
func (l *Doubling) UpdateSparse(g Sparse) error {
	if l.failed != nil {
		return l.failed
	}
	if _, ok := l.running().(SparseLearner); !ok && l.dense == nil {
		l.dense = make([]float64, l.Dim())
	}
	if err := forwardSparse(l.running(), g, l.dense); err != nil {
		return err
	}
	l.end()
	return nil
}

// end ends the round, and the phase after rounds 1, 3, 7, ...
func (l *Doubling) end() {
	l.rounds++
	if n := l.rounds + 1; n&(n-1) == 0 {
		l.failed = l.begin(n)
	}
}

// Bound implements [Bounder].
func (l *Doubling) Bound(u []float64) (float64, error) {
	if err := checkFinite("comparator", u, l.Dim()); err != nil {
		return 0, err
	}
	var total sum
	for _, p := range l.phases {
		b, ok := p.(Bounder)
		if !ok {
			return math.Inf(1), nil
		}
		v, err := b.Bound(u)
		if err != nil {
			return 0, err
		}
		total.add(v)
	}
	return orInf(total.value()), nil
}

// String describes the learner and its options in one line.
func (l *Doubling) String() string { return fmt.Sprintf("doubling(%s, d=%d)", l.name, l.Dim()) }

// MarshalBinary implements [Snapshotter]; the learners must implement it, too.
func (l *Doubling) MarshalBinary() ([]byte, error) {
	if l.failed != nil {
		return nil, l.failed
	}
	s := doublingState{Rounds: l.rounds}
	for _, p := range l.phases {
		b, err := marshalInner(p)
		if err != nil {
			return nil, err
		}
		s.Phases = append(s.Phases, b)
	}
	return snapshot.Seal(snapshotMagic, l.String(), &s)
}

// UnmarshalBinary implements [Snapshotter]. It makes the phases' learners anew.
func (l *Doubling) UnmarshalBinary(data []byte) error {
	var s doublingState
	if err := snapshot.Open(data, snapshotMagic, l.String(), &s); err != nil {
		return err
	}
	if s.Rounds < 0 || len(s.Phases) != bits.Len(uint(s.Rounds)+1) {
		return snapshot.Bad("damaged: it has %d phases after %d rounds", len(s.Phases), s.Rounds)
	}
	other := &Doubling{make: l.make, name: l.name, rounds: s.Rounds}
	for k, b := range s.Phases {
		if err := other.begin(1 << k); err != nil {
			return err
		}
		if err := unmarshalInner(other.running(), b); err != nil {
			return err
		}
	}
	*l = *other
	return nil
}
