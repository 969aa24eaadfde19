package dataset

import (
	"math"
	"strconv"
	"unsafe"
)

// pow10 holds the powers of ten that float64 holds exactly.
var pow10 = [...]float64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// scanNumber reads the decimal number at the start of b: an optional sign, digits with an optional
// point (at least one digit), an optional exponent. It returns the number correctly rounded to
// float64 (an infinity when out of range) and the number of bytes it takes; ok is false when b does
// not start with a number. Unlike strconv it does not accept hexadecimal, underscores, "inf" or
// "nan". It does not allocate.
//
// A significand below 2^53 and a power of ten up to 22 are both exact in float64, so one
// multiplication or division rounds correctly (Clinger 1990); all else goes to strconv.
func scanNumber(b []byte) (v float64, n int, ok bool) {
	i, neg := 0, false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		neg = b[0] == '-'
		i = 1
	}
	var mant uint64
	start := i
	for i < len(b) && b[i]-'0' <= 9 {
		mant = mant*10 + uint64(b[i]-'0')
		i++
	}
	digits, exp := i-start, 0
	if i < len(b) && b[i] == '.' {
		i++
		point := i
		for i < len(b) && b[i]-'0' <= 9 {
			mant = mant*10 + uint64(b[i]-'0')
			i++
		}
		digits += i - point
		exp = point - i
	}
	if digits == 0 {
		return 0, 0, false
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		e, m := scanExponent(b[i:])
		i += m
		exp += e
	}
	// 19 digits never overflow a uint64.
	if digits > 19 || mant >= 1<<53 || exp < -22 || exp > 22 {
		// the syntax is right; a range error comes with ±Inf
		v, _ = strconv.ParseFloat(unsafe.String(unsafe.SliceData(b), i), 64)
		return v, i, true
	}
	v = float64(mant)
	if exp < 0 {
		v /= pow10[-exp]
	} else {
		v *= pow10[exp]
	}
	if neg {
		v = -v
	}
	return v, i, true
}

// scanExponent reads "e", an optional sign and digits. It returns 0 bytes when no digit follows.
func scanExponent(b []byte) (e, n int) {
	i, neg := 1, false
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		neg = b[i] == '-'
		i++
	}
	start := i
	for i < len(b) && b[i]-'0' <= 9 {
		if e < 1_000_000 {
			e = e*10 + int(b[i]-'0')
		}
		i++
	}
	if i == start {
		return 0, 0
	}
	if neg {
		e = -e
	}
	return e, i
}

// isNonFinite reports whether tok is a way to write NaN or an infinity.
func isNonFinite(tok []byte) bool {
	if len(tok) > 0 && (tok[0] == '+' || tok[0] == '-') {
		tok = tok[1:]
	}
	return foldEqual(tok, "nan") || foldEqual(tok, "inf") || foldEqual(tok, "infinity")
}

// foldEqual reports whether tok is the lower-case ASCII word in any case.
func foldEqual(tok []byte, word string) bool {
	if len(tok) != len(word) {
		return false
	}
	for i := range tok {
		c := tok[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// number is scanNumber for a whole token; ok is false when tok is anything but one number.
func number(tok []byte) (v float64, ok bool) {
	v, n, ok := scanNumber(tok)
	return v, ok && n == len(tok)
}

// inFloat32 reports whether v rounds to a finite float32.
func inFloat32(v float64) bool { return math.Abs(v) <= math.MaxFloat32 }
