// Package memory refuses what would take all of a machine's memory before it is allocated.
//
// A dimension that is a number on a command line becomes d or d² numbers. Go ends the process when
// the machine has not got them, so constructors ask here first and return an error that states what
// is needed.
package memory

import (
	"fmt"

	"github.com/noregret/noregret"
)

// Limit is the most memory that one set, learner or game may ask for: 8 GiB. It is the same on
// every machine, so that what is refused is the same, too.
const Limit = 1 << 33

// Check returns an error of code bad_input at the place if that many float64s exceed [Limit]. What
// needs them is part of the message, for instance "dimension 60000". The number is a float64 as it
// may be beyond an int.
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
