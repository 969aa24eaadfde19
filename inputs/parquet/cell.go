package parquet

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"
	"unicode/utf8"

	library "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// cell appends the text of a value that is not null to b, or says why it has none.
type cell func(b []byte, v library.Value) (text []byte, fault string)

func nullCell(b []byte, _ library.Value) ([]byte, string) {
	return b, "damaged: a value in a column of the type NULL"
}

func booleanCell(b []byte, v library.Value) ([]byte, string) {
	if v.Boolean() {
		return append(b, '1'), ""
	}
	return append(b, '0'), ""
}

// integer returns a value of 32 or 64 bits.
func integer(physical format.Type, v library.Value) int64 {
	if physical == format.Int32 {
		return int64(v.Int32())
	}
	return v.Int64()
}

func intCell(physical format.Type, signed bool) cell {
	return func(b []byte, v library.Value) ([]byte, string) {
		n := integer(physical, v)
		switch {
		case signed:
			return strconv.AppendInt(b, n, 10), ""
		case physical == format.Int32:
			return strconv.AppendUint(b, uint64(uint32(n)), 10), ""
		}
		return strconv.AppendUint(b, uint64(n), 10), ""
	}
}

func floatCell(bits int) cell {
	return func(b []byte, v library.Value) ([]byte, string) {
		if bits == 32 {
			return appendFloat(b, float64(v.Float()), 32)
		}
		return appendFloat(b, v.Double(), 64)
	}
}

// appendFloat writes the fewest digits that say a float of so many bits. NaN is a missing value.
func appendFloat(b []byte, x float64, bits int) ([]byte, string) {
	switch {
	case math.IsNaN(x):
		return b, ""
	case math.IsInf(x, 0):
		return b, fmt.Sprintf("the number is %v, and a feature must be finite", x)
	}
	return strconv.AppendFloat(b, x, 'g', -1, bits), ""
}

// float16Cell writes a float of 16 bits (IEEE 754 binary16, little-endian).
func float16Cell(b []byte, v library.Value) ([]byte, string) {
	raw := v.ByteArray()
	if len(raw) != 2 {
		return b, fmt.Sprintf("damaged: a float of 16 bits has %d bytes", len(raw))
	}
	h := uint(raw[0]) | uint(raw[1])<<8
	exponent, fraction := int(h>>10&31), float64(h&1023)
	x := math.Ldexp(fraction, -24)
	switch exponent {
	case 0:
	case 31:
		if x = math.Inf(1); fraction != 0 {
			x = math.NaN()
		}
	default:
		x = math.Ldexp(1024+fraction, exponent-25)
	}
	if h>>15 == 1 {
		x = -x
	}
	return appendFloat(b, x, 32)
}

func textCell(b []byte, v library.Value) ([]byte, string) {
	s := v.ByteArray()
	if !utf8.Valid(s) {
		return b, "bytes that are not UTF-8: the column holds no text"
	}
	return appendQuoted(b, s), ""
}

// appendQuoted writes a text as a cell. It quotes all that readers of CSV could take for something
// else: delimiters, quotes, line ends, and blanks at an end.
func appendQuoted(b, s []byte) []byte {
	plain := !bytes.ContainsAny(s, "\",;\t\r\n")
	if n := len(s); plain && (n == 0 || s[0] != ' ' && s[n-1] != ' ') {
		return append(b, s...)
	}
	b = append(b, '"')
	for _, c := range s {
		if c == '"' {
			b = append(b, '"')
		}
		b = append(b, c)
	}
	return append(b, '"')
}

func uuidCell(b []byte, v library.Value) ([]byte, string) {
	raw := v.ByteArray()
	if len(raw) != 16 {
		return b, fmt.Sprintf("damaged: a UUID has %d bytes", len(raw))
	}
	for i, end := range [5]int{4, 6, 8, 10, 16} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, raw[[5]int{0, 4, 6, 8, 10}[i]:end])
	}
	return b, ""
}

