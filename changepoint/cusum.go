package changepoint

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
)

// CUSUMOptions are the parameters of [NewCUSUM].
type CUSUMOptions struct {
	// Mean and Deviation > 0 are the mean and the standard deviation before a change.
	Mean, Deviation float64
	// Drift k ≥ 0 is subtracted in each step, in standard deviations. Half of the shift to detect
	// is optimal.
	Drift float64
	// Threshold h > 0 is the value of a sum that raises the alarm, in standard deviations.
	Threshold float64
	// Clip > 0 bounds the contribution of one number, in standard deviations, so that a single
	// outlier is not taken for a change. It must be above Drift. +Inf means no clipping.
	Clip float64
}

// DefaultCUSUMOptions are those for a shift of one standard deviation: drift ½, threshold 5, no
// clip, mean 0 and deviation 1.
func DefaultCUSUMOptions() CUSUMOptions {
	return CUSUMOptions{Deviation: 1, Drift: 0.5, Threshold: 5, Clip: math.Inf(1)}
}

// CUSUM is the two-sided cumulative sum of Page ("Continuous inspection schemes", Biometrika 41,
// 1954). With z = (x − Mean)/Deviation, clipped to [−Clip, Clip],
//
//	S⁺ ← max(0, S⁺ + z − k),   S⁻ ← max(0, S⁻ − z − k),
//
// and the alarm is raised when max(S⁺, S⁻) ≥ h; then both sums are reset to 0. Of all tests with
// the same rate of false alarms, the one-sided sum has the smallest worst-case delay for a shift by
// 2k of a normal sequence (Moustakides 1986). O(1) time and memory.
type CUSUM struct {
	options CUSUMOptions
	s       cusumState
}

type cusumState struct{ Up, Down float64 }

// NewCUSUM returns a detector, or an error of code bad_input that names the option out of range.
func NewCUSUM(o CUSUMOptions) (*CUSUM, error) {
	if err := checkNumber(o.Mean); err != nil {
		return nil, noregret.BadInputf("mean", "%v: want a finite number, of size at most %v", o.Mean, largest)
	}
	if err := checkPositive("deviation", o.Deviation); err != nil {
		return nil, err
	}
	if err := checkDrift(o.Drift); err != nil {
		return nil, err
	}
	if err := checkPositive("threshold", o.Threshold); err != nil {
		return nil, err
	}
	if !(o.Clip > o.Drift) {
		return nil, noregret.BadInputf("clip", "%v: want a number above the drift %v, or no sum can rise",
			o.Clip,
			o.Drift)
	}
	return &CUSUM{options: o}, nil
}

// CUSUMStep returns the sums after a step by z with this drift: max(0, up + z − drift) and max(0,
// down − z − drift). It is for callers that keep the sums of many sequences.
func CUSUMStep(up, down, z, drift float64) (newUp, newDown float64) {
	return max(up+z-drift, 0), max(down-z-drift, 0)
}

// Add implements [Detector].
func (c *CUSUM) Add(x float64) (changed bool, err error) {
	if err := checkNumber(x); err != nil {
		return false, err
	}
	o := &c.options
	z := min(max((x-o.Mean)/o.Deviation, -o.Clip), o.Clip)
	c.s.Up, c.s.Down = CUSUMStep(c.s.Up, c.s.Down, z, o.Drift)
	if max(c.s.Up, c.s.Down) >= o.Threshold {
		c.Reset()
		return true, nil
	}
	return false, nil
}

// Sums returns S⁺ and S⁻, in standard deviations: the evidence for a rise and for a fall.
func (c *CUSUM) Sums() (up, down float64) { return c.s.Up, c.s.Down }

// Reset implements [Detector].
func (c *CUSUM) Reset() { c.s = cusumState{} }

// FalseAlarm returns the average number of normal numbers before a false alarm, by Siegmund's
// approximation ("Sequential Analysis", 1985, equation 2.58), for a threshold of 2 or more and
// without clip: (e^{2kb} − 2kb − 1)/(2k²) with b = h + 1.166 for either side, half of it for both.
func (c *CUSUM) FalseAlarm() float64 { return averageRun(-c.options.Drift, c.options.Threshold) / 2 }

// Delay returns the average number of normal numbers from a shift of the mean by shift > Drift
// standard deviations to the alarm, by the same approximation and from sums of 0.
func (c *CUSUM) Delay(shift float64) float64 {
	return averageRun(shift-c.options.Drift, c.options.Threshold)
}

// averageRun is the average run length of a one-sided sum whose steps have the mean d and variance
// 1.
func averageRun(d, h float64) float64 {
	b := h + 1.166
	if d == 0 {
		return float64(b * b)
	}
	x := float64(2 * float64(d*b))
	return (portable.Exp(-x) + x - 1) / float64(2*float64(d*d))
}

// String describes the detector in one line.
func (c *CUSUM) String() string {
	o := &c.options
	return fmt.Sprintf("cusum(mean=%v, deviation=%v, drift=%v, threshold=%v, clip=%v)", o.Mean, o.Deviation, o.Drift,
		o.Threshold, o.Clip)
}

// MarshalBinary implements [Detector].
func (c *CUSUM) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, c.String(), &c.s)
}

// UnmarshalBinary implements [Detector]. It returns an error for a snapshot with other options.
func (c *CUSUM) UnmarshalBinary(data []byte) error {
	var s cusumState
	if err := snapshot.Open(data, snapshotMagic, c.String(), &s); err != nil {
		return err
	}
	if !(s.Up >= 0 && s.Up < c.options.Threshold && s.Down >= 0 && s.Down < c.options.Threshold) {
		return snapshot.Bad("damaged: sums of %v and %v below a threshold of %v", s.Up, s.Down,
			c.options.Threshold)
	}
	c.s = s
	return nil
}
