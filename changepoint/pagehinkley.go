package changepoint

import (
	"fmt"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/snapshot"
)

// PageHinkleyOptions are the parameters of [NewPageHinkley].
type PageHinkleyOptions struct {
	// Drift δ ≥ 0 is subtracted in each step, in the units of the sequence. Smaller changes of the
	// mean are ignored.
	Drift float64
	// Threshold λ > 0 is the value of a sum that raises the alarm, in the units of the sequence.
	Threshold float64
	// Rounds ≥ 1 is the number of numbers before the first possible alarm, because the mean of few
	// numbers is uncertain.
	Rounds int
}

// DefaultPageHinkleyOptions are those for numbers of standard deviation 1: drift ½, threshold 8,
// and 30 numbers first.
func DefaultPageHinkleyOptions() PageHinkleyOptions {
	return PageHinkleyOptions{Drift: 0.5, Threshold: 8, Rounds: 30}
}

// PageHinkley is the two-sided test of Page (1954) and Hinkley ("Inference about the change-point
// from cumulative sum tests", Biometrika 58, 1971) with an estimated mean. With the running mean x̄
// of all numbers since the last change,
//
//	m_t = Σ_{s≤t} (x_s − x̄_s − δ),   alarm at m_t − min_{s≤t} m_s ≥ λ,
//
// and likewise for falls. After an alarm it starts again, without a mean. O(1) time and memory.
type PageHinkley struct {
	options PageHinkleyOptions
	s       pageHinkleyState
}

type pageHinkleyState struct {
	Count    int
	Mean     float64
	Up, Down float64 // m_t − min m_s, for rises and for falls
}

// NewPageHinkley returns a detector, or an error of code bad_input that names the option out of
// range.
func NewPageHinkley(o PageHinkleyOptions) (*PageHinkley, error) {
	if err := checkDrift(o.Drift); err != nil {
		return nil, err
	}
	if err := checkPositive("threshold", o.Threshold); err != nil {
		return nil, err
	}
	if o.Rounds < 1 {
		return nil, noregret.BadInputf("rounds", "%d: want at least 1", o.Rounds)
	}
	return &PageHinkley{options: o}, nil
}

// Add implements [Detector].
func (p *PageHinkley) Add(x float64) (changed bool, err error) {
	if err := checkNumber(x); err != nil {
		return false, err
	}
	s := &p.s
	s.Count++
	s.Mean += (x - s.Mean) / float64(s.Count)
	s.Up, s.Down = CUSUMStep(s.Up, s.Down, x-s.Mean, p.options.Drift)
	if s.Count >= p.options.Rounds && max(s.Up, s.Down) >= p.options.Threshold {
		p.Reset()
		return true, nil
	}
	return false, nil
}

// Mean returns the mean of the numbers since the last change, 0 if there are none.
func (p *PageHinkley) Mean() float64 { return p.s.Mean }

// Reset implements [Detector].
func (p *PageHinkley) Reset() { p.s = pageHinkleyState{} }

// String describes the detector in one line.
func (p *PageHinkley) String() string {
	return fmt.Sprintf("page-hinkley(drift=%v, threshold=%v, rounds=%d)", p.options.Drift, p.options.Threshold,
		p.options.Rounds)
}

// MarshalBinary implements [Detector].
func (p *PageHinkley) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, p.String(), &p.s)
}

// UnmarshalBinary implements [Detector]. It returns an error for a snapshot with other options.
func (p *PageHinkley) UnmarshalBinary(data []byte) error {
	var s pageHinkleyState
	if err := snapshot.Open(data, snapshotMagic, p.String(), &s); err != nil {
		return err
	}
	if s.Count < 0 || checkNumber(s.Mean) != nil || !(s.Up >= 0) || !(s.Down >= 0) || s.Up-s.Up != 0 ||
		s.Down-s.Down != 0 {
		return snapshot.Bad("damaged: %+v", s)
	}
	p.s = s
	return nil
}
