package forget

import (
	"encoding"
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/changepoint"
	"github.com/noregret/noregret/internal/snapshot"
)

// Trigger decides when a learner is restarted. [Every] restarts after a fixed number of rounds,
// [Detect] and [DetectRise] when a detector finds a change, and [Never] not at all.
type Trigger interface {
	// Check returns the error that Add(x) would return, and changes nothing.
	Check(x float64) error
	// Add takes the loss of the round that has just ended, or another statistic of it, and reports
	// whether the learner is to be restarted before the next round. It returns an error of code
	// bad_input, and changes nothing, for a number that it does not accept. After it has reported a
	// restart a trigger of this package is at its start, and the wrappers of package drift reset
	// any: what it knows is about a learner that is no longer there.
	Add(x float64) (restart bool, err error)
	// Reset returns the trigger to its start.
	Reset()
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

const snapshotMagic = "noregret-forget-2\n"

// largestLoss bounds the losses of rounds.
const largestLoss = 1e100

// checkLoss returns an error if x is not a finite number of size at most 1e100.
func checkLoss(place string, x float64) error {
	if math.Abs(x) <= largestLoss {
		return nil
	}
	return noregret.BadInputf(place, "%v: want a finite number, of size at most %v", x, largestLoss)
}

// interval is the trigger of [Every] and [Never].
type interval struct {
	rounds int // 0 stands for never
	s      intervalState
}

type intervalState struct{ T int }

// Every restarts after every given number of rounds, at least 1. It ignores the losses. The number
// may be above the horizon: then there is no restart.
func Every(rounds int) (Trigger, error) {
	if rounds < 1 {
		return nil, noregret.BadInputf("rounds", "%d between restarts: want at least 1", rounds)
	}
	return &interval{rounds: rounds}, nil
}

// Never returns a trigger that does not restart. It ignores the losses.
func Never() Trigger { return &interval{} }

// IgnoresLoss reports whether a trigger does not use the losses, as [Every] and [Never] do not.
func IgnoresLoss(t Trigger) bool {
	_, ok := t.(*interval)
	return ok
}

func (i *interval) Check(x float64) error { return checkLoss("loss", x) }

func (i *interval) Add(x float64) (restart bool, err error) {
	if err := i.Check(x); err != nil {
		return false, err
	}
	if i.rounds == 0 {
		return false, nil
	}
	if i.s.T++; i.s.T < i.rounds {
		return false, nil
	}
	i.s.T = 0
	return true, nil
}

func (i *interval) Reset() { i.s = intervalState{} }

// String describes the trigger in one line.
func (i *interval) String() string {
	if i.rounds == 0 {
		return "never"
	}
	return fmt.Sprintf("every(%d)", i.rounds)
}

func (i *interval) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, i.String(), &i.s)
}

func (i *interval) UnmarshalBinary(data []byte) error {
	var s intervalState
	if err := snapshot.Open(data, snapshotMagic, i.String(), &s); err != nil {
		return err
	}
	if s.T < 0 || s.T >= max(i.rounds, 1) {
		return snapshot.Bad("damaged: round %d of %d", s.T, i.rounds)
	}
	i.s = s
	return nil
}

// detection is the trigger of [Detect] and [DetectRise].
type detection struct {
	detector  changepoint.Detector
	low, high float64
	rises     bool
	s         detectionState
}

type detectionState struct {
	Count    int     // numbers since the last change
	Mean     float64 // of them
	Recent   Mean    // of them, with more weight on the last ones
	Detector []byte
}

// recent is the ratio of the weights of successive numbers in the mean of recent numbers.
const recent = 15.0 / 16

// Detect restarts when the detector reports a change of the numbers that it is given, a rise or a
// fall. Numbers outside [low, high] are cut off at its ends: a detector such as
// [changepoint.ADWIN] needs a range, and for the others it limits the weight of an outlier. The
// detector is at its start, and must accept both ends.
func Detect(detector changepoint.Detector, low, high float64) (Trigger, error) {
	return newDetection(detector, low, high, false)
}

// DetectRise is [Detect] for losses: it restarts when the detector reports a change and the last
// losses, with the weights (15/16)^k, are above the mean since the last change. A fall means that
// the learner has become better, as it does after every restart.
func DetectRise(detector changepoint.Detector, low, high float64) (Trigger, error) {
	return newDetection(detector, low, high, true)
}

func newDetection(detector changepoint.Detector, low, high float64, rises bool) (Trigger, error) {
	if detector == nil {
		return nil, noregret.BadInputf("detector", "nil: want a detector")
	}
	if !(low < high) || checkLoss("", low) != nil || checkLoss("", high) != nil {
		return nil, noregret.BadInputf("range", "[%v, %v]: want finite numbers in order, of size at most %v", low, high,
			largestLoss)
	}
	for _, x := range [2]float64{low, high} {
		if _, err := detector.Add(x); err != nil {
			return nil, fmt.Errorf("range [%v, %v]: %w", low, high, err)
		}
	}
	detector.Reset()
	return &detection{detector: detector, low: low, high: high, rises: rises}, nil
}

func (d *detection) Check(x float64) error { return checkLoss("loss", x) }

func (d *detection) Add(x float64) (restart bool, err error) {
	if err := d.Check(x); err != nil {
		return false, err
	}
	x = min(max(x, d.low), d.high)
	changed, err := d.detector.Add(x)
	if err != nil {
		return false, err
	}
	s := &d.s
	s.Count++
	s.Mean += (x - s.Mean) / float64(s.Count)
	s.Recent.Add(x, recent)
	if !changed {
		return false, nil
	}
	restart = !d.rises || s.Recent.Value() > s.Mean
	d.s = detectionState{}
	if restart { // some detectors keep numbers of before the change
		d.detector.Reset()
	}
	return restart, nil
}

func (d *detection) Reset() {
	d.detector.Reset()
	d.s = detectionState{}
}

// String describes the trigger in one line.
func (d *detection) String() string {
	name := "detect"
	if d.rises {
		name = "detect-rise"
	}
	text := fmt.Sprintf("%T", d.detector)
	if s, ok := d.detector.(fmt.Stringer); ok {
		text = s.String()
	}
	return fmt.Sprintf("%s(%s, low=%v, high=%v)", name, text, d.low, d.high)
}

func (d *detection) MarshalBinary() ([]byte, error) {
	s := d.s
	var err error
	if s.Detector, err = d.detector.MarshalBinary(); err != nil {
		return nil, err
	}
	return snapshot.Seal(snapshotMagic, d.String(), &s)
}

func (d *detection) UnmarshalBinary(data []byte) error {
	var s detectionState
	if err := snapshot.Open(data, snapshotMagic, d.String(), &s); err != nil {
		return err
	}
	if s.Count < 0 || checkLoss("", s.Mean) != nil || s.Recent.Check() != nil {
		return snapshot.Bad("damaged: a mean of %v of %d numbers", s.Mean, s.Count)
	}
	if err := d.detector.UnmarshalBinary(s.Detector); err != nil {
		return err
	}
	s.Detector = nil
	d.s = s
	return nil
}