// decimalCell writes decimals, which are stored as integers in units of their last digit, the
// longer ones as big-endian bytes in two's complement.
func decimalCell(physical format.Type, scale int) cell {
	return func(b []byte, v library.Value) ([]byte, string) {
		if physical == format.Int32 || physical == format.Int64 {
			n := integer(physical, v)
			size := uint64(n)
			if n < 0 {
				b, size = append(b, '-'), -size
			}
			return appendScaled(b, strconv.FormatUint(size, 10), scale), ""
		}
		raw := v.ByteArray()
		if len(raw) == 0 || len(raw) > maxDecimal {
			return b, fmt.Sprintf("a decimal of %d bytes, and 1 to %d are read", len(raw), maxDecimal)
		}
		n := new(big.Int).SetBytes(raw)
		if raw[0]&0x80 != 0 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(raw))))
			b = append(b, '-')
		}
		return appendScaled(b, n.Abs(n).String(), scale), ""
	}
}

// appendScaled writes digits with the last scale of them after the point.
func appendScaled(b []byte, digits string, scale int) []byte {
	if scale == 0 {
		return append(b, digits...)
	}
	for len(digits) <= scale {
		digits = "0" + digits
	}
	point := len(digits) - scale
	return append(append(append(b, digits[:point]...), '.'), digits[point:]...)
}

// days1970 is the Julian day of 1970-01-01.
const days1970 = 2440588

func dateCell(b []byte, v library.Value) ([]byte, string) {
	return appendTime(b, int64(v.Int32())*86400, 0, "2006-01-02")
}

func timestampCell(perSecond int64, utc bool) cell {
	layout := "2006-01-02T15:04:05.999999999"
	if utc {
		layout += "Z"
	}
	return func(b []byte, v library.Value) ([]byte, string) {
		second, rest := floorDiv(v.Int64(), perSecond)
		return appendTime(b, second, rest*(1e9/perSecond), layout)
	}
}

// int96Cell writes the timestamps of older writers: nanoseconds of the day and the Julian day.
func int96Cell(b []byte, v library.Value) ([]byte, string) {
	raw := v.Int96()
	nanos := int64(uint64(raw[0]) | uint64(raw[1])<<32)
	second, rest := floorDiv(nanos, 1e9)
	if second < 0 || second > 86400 {
		return b, fmt.Sprintf("damaged: a time of day of %d s", second)
	}
	return appendTime(b, (int64(raw[2])-days1970)*86400+second, rest, "2006-01-02T15:04:05.999999999")
}

// appendTime writes a time of the years 1 to 9999 in UTC.
func appendTime(b []byte, second, nanos int64, layout string) ([]byte, string) {
	const first, last = -62135596800, 253402300799
	if second < first || second > last {
		return b, fmt.Sprintf("the time is %d s from 1970, and years from 1 to 9999 are read", second)
	}
	return time.Unix(second, nanos).UTC().AppendFormat(b, layout), ""
}

// clockCell writes times of day as seconds.
func clockCell(physical format.Type, perSecond int64) cell {
	places := len(strconv.FormatInt(perSecond, 10)) - 1
	return func(b []byte, v library.Value) ([]byte, string) {
		n := integer(physical, v)
		if n < 0 || n > 86400*perSecond {
			return b, fmt.Sprintf("damaged: the time of day %d is not within a day", n)
		}
		b = appendScaled(b, strconv.FormatInt(n, 10), places)
		return bytes.TrimSuffix(bytes.TrimRight(b, "0"), []byte(".")), ""
	}
}

// floorDiv returns a/b rounded down and the rest, for b > 0.
func floorDiv(a, b int64) (quotient, rest int64) {
	quotient, rest = a/b, a%b
	if rest < 0 {
		quotient, rest = quotient-1, rest+b
	}
	return quotient, rest
}
