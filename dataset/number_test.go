package dataset

import (
	"math"
	"regexp"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

var decimal = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?`)

func checkNumber(t rapid.TB, s string) {
	v, n, ok := scanNumber([]byte(s))
	want := decimal.FindString(s)
	if ok != (want != "") || n != len(want) {
		t.Fatalf("%q: read %d bytes (%v), want %q", s, n, ok, want)
	}
	if !ok {
		return
	}
	exact, _ := strconv.ParseFloat(want, 64)
	if math.Float64bits(v) != math.Float64bits(exact) {
		t.Fatalf("%q: got %v, want %v", s, v, exact)
	}
}

// The parser must read the longest decimal and round it as strconv does, to the last bit.
func TestScanNumberIsStrconv(t *testing.T) {
	for _, s := range []string{
		"", "-", "+", ".", "1.", ".5", "-.5e", "1e", "1e+", "1e5", "-0", "9007199254740993", "9007199254740992",
		"1e22", "1e23", "1e-22", "1e-23", "123456789012345678901234567890", "0.000000000000000000000000000001",
		"1e400", "-1e400", "1e-400", "0x10", "1_000", "inf", "nan", "00012.50", "18446744073709551616",
		"1e99999999999999999999",
		"4.35e-5", "0.1", "3.4028235e38", "99999999999999999999e-30",
	} {
		checkNumber(t, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		checkNumber(t, rapid.StringMatching(`[+-]?[0-9]{0,22}(\.[0-9]{0,20})?([eE][+-]?[0-9]{0,3})?x?`).Draw(t, "s"))
	})
	rapid.Check(t, func(t *rapid.T) {
		checkNumber(t, strconv.FormatFloat(rapid.Float64().Draw(t, "v"),
			byte(rapid.SampledFrom([]rune("efg")).Draw(t, "f")), rapid.IntRange(-1, 20).Draw(t, "prec"), 64))
	})
}
