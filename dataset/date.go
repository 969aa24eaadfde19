package dataset

import (
	"bytes"
	"math"
)

// weekdays are the names of the days of the week in features, Monday first (ISO 8601).
var weekdays = [7]string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}

// daySeconds is the length of a day in Unix time.
const daySeconds = 86400

// maxUnix bounds the Unix times of the years 0 to 9999.
const maxUnix = 253402300800.0

// moment is a date, perhaps with a time of day.
type moment struct {
	year, month, day int     // month and day from 1
	second           float64 // of the day, in [0, 86401)
	offset           int     // seconds east of UTC
	clock            bool    // the time of day is given
}

// The orders of day and month in dates with / or - between the parts and the year at the end. Where
// the order is "", these are no dates.
const (
	dayFirst   = "dmy"
	monthFirst = "mdy"
)

// packedDays is the order of the days YYYYMMDD, which only [Column.DateOrder] has: all dates of the
// column are written so.
const packedDays = "yyyymmdd"

// dateOrders are the orders; an orderSet holds their positions as bits.
var dateOrders = [...]string{dayFirst, monthFirst}

type orderSet uint8

// ordersOf returns the orders in which a cell is a date.
func ordersOf(cell []byte) (set orderSet) {
	for i, order := range dateOrders {
		if _, ok := scanMoment(cell, order); ok {
			set |= 1 << i
		}
	}
	return set
}

// only returns the order of a set that has one, or "".
func (s orderSet) only() string {
	for i, order := range dateOrders {
		if s == 1<<i {
			return order
		}
	}
	return ""
}

// scanMoment reads a whole cell, before which may be a weekday and a comma: YYYY-MM-DD,
// YYYY/MM/DD, d.m.yyyy, a day as scanNamed reads it or, in the order, d/m/yyyy or m/d/yyyy, with /
// or -; after T or a blank, perhaps after a comma, a time as scanClock reads it, and an offset as
// scanOffset does. Without an offset it is taken as UTC. In the order packedDays the cell is
// YYYYMMDD. It does not allocate.
func scanMoment(b []byte, order string) (m moment, ok bool) {
	if order == packedDays {
		return scanPacked(b)
	}
	b, ok = m.scanDay(cutWeekday(b), order)
	if !ok || !m.valid() {
		return m, false
	}
	if len(b) == 0 {
		return m, true
	}
	if len(b) > 1 && b[0] == ',' && b[1] == ' ' {
		b = b[1:]
	}
	if b[0] != 'T' && b[0] != 't' && b[0] != ' ' {
		return m, false
	}
	m.clock = true
	if b, ok = m.scanClock(b[1:]); !ok {
		return m, false
	}
	return m, m.scanOffset(b)
}

// cutWeekday cuts off three letters of a weekday with a comma and a blank, as mail and HTTP write
// it.
func cutWeekday(b []byte) []byte {
	if len(b) > 5 && b[3] == ',' && b[4] == ' ' {
		for _, name := range weekdays {
			if string(b[:3]) == name {
				return b[5:]
			}
		}
	}
	return b
}

// scanDay reads a day in one of the forms of scanMoment and returns what follows.
func (m *moment) scanDay(b []byte, order string) (rest []byte, ok bool) {
	if len(b) >= 10 && (b[4] == '-' || b[4] == '/') && b[7] == b[4] {
		var oks [3]bool
		m.year, oks[0] = digits(b[:4])
		m.month, oks[1] = digits(b[5:7])
		m.day, oks[2] = digits(b[8:10])
		return b[10:], oks == [3]bool{true, true, true}
	}
	for _, c := range b[:min(len(b), 6)] {
		if (c|0x20)-'a' < 26 {
			return m.scanNamed(b)
		}
	}
	mark := byte('.')
	first, second := &m.day, &m.month
	if i := bytes.IndexAny(b, "./-"); i >= 0 && b[i] != mark {
		if mark = b[i]; order == "" {
			return b, false
		}
		if order == monthFirst {
			first, second = second, first
		}
	}
	for _, part := range []*int{first, second} {
		n := bytes.IndexByte(b, mark)
		if n < 1 || n > 2 {
			return b, false
		}
		if *part, ok = digits(b[:n]); !ok {
			return b, false
		}
		b = b[n+1:]
	}
	if len(b) < 4 {
		return b, false
	}
	m.year, ok = digits(b[:4])
	return b[4:], ok
}

