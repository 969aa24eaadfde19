// Package memory limits what a single object may allocate.
//
// A dimension on a command line can mean d² numbers. When the machine lacks that memory, Go ends
// the process. Constructors call [Check] first and return an error that states the memory needed.
package memory

import (
	"fmt"

	"github.com/noregret/noregret"
)

// Limit is the most memory that one set, learner or game may allocate: 8 GiB. It is the same on
// every machine, so that the same input is refused everywhere.
const Limit = 1 << 33

// Check returns an error of code bad_input at the place if that many float64s exceed [Limit]. The
// message begins with what, for instance "dimension 60000". The number is a float64 because it may
// exceed an int.
func Check(place, what string, numbers float64) error {
	if bytes := 8 * numbers; !(bytes <= Limit) {
		return noregret.BadInputf(place, "%s needs %s of memory, want at most %s", what, Format(bytes), Format(Limit))
	}
	return nil
}

// Format writes a number of bytes with a binary unit: 512 B, 26.8 GiB.
func Format(bytes float64) string {
	unit := 0
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	for bytes >= 1024 && unit < len(units)-1 {
		bytes /= 1024
		unit++
	}
	return fmt.Sprintf("%.3g %s", bytes, units[unit])
}
