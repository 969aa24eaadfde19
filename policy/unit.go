package policy

import (
	"unicode/utf8"

	"github.com/noregret/noregret"
)

// MaxUnit is the greatest length of a unit's name, in bytes.
const MaxUnit = 512

// CheckUnit says what is wrong with a unit's name: it is 1 to [MaxUnit] bytes of UTF-8. Of text
// that is not, every reader makes something else, and two units could become one. place is that of
// the error.
func CheckUnit(place, unit string) error {
	if unit == "" || len(unit) > MaxUnit {
		return noregret.BadInputf(place, "%d bytes: want 1 to %d", len(unit), MaxUnit)
	}
	if !utf8.ValidString(unit) {
		return noregret.BadInputf(place, "not UTF-8 text")
	}
	return nil
}
