package changepoint

import (
	"encoding"
	"math"

	"github.com/noregret/noregret"
)

// Detector looks for changes of the mean of a sequence; [KSWIN] also for other changes of its
// distribution.
type Detector interface {
	// Add takes the next number and reports whether a change is detected. After a change the
	// detector looks for the next one by itself. It returns an error of code bad_input, and changes
	// nothing, if x is out of range.
	Add(x float64) (changed bool, err error)
	// Reset discards the sequence so far.
	Reset()
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

var (
	_ Detector = (*CUSUM)(nil)
	_ Detector = (*PageHinkley)(nil)
	_ Detector = (*ADWIN)(nil)
	_ Detector = (*KSWIN)(nil)
)

const snapshotMagic = "noregret-changepoint-2\n"

// largest bounds numbers and parameters, so that sums of squares stay finite.
const largest = 1e100

// checkNumber returns an error if x is not a finite number of size at most 1e100.
func checkNumber(x float64) error {
	if math.Abs(x) <= largest {
		return nil
	}
	return noregret.BadInputf("x", "%v: want a finite number, of size at most %v", x, largest)
}

// checkPositive returns an error if v is not a finite number above 0.
func checkPositive(place string, v float64) error {
	if v > 0 && v <= largest {
		return nil
	}
	return noregret.BadInputf(place, "%v: want a number above 0, at most %v", v, largest)
}

// checkDrift returns an error if v is not a finite number of at least 0.
func checkDrift(v float64) error {
	if v >= 0 && v <= largest {
		return nil
	}
	return noregret.BadInputf("drift", "%v: want a number from 0 to %v", v, largest)
}