// scanTime reads a whole cell that is a time of day.
func scanTime(b []byte) (m moment, ok bool) {
	rest, ok := m.scanClock(b)
	return m, ok && len(rest) == 0
}

// scanClock reads h:mm, hh:mm, with :ss or :ss.fff, and AM or PM in any case of letters, perhaps
// after a blank, and returns what follows.
func (m *moment) scanClock(b []byte) (rest []byte, ok bool) {
	n := bytes.IndexByte(b, ':')
	if n < 1 || n > 2 || len(b) < n+3 {
		return b, false
	}
	hour, ok1 := digits(b[:n])
	minute, ok2 := digits(b[n+1 : n+3])
	if !ok1 || !ok2 || hour > 23 || minute > 59 {
		return b, false
	}
	second := 0.0
	if b = b[n+3:]; len(b) > 0 && b[0] == ':' {
		if len(b) < 3 || b[1]-'0' > 9 {
			return b, false
		}
		n := 1
		for n < len(b) && (b[n]-'0' <= 9 || n == 3 && b[n] == '.') {
			n++
		}
		if second, ok = number(b[1:n]); !ok || second >= 61 || n < 3 || n > 3 && b[3] != '.' {
			return b, false
		}
		b = b[n:]
	}
	half := bytes.TrimPrefix(b, []byte(" "))
	if len(half) >= 2 && half[1]|0x20 == 'm' && (half[0]|0x20 == 'a' || half[0]|0x20 == 'p') {
		if hour < 1 || hour > 12 {
			return b, false
		}
		if hour %= 12; half[0]|0x20 == 'p' {
			hour += 12
		}
		b = half[2:]
	}
	m.second = float64(hour*3600+minute*60) + second
	return b, true
}

// scanOffset reads the rest of a cell: nothing or, perhaps after a blank, Z, UTC, GMT or an offset
// ±hh:mm, ±hhmm or ±hh.
func (m *moment) scanOffset(b []byte) (ok bool) {
	if len(b) == 0 {
		return true
	}
	if b[0] == ' ' {
		b = b[1:]
	}
	if foldEqual(b, "z") || foldEqual(b, "utc") || foldEqual(b, "gmt") {
		return true
	}
	if len(b) < 3 || b[0] != '+' && b[0] != '-' {
		return false
	}
	rest := b[3:]
	if len(rest) == 3 && rest[0] == ':' {
		rest = rest[1:]
	}
	if len(rest) != 0 && len(rest) != 2 {
		return false
	}
	hour, ok1 := digits(b[1:3])
	minute, ok2 := digits(rest)
	if m.offset = hour*3600 + minute*60; b[0] == '-' {
		m.offset = -m.offset
	}
	return ok1 && ok2 && hour < 24 && minute < 60
}

// digits reads a few digits, all of b.
func digits(b []byte) (n int, ok bool) {
	for _, c := range b {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

func monthDays(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// days returns the days from 1970-01-01 in the Gregorian calendar.
func (m *moment) days() int {
	y, month := m.year, m.month
	if month <= 2 {
		y, month = y-1, month+12
	}
	y += 400 // a whole number of cycles, so that no quotient is negative
	return 365*y + y/4 - y/100 + y/400 + (153*(month-3)+2)/5 + m.day - 1 - 719468 - 146097
}

// unix returns the seconds from 1970-01-01 00:00 UTC.
func (m *moment) unix() float64 {
	return float64(float64(m.days())*daySeconds) + m.second - float64(m.offset)
}

// weekday returns the day of the week, 0 for Monday, as the cell's own calendar has it.
func (m *moment) weekday() int { return ((m.days()+3)%7 + 7) % 7 }

// yearOf returns the year of a Unix time, which need not be whole.
func yearOf(unix float64) int {
	// Howard Hinnant, chrono-compatible low-level date algorithms, civil_from_days.
	// 400 years later, so that it is not negative
	z := int(math.Floor(unix/daySeconds)) + 719468 + 146097
	era := z / 146097
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	year := yoe + era*400 - 400
	if (5*(doe-(365*yoe+yoe/4-yoe/100))+2)/153 >= 10 {
		year++
	}
	return year
}
