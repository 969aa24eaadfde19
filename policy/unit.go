package policy

import (
	"unicode/utf8"

	"github.com/noregret/noregret"
)

// MaxUnit is the greatest length of a unit's name, in bytes.
const MaxUnit = 512

// CheckUnit returns an error, with the given place, if a unit's name is not 1 to [MaxUnit] bytes of
// UTF-8. Programs read invalid UTF-8 differently, and two units could become one.
func CheckUnit(place, unit string) error {
	if unit == "" || len(unit) > MaxUnit {
		return noregret.BadInputf(place, "%d bytes: want 1 to %d", len(unit), MaxUnit)
	}
	if !utf8.ValidString(unit) {
		return noregret.BadInputf(place, "not UTF-8 text")
	}
	return nil
}
