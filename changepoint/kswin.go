package changepoint

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/snapshot"
)

// KSWINOptions are the parameters of [NewKSWIN].
type KSWINOptions struct {
	// Alpha in (0, 1) bounds the probability of a false alarm in each step.
	Alpha float64
	// Window ≥ 2·Recent, at most 100,000, is the number of numbers in the window.
	Window int
	// Recent ≥ 2 is the number of recent numbers, and of older ones that they are compared with.
	Recent int
	// Seed determines which of the older numbers are compared.
	Seed uint64
}

// DefaultKSWINOptions are α = 0.005 and a window of 100 numbers, of which 30 are recent.
func DefaultKSWINOptions() KSWINOptions { return KSWINOptions{Alpha: 0.005, Window: 100, Recent: 30} }

// KSWIN is the Kolmogorov–Smirnov window of Raab, Heusinger and Schleif ("Reactive soft prototype
// computing for concept drift streams", Neurocomputing 416, 2020). It detects changes of the whole
// distribution, also of the variance under a fixed mean. In each step it compares the r = Recent
// newest numbers of the window with r others, drawn at random from the older ones without
// replacement, by the largest distance of the two empirical distribution functions,
//
//	D = sup_x |F_recent(x) − F_old(x)|,   alarm at P(D) ≤ α,
//
// where P(D) is the exact two-sided probability of a distance of at least D between two samples of
// r numbers of one continuous distribution (Gnedenko and Korolyuk 1951). The paper's threshold
// √(−ln(α)/r) approximates it. After an alarm only the recent numbers stay in the window. There is
// no alarm before the window is full.
//
// For independent numbers of one distribution the probability of a false alarm is at most α in each
// step. For discrete numbers, such as errors of predictions, it is much smaller, and so is the
// power of the test. A number costs O(Window + r·ln r) time; the memory is O(Window).
type KSWIN struct {
	options  KSWINOptions
	critical int // an alarm needs a distance of critical/r
	s        kswinState

	recent, old []float64 // scratch
}

type kswinState struct {
	Numbers   []float64 // the oldest first
	Generator uint64
}

// mostKSWIN is the largest window.
const mostKSWIN = 100_000

// NewKSWIN returns a detector, or an error of code bad_input that names the option out of range.
func NewKSWIN(o KSWINOptions) (*KSWIN, error) {
	switch {
	case !(o.Alpha > 0 && o.Alpha < 1):
		return nil, noregret.BadInputf("alpha", "%v: want a number in (0, 1)", o.Alpha)
	case o.Recent < 2 || o.Recent > mostKSWIN/2:
		return nil, noregret.BadInputf("recent", "%d: want 2 to %d", o.Recent, mostKSWIN/2)
	case o.Window < 2*o.Recent || o.Window > mostKSWIN:
		return nil, noregret.BadInputf("window", "%d: want %d (twice the %d recent numbers) to %d", o.Window,
			2*o.Recent, o.Recent, mostKSWIN)
	}
	k := &KSWIN{options: o, critical: criticalSteps(o.Recent, o.Alpha)}
	if k.critical > o.Recent {
		return nil,
			noregret.BadInputf("alpha", "%v: no distance of two samples of %d numbers is that improbable; want "+
				"more recent numbers or a larger alpha", o.Alpha, o.Recent)
	}
	k.Reset()
	return k, nil
}

// criticalSteps returns the smallest k with P(D ≥ k/r) ≤ α, r + 1 if there is none.
func criticalSteps(r int, alpha float64) int {
	for k := 1; k <= r; k++ {
		if distanceProbability(r, k) <= alpha {
			return k
		}
	}
	return r + 1
}

// distanceProbability returns the probability that the empirical distribution functions of two
// samples of r numbers of one continuous distribution differ by k/r or more somewhere: 2·Σ_{j≥1}
// (−1)^(j−1)·C(2r, r−jk)/C(2r, r).
func distanceProbability(r, k int) float64 {
	sum, sign := 0.0, 2.0
	ratio, at := 1.0, 0 // C(2r, r−at)/C(2r, r)
	for j := 1; j*k <= r; j++ {
		for ; at < j*k; at++ {
			ratio *= float64(r-at) / float64(r+at+1)
		}
		sum += float64(sign * ratio)
		sign = -sign
	}
	return min(sum, 1)
}

// Add implements [Detector].
func (k *KSWIN) Add(x float64) (changed bool, err error) {
	if err := checkNumber(x); err != nil {
		return false, err
	}
	s, n := &k.s, k.options.Window
	if len(s.Numbers) == n {
		copy(s.Numbers, s.Numbers[1:])
		s.Numbers = s.Numbers[:n-1]
	}
	s.Numbers = append(s.Numbers, x)
	if len(s.Numbers) < n {
		return false, nil
	}
	older, recent := s.Numbers[:n-k.options.Recent], s.Numbers[n-k.options.Recent:]
	k.draw(older)
	k.recent = append(k.recent[:0], recent...)
	slices.Sort(k.old)
	slices.Sort(k.recent)
	if steps(k.old, k.recent) < k.critical {
		return false, nil
	}
	copy(s.Numbers, recent)
	s.Numbers = s.Numbers[:k.options.Recent]
	return true, nil
}

// draw puts Recent of the older numbers in k.old, drawn uniformly without replacement by selection
// sampling.
func (k *KSWIN) draw(older []float64) {
	generator := random.SplitMix64(k.s.Generator)
	k.old = k.old[:0]
	wanted := uint64(k.options.Recent)
	for i, x := range older {
		if high, _ := bits.Mul64(generator.Uint64(), uint64(len(older)-i)); high < wanted {
			k.old = append(k.old, x)
			wanted--
		}
	}
	k.s.Generator = uint64(generator)
}

// steps returns the largest distance of the empirical distribution functions of two sorted samples
// of the same size, times the size.
func steps(a, b []float64) int {
	i, j, most := 0, 0, 0
	for i < len(a) && j < len(b) {
		x := min(a[i], b[j])
		for i < len(a) && a[i] == x {
			i++
		}
		for j < len(b) && b[j] == x {
			j++
		}
		most = max(most, i-j, j-i)
	}
	return most
}

// Critical returns the smallest distance that raises an alarm.
func (k *KSWIN) Critical() float64 { return float64(k.critical) / float64(k.options.Recent) }

// Length returns the number of numbers in the window.
func (k *KSWIN) Length() int { return len(k.s.Numbers) }

// Reset implements [Detector].
func (k *KSWIN) Reset() {
	k.s = kswinState{Numbers: k.s.Numbers[:0], Generator: k.options.Seed}
}

// String describes the detector in one line.
func (k *KSWIN) String() string {
	o := &k.options
	return fmt.Sprintf("kswin(alpha=%v, window=%d, recent=%d, seed=%d)", o.Alpha, o.Window, o.Recent, o.Seed)
}

// MarshalBinary implements [Detector].
func (k *KSWIN) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, k.String(), &k.s)
}

// UnmarshalBinary implements [Detector]. It returns an error for a snapshot with other options.
func (k *KSWIN) UnmarshalBinary(data []byte) error {
	var s kswinState
	if err := snapshot.Open(data, snapshotMagic, k.String(), &s); err != nil {
		return err
	}
	if len(s.Numbers) > k.options.Window {
		return snapshot.Bad("damaged: %d numbers in a window of %d", len(s.Numbers), k.options.Window)
	}
	for _, x := range s.Numbers {
		if !(math.Abs(x) <= largest) {
			return snapshot.Bad("damaged: %v in the window", x)
		}
	}
	k.s = s
	return nil
}
