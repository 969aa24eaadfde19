package dataset

import "strings"

// monthNames are the months in English. Three letters of one, or sept, are enough.
var monthNames = [12]string{
	"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
	"december",
}

// centuryPivot is the first year of two digits that is one of the 20th century.
const centuryPivot = 69

// The years that dates without marks between their parts, and months without a day, may have:
// others are numbers.
const (
	firstPlainYear = 1900
	lastPlainYear  = 2099
)

// scanNamed reads a day with the name of its month, and returns what follows: d Mon y, Mon d y or
// yyyy Mon d, with the same one of - / . or a blank between the parts, before which may be a dot or
// a comma. A year at the end may have two digits, as the day is before it.
func (m *moment) scanNamed(b []byte) (rest []byte, ok bool) {
	var mark byte
	if _, _, named := cutMonth(b); named {
		m.month, b, _ = cutMonth(b)
		b, mark = cutMark(b, 0)
		if m.day, b, ok = cutDigits(b, 1, 2); !ok {
			return b, false
		}
		b, mark = cutMark(b, mark)
		return m.cutYear(b, mark != 0)
	}
	first, rest, ok := cutDigits(b, 1, 4)
	digits := len(b) - len(rest)
	if !ok || digits == 3 {
		return b, false
	}
	b, mark = cutMark(rest, 0)
	if m.month, b, ok = cutMonth(b); !ok || mark == 0 {
		return b, false
	}
	b, mark = cutMark(b, mark)
	if digits == 4 {
		m.year = first
		m.day, b, ok = cutDigits(b, 1, 2)
		return b, ok && mark != 0
	}
	m.day = first
	return m.cutYear(b, mark != 0)
}

// cutYear cuts off a year of four digits or two.
func (m *moment) cutYear(b []byte, ok bool) ([]byte, bool) {
	year, rest, found := cutDigits(b, 2, 4)
	switch digits := len(b) - len(rest); {
	case !ok || !found || digits == 3:
		return b, false
	case digits == 4:
	case year >= centuryPivot:
		year += 1900
	default:
		year += 2000
	}
	m.year = year
	return rest, true
}

// cutMonth cuts off the name of a month in any case of letters, or the start of it that is enough.
func cutMonth(b []byte) (month int, rest []byte, ok bool) {
	n := 0
	for n < len(b) && n < 10 && (b[n]|0x20)-'a' < 26 {
		n++
	}
	if n < 3 {
		return 0, b, false
	}
	switch [3]byte{b[0] | 0x20, b[1] | 0x20, b[2] | 0x20} {
	case [3]byte{'j', 'a', 'n'}:
		month = 1
	case [3]byte{'f', 'e', 'b'}:
		month = 2
	case [3]byte{'m', 'a', 'r'}:
		month = 3
	case [3]byte{'a', 'p', 'r'}:
		month = 4
	case [3]byte{'m', 'a', 'y'}:
		month = 5
	case [3]byte{'j', 'u', 'n'}:
		month = 6
	case [3]byte{'j', 'u', 'l'}:
		month = 7
	case [3]byte{'a', 'u', 'g'}:
		month = 8
	case [3]byte{'s', 'e', 'p'}:
		month = 9
	case [3]byte{'o', 'c', 't'}:
		month = 10
	case [3]byte{'n', 'o', 'v'}:
		month = 11
	case [3]byte{'d', 'e', 'c'}:
		month = 12
	default:
		return 0, b, false
	}
	ok = n == 3 || foldEqual(b[:n], monthNames[month-1]) || foldEqual(b[:n], "sept")
	return month, b[n:], ok
}

// cutDigits cuts off a number of so many digits, after which no digit comes.
func cutDigits(b []byte, least, most int) (v int, rest []byte, ok bool) {
	n := 0
	for n < len(b) && n <= most && b[n]-'0' <= 9 {
		v = v*10 + int(b[n]-'0')
		n++
	}
	return v, b[n:], n >= least && n <= most
}

// cutMark cuts off what is between two parts of a date; mark is that between the parts before, or
// 0. The result is 0 if there is none.
func cutMark(b []byte, mark byte) (rest []byte, found byte) {
	if len(b) > 1 && (b[0] == '.' || b[0] == ',') && b[1] == ' ' {
		b = b[1:]
	}
	if len(b) == 0 || strings.IndexByte("-/. ", b[0]) < 0 || mark != 0 && mark != b[0] {
		return b, 0
	}
	return b[1:], b[0]
}

// scanMonth reads a whole cell that is a month: YYYY-MM, Mon YYYY or YYYY Mon, with the marks of
// scanNamed. The day is the first.
func scanMonth(b []byte) (m moment, ok bool) {
	m.day = 1
	switch month, rest, named := cutMonth(b); {
	case named:
		rest, mark := cutMark(rest, 0)
		m.month = month
		m.year, rest, ok = cutDigits(rest, 4, 4)
		ok = ok && mark != 0 && len(rest) == 0
	case len(b) == 7 && b[4] == '-' && isDigits(b[:4]) && isDigits(b[5:]):
		m.year, _ = digits(b[:4])
		m.month, _ = digits(b[5:])
		ok = true
	default:
		m.year, rest, ok = cutDigits(b, 4, 4)
		rest, mark := cutMark(rest, 0)
		m.month, rest, named = cutMonth(rest)
		ok = ok && mark != 0 && named && len(rest) == 0
	}
	plain := m.year >= firstPlainYear && m.year <= lastPlainYear
	return m, ok && plain && m.month >= 1 && m.month <= 12
}

// isSeason reports whether a cell is two years in a row, as 2010-11 is, and not only a month.
func isSeason(b []byte) bool {
	m, ok := scanMonth(b)
	return ok && len(b) == 7 && b[4] == '-' && m.month == (m.year+1)%100
}

// scanPacked reads a whole cell that is a day YYYYMMDD.
func scanPacked(b []byte) (m moment, ok bool) {
	if len(b) != 8 || !isDigits(b) {
		return m, false
	}
	m.year, _ = digits(b[:4])
	m.month, _ = digits(b[4:6])
	m.day, _ = digits(b[6:])
	return m, m.year >= firstPlainYear && m.year <= lastPlainYear && m.valid()
}

// valid reports whether the calendar has the day.
func (m *moment) valid() bool {
	return m.month >= 1 && m.month <= 12 && m.day >= 1 && m.day <= monthDays(m.year, m.month)
}
