package show

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/noregret/noregret/internal/legible"
)

// Number is a float64 that is null in JSON if it is not finite.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if v := float64(n); v-v != 0 {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// String writes the number with four decimals, or "-" if it is not finite.
func (n Number) String() string {
	if v := float64(n); v-v != 0 {
		return "-"
	}
	return strconv.FormatFloat(float64(n), 'f', 4, 64)
}

// NumberOf returns the number that p points to, or NaN for nil.
func NumberOf(p *float64) Number {
	if p == nil {
		return Number(math.NaN())
	}
	return Number(*p)
}

// Short writes a number with at most six significant digits.
func Short(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// Whole writes a count or a sum of weights. Whole numbers keep all their digits.
func Whole(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return Short(v)
}

// Listed names at most five labels.
func Listed(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// LegibleAll returns texts of which people can see every character.
func LegibleAll(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = legible.Text(text)
	}
	return out
}

// Count writes a number with its noun in the right form.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Digits writes a number with n significant digits, "-" if it is not finite.
func Digits(v Number, n int) string {
	if x := float64(v); x-x != 0 {
		return "-"
	}
	return strconv.FormatFloat(float64(v), 'g', n, 64)
}

// RunsIn says how many runs results are from: all that were asked for, or fewer if the command was
// interrupted or failed.
func RunsIn(in, asked int) string {
	if in == asked {
		return Count(in, "run", "runs")
	}
	return fmt.Sprintf("%d of %s", in, Count(asked, "run", "runs"))
}
