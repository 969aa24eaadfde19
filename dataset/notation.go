package dataset

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
)

// notation is a way to write numbers.
type notation struct {
	decimal   byte // '.' or ','
	thousands byte // 0, or one of , . ' and a blank, not the decimal mark
	percent   bool // the number ends in %
	currency  byte // 0, or the place in currencies from 1 of the sign before or after the number
}

// currencies are the signs of money that are read.
var currencies = [...]string{"$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "CHF", "JPY"}

// plainNumber is the notation that scanNumber reads.
var plainNumber = notation{decimal: '.'}

// notations are all notations but for the currency, simple ones first; a notationSet holds their
// positions as bits.
var notations = func() (all []notation) {
	for _, percent := range []bool{false, true} {
		for _, thousands := range []byte{0, 'x', '\'', ' '} { // x is the other of point and comma
			for _, decimal := range []byte{'.', ','} {
				mark := thousands
				if mark == 'x' {
					mark = '.' + ',' - decimal
				}
				all = append(all, notation{decimal, mark, percent, 0})
			}
		}
	}
	return all
}()

// String returns an example.
func (n notation) String() string {
	text := "1"
	if n.thousands != 0 {
		text += string(n.thousands)
	}
	if text += "234" + string(n.decimal) + "5"; n.percent {
		text += "%"
	}
	return n.sign() + text
}

// sign returns the sign of the currency, or "".
func (n notation) sign() string {
	if n.currency == 0 {
		return ""
	}
	return currencies[n.currency-1]
}

type notationSet uint16

// notationsOf returns the notations in which a cell is a number, and the currency of all of them.
func notationsOf(cell []byte) (set notationSet, currency byte) {
	if len(cell) > 64 || !bytes.ContainsAny(cell, "0123456789") {
		return 0, 0
	}
	var buf [80]byte
	_, _, currency = cutCurrency(cell)
	for i, n := range notations {
		if n.currency = currency; currency != 0 && n.percent {
			continue
		}
		if _, ok := n.number(cell, buf[:0]); ok {
			set |= 1 << i
		}
	}
	return set, currency
}

// cutCurrency cuts off the sign of a currency before or after a number, and a blank between them.
// minus is the sign of the number if it is before that of the currency, else 0; rest has no second
// one. Without a currency all is rest.
func cutCurrency(cell []byte) (rest []byte, minus, currency byte) {
	rest = cell
	if len(rest) > 0 && (rest[0] == '-' || rest[0] == '+') {
		minus, rest = rest[0], rest[1:]
	}
	for i, sign := range currencies {
		if len(rest) > len(sign) && string(rest[:len(sign)]) == sign {
			rest, _ = cutOneOf(rest[len(sign):], spaces)
			if minus != 0 && len(rest) > 0 && (rest[0] == '-' || rest[0] == '+') {
				return cell, 0, 0
			}
			return rest, minus, byte(i + 1)
		}
		if n := len(cell) - len(sign); n > 0 && string(cell[n:]) == sign {
			rest, _ = cutBlank(cell[:n])
			return rest, 0, byte(i + 1)
		}
	}
	return cell, 0, 0
}

// with returns the notations of the set that have the decimal mark, or any if it is 0.
func (s notationSet) with(decimal byte) (out notationSet) {
	for i, n := range notations {
		if decimal == 0 || n.decimal == decimal {
			out |= s & (1 << i)
		}
	}
	return out
}

// has reports whether the set has a notation.
func (s notationSet) has(n notation) bool {
	i := slices.Index(notations, n)
	return i >= 0 && s&(1<<i) != 0
}

// free reports whether the set has a notation with the decimal mark in which the other of point and
// comma is no mark of thousands.
func (s notationSet) free(decimal byte) bool {
	for i, n := range notations {
		if s&(1<<i) != 0 && n.decimal == decimal && n.thousands != '.' && n.thousands != ',' {
			return true
		}
	}
	return false
}

// first returns the simplest notation of a set that is not empty.
func (s notationSet) first() notation {
	for i, n := range notations {
		if s&(1<<i) != 0 {
			return n
		}
	}
	panic("dataset: an empty set of notations")
}

// The marks of thousands that stand for a blank and an apostrophe.
var spaces, apostrophes = []string{" ", "\u00a0", "\u202f"}, []string{"'", "\u2019"}

// readsPlain reports whether each plain number is the same number in the notation.
func (n notation) readsPlain() bool { return n.decimal == '.' && !n.percent && n.currency == 0 }

// number reads a whole cell. Marks of thousands, where there are any, must divide the digits before
// the decimal mark into groups of three, the first of which does not begin with 0. buf is scratch
// memory with room for the cell; with it, number does not allocate.
func (n notation) number(cell, buf []byte) (v float64, ok bool) {
	if n == plainNumber {
		return number(cell)
	}
	if n.percent {
		if cell, ok = bytes.CutSuffix(cell, []byte("%")); !ok {
			return 0, false
		}
		cell, _ = cutBlank(cell)
	}
	buf = buf[:0]
	if n.currency != 0 {
		var minus, currency byte
		if cell, minus, currency = cutCurrency(cell); currency != n.currency {
			return 0, false
		}
		if minus != 0 {
			buf = append(buf, minus)
		}
	}
	if len(cell) > 0 && (cell[0] == '-' || cell[0] == '+') {
		buf, cell = append(buf, cell[0]), cell[1:]
	}
	digits, groups := 0, 0
	zero := len(cell) > 0 && cell[0] == '0' // no thousands begin so
	for len(cell) > 0 {
		if cell[0]-'0' <= 9 {
			buf, cell = append(buf, cell[0]), cell[1:]
			digits++
			continue
		}
		rest, mark := n.cutThousands(cell)
		if !mark {
			break
		}
		if zero || digits == 0 || digits > 3 || groups > 0 && digits != 3 {
			return 0, false
		}
		digits, groups, cell = 0, groups+1, rest
	}
	if groups > 0 && digits != 3 {
		return 0, false
	}
	if len(cell) > 0 && cell[0] == n.decimal {
		buf, cell = append(buf, '.'), cell[1:]
	} else if len(cell) > 0 && cell[0]|0x20 != 'e' {
		return 0, false
	}
	if bytes.IndexByte(cell, '.') >= 0 {
		return 0, false
	}
	v, ok = number(append(buf, cell...))
	if n.percent {
		v /= 100
	}
	return v, ok
}

// cutThousands cuts off the mark of thousands if it is next.
func (n notation) cutThousands(b []byte) (rest []byte, found bool) {
	switch n.thousands {
	case 0:
		return b, false
	case ' ':
		return cutOneOf(b, spaces)
	case '\'':
		return cutOneOf(b, apostrophes)
	}
	return b[1:], b[0] == n.thousands
}

func cutOneOf(b []byte, marks []string) ([]byte, bool) {
	for _, m := range marks {
		if len(b) >= len(m) && string(b[:len(m)]) == m {
			return b[len(m):], true
		}
	}
	return b, false
}

// cutBlank cuts off one blank at the end.
func cutBlank(b []byte) ([]byte, bool) {
	for _, m := range spaces {
		if cut, ok := bytes.CutSuffix(b, []byte(m)); ok {
			return cut, true
		}
	}
	return b, false
}

// nearBefore and nearAfter stand before and after what a person reads as a number, and in no
// number.
var (
	nearBefore = []string{
		"$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "CHF", "JPY", "+", "-", "\u2212", "\u2013", "(", "~", "<", ">",
	}
	nearAfter = []string{"$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "CHF", "JPY", "-", ")", "k", "K", "M"}
)

// nearNumber reports whether a cell is a number in some notation, also with signs of a currency,
// the minus of typography, brackets for a loss, or k for thousands and M for millions.
func nearNumber(cell []byte) bool {
	if len(cell) > 64 || !bytes.ContainsAny(cell, "0123456789") {
		return false
	}
	for cut := true; cut; {
		if _, plain := number(cell); plain {
			return true
		}
		if set, _ := notationsOf(cell); set != 0 {
			return true
		}
		cut = false
		for _, sign := range nearBefore {
			if rest, found := bytes.CutPrefix(cell, []byte(sign)); found {
				cell, cut = trimBlanks(rest), true
			}
		}
		for _, sign := range nearAfter {
			if rest, found := bytes.CutSuffix(cell, []byte(sign)); found {
				cell, _ = cutBlank(rest)
				cut = true
			}
		}
	}
	return false
}

// longestUnit bounds the bytes of a unit.
const longestUnit = 8

// withUnit reports whether a cell is a number in some notation and then, perhaps after a blank, a
// unit: letters and signs such as kg, km/h, °C and m².
func withUnit(cell []byte) bool {
	end := bytes.LastIndexAny(cell, "0123456789") + 1
	if end == 0 || end == len(cell) || len(cell)-end > longestUnit+1 {
		return false
	}
	for _, r := range string(bytes.TrimSpace(cell[end:])) {
		if !unicode.IsLetter(r) && !strings.ContainsRune("/°²³µ\"'", r) {
			return false
		}
	}
	return nearNumber(cell[:end])
}

// nearDate reports whether a cell is a date or a time of day in some form: those of scanMoment in
// any order, these with two digits of the year too, or a time of day.
func nearDate(cell []byte) bool {
	if looksDated(cell) {
		return true
	}
	date, clock, both := bytes.Cut(cell, []byte(" "))
	if !both {
		return nearDay(cell)
	}
	_, timed := scanTime(clock)
	return timed && nearDay(date)
}

// looksDated reports whether a cell is a date or a time of day as columns may have them.
func looksDated(cell []byte) bool {
	_, timed := scanTime(cell)
	return timed || ordersOf(cell) != 0
}

// nearDay reports whether b is three numbers with the same one of . / - between them, of which one
// may be the day, one the month and the first or last the year.
func nearDay(b []byte) bool {
	i := bytes.IndexAny(b, "./-")
	if i < 0 {
		return false
	}
	parts := bytes.Split(b, b[i:i+1])
	if len(parts) != 3 {
		return false
	}
	var n [3]int
	for k, p := range parts {
		var ok bool
		if n[k], ok = digits(p); !ok || len(p) < 1 || len(p) > 4 || len(p) == 3 || len(p) > 2 && k == 1 {
			return false
		}
	}
	if len(parts[0]) == 4 {
		n[0], n[2] = n[2], n[0]
	} else if len(parts[2]) == 1 {
		return false
	}
	return min(n[0], n[1]) >= 1 && min(n[0], n[1]) <= 12 && max(n[0], n[1]) <= 31
}

// missingMarks are the cells that are missing numbers besides those of isMissing, and missingWords
// those, in any case of letters, that may be a category where no number is.
var (
	missingMarks = []string{"-", "--", ".", "#N/A", `\N`}
	missingWords = []string{"missing", "none", "unknown", "<na>"}
)

// missingNumber reports whether a cell where a number belongs denotes a missing value; more are
// those of Options.MissingValues.
func missingNumber(cell []byte, more []string) bool {
	if isMissing(cell) {
		return true
	}
	for _, m := range missingMarks {
		if string(cell) == m {
			return true
		}
	}
	return missingWord(cell) || slices.Contains(more, string(cell))
}

// missingWord reports whether a cell is one of missingWords.
func missingWord(cell []byte) bool {
	for _, w := range missingWords {
		if foldEqual(cell, w) {
			return true
		}
	}
	return false
}
