// Package legible keeps texts that people read to one line of characters that they can see. A line
// break in the reason of a change could make a table show a row that never was; an escape sequence
// could change what a terminal shows, and a mark of the direction of text what a word says.
//
// The service refuses such texts ([Check]). Programs print others, such as those of an old log or
// of a data file, with their invisible characters escaped ([Text], [JSON]).
package legible

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/noregret/noregret"
)

// Unclear reports whether a character is invisible or changes how others are shown: controls, line
// breaks, marks of the direction of text, spaces of no width, and U+FFFD, which stands for bytes
// that are no UTF-8.
func Unclear(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0, r == 0x61c, r >= 0x200b && r <= 0x200f, r >= 0x2028 &&
		r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0xfeff, r == utf8.RuneError:
		return true
	}
	return false
}

// Check returns an error of code bad_input, with the given place, for a text with a character that
// is [Unclear].
func Check(place, text string) error {
	if !strings.ContainsFunc(text, Unclear) {
		return nil
	}
	return noregret.BadInputf(place, "%.400q: want one line without control characters and marks of the direction of "+
		"text", text)
}

// Text returns a text as it is, or quoted as in Go, with its unclear characters escaped, if it has
// any. The result is one line.
func Text(s string) string {
	if !strings.ContainsFunc(s, Unclear) {
		return s
	}
	return strconv.Quote(s)
}

// Lines returns a text of several lines with each of them as [Text] returns it.
func Lines(s string) string {
	if !strings.ContainsFunc(s, Unclear) {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = Text(line)
	}
	return strings.Join(lines, "\n")
}

// JSON returns JSON with the unclear characters of its strings escaped. Its values are the same.
// Line breaks, tabs and other characters below U+0020 stay: they stand between values, as strings
// cannot have them.
func JSON(b []byte) []byte {
	unclear := func(r rune) bool { return r >= ' ' && r != utf8.RuneError && Unclear(r) }
	if !bytes.ContainsFunc(b, unclear) {
		return b
	}
	var out bytes.Buffer
	for _, r := range string(b) {
		if unclear(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}
