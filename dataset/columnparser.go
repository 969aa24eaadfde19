package dataset

import (
	"bytes"
	"fmt"
	"math"
	"slices"
)

// columnParser reads single values as their columns say. CSV and JSON lines share it.
type columnParser struct {
	opt    *Options
	table  nameTable
	digits []byte // scratch for numbers in other notations
	terms  []uint64
	// the slots of a text and their values
	termSlot  []int
	termValue []float64
}

func newColumnParser(opt *Options, fixed map[string]uint32) columnParser {
	return columnParser{opt: opt, table: newNameTable(opt, fixed), digits: make([]byte, 0, 256)}
}

// number adds the value of a numeric column and returns it; NaN if it is missing.
func (p *columnParser) number(r *result, col *csvColumn, cell []byte) (float64, error) {
	if p.opt.missingNumber(cell) {
		return math.NaN(), p.missing(r, col, cell)
	}
	v, ok := col.number(cell, p.digits)
	if v -= col.center; !ok || !inFloat32(v) {
		return math.NaN(), p.notNumber(r, col, cell)
	}
	r.addNumber(col.feature, v)
	return v, nil
}

// number reads a cell in the column's notation. Where that has no marks of thousands, a cell may
// have those that can be nothing else: a blank, an apostrophe, or a comma with a point behind it.
func (c *csvColumn) number(cell, buf []byte) (v float64, ok bool) {
	if v, ok = c.notation.number(cell, buf); ok || c.notation != plainNumber {
		return v, ok
	}
	for _, mark := range []byte(", '") {
		if mark == ',' && bytes.IndexByte(cell, '.') < 0 {
			continue
		}
		if v, ok = (notation{decimal: '.', thousands: mark}).number(cell, buf); ok {
			return v, ok
		}
	}
	return v, ok
}

// addNumber adds a value to the row, unless it rounds to 0.
func (r *result) addNumber(feature uint32, v float64) {
	if v := float32(v); v != 0 {
		r.rows.Index = append(r.rows.Index, feature)
		r.rows.Value = append(r.rows.Value, v)
	}
}

// notNumber handles a cell of a numeric column that is not a usable number.
func (p *columnParser) notNumber(r *result, col *csvColumn, cell []byte) error {
	if missingNumber(cell, p.opt.MissingValues) {
		return p.missing(r, col, cell)
	}
	if v, ok := col.number(cell, nil); ok && inFloat32(v) {
		return fmt.Errorf("cell %s: without the column's center, %v, it leaves the range of float32, "+
			"±3.4028235e38: do not subtract that (--center)", quote(cell), col.center)
	} else if ok {
		return outOfFloat32("cell " + quote(cell))
	} else if isNonFinite(cell) {
		return valueFault("cell "+quote(cell), cell)
	}
	if set, currency := notationsOf(cell); set != 0 {
		advice := ""
		if currency == col.notation.currency {
			advice = p.opt.advise(", or say which mark is the decimal one (--decimal)")
		}
		return mixed("cell %s is a number, but written otherwise than the first ones, %s: write all of a column "+
			"in one way%s", quote(cell), col.notation, advice)
	}
	return mixedWith(cell, "cell %s is not a number, but the column's first value is one%s", quote(cell), p.opt.advise(
		"; declare a column of names with --categorical, or what means missing with --missing-values"))
}

// mixed is the error of a cell that is not what its column's first values are.
func mixed(format string, args ...any) error {
	return &RefusedColumn{Kind: Mixed, Reason: fmt.Sprintf(format, args...)}
}

// mixedWith is mixed with a cell that is neither number nor date.
func mixedWith(cell []byte, format string, args ...any) error {
	return &RefusedColumn{Kind: Mixed, Reason: fmt.Sprintf(format, args...), Cell: string(cell)}
}

// missing applies the rule for missing cells to one.
func (p *columnParser) missing(r *result, col *csvColumn, cell []byte) error {
	switch p.opt.Missing {
	case MissingError:
		return fmt.Errorf("cell %s: the value is missing; --missing zero and --missing indicator allow missing values",
			quote(cell))
	case MissingZero:
		return nil
	}
	p.table.buf = append(append(p.table.buf[:0], col.prefix...), "missing"...)
	return p.one(r, col, nil)
}

// date adds the features of a date or a time of day.
func (p *columnParser) date(r *result, col *csvColumn, cell []byte) error {
	var m moment
	var ok bool
	switch col.kind {
	case TimeOfDay:
		m, ok = scanTime(cell)
	case Month:
		m, ok = scanMonth(cell)
	default:
		m, ok = scanMoment(cell, col.order)
	}
	switch {
	case missingNumber(cell, p.opt.MissingValues):
		return p.missing(r, col, cell)
	case !ok:
		return p.notDate(col, cell)
	}
	add := func(part int, v float64) { r.addNumber(col.parts[part], v) }
	hour := int(min(m.second, daySeconds-1)) / 3600
	if col.kind == TimeOfDay {
		add(clockPart, m.second/3600)
		add(clockHourPart+hour, 1)
		return nil
	}
	add(dayPart, (m.unix()-col.center)/daySeconds)
	add(yearPart, float64(m.year-col.year))
	add(monthPart+m.month-1, 1)
	if col.kind == Month {
		return nil
	}
	add(weekdayPart+m.weekday(), 1)
	if col.kind == Timestamp {
		add(hourPart+hour, 1)
	}
	return nil
}

// notDate is the error of a cell that is not of the form of the column's first values.
func (p *columnParser) notDate(col *csvColumn, cell []byte) error {
	what, want := "a date", "YYYY-MM-DD, d.m.yyyy or 1 Jan yyyy, perhaps with Thh:mm:ss and Z, +hh:mm or nothing behind"
	advice := "; declare a column of names with --categorical"
	switch {
	case col.kind == Month:
		what, want = "a month", "YYYY-MM or Jan YYYY, from 1900 to 2099"
	case col.order == packedDays:
		what, want = "a day YYYYMMDD", "one from 19000101 to 20991231"
		advice = "; --center reads the column as numbers, --missing-values says what means missing"
	case col.kind == TimeOfDay:
		what, want = "a time of day", "hh:mm or hh:mm:ss, perhaps with AM or PM behind"
	case col.order == dayFirst:
		want = "d/m/yyyy, " + want
	case col.order == monthFirst:
		want = "m/d/yyyy, " + want
	}
	if (col.kind == Date || col.kind == Timestamp) && col.order != packedDays && ordersOf(cell) != 0 {
		return mixed("cell %s is a date, but not of the form of the first ones: want %s%s", quote(cell), want,
			p.opt.advise("; --date-order says whether the day or the month is first"))
	}
	return mixedWith(cell, "cell %s is not %s, but the column's first value is one: want %s%s", quote(cell), what, want,
		p.opt.advise(advice))
}

// category adds the feature "column=value"; a missing value is "column=".
func (p *columnParser) category(r *result, col *csvColumn, cell []byte) error {
	if isMissing(cell) || slices.Contains(p.opt.MissingValues, string(cell)) {
		cell = nil
	}
	p.table.buf = append(append(p.table.buf[:0], col.prefix...), cell...)
	return p.one(r, col, cell)
}

// one adds the feature of a cell, named in the table's buffer, with the value 1.
func (p *columnParser) one(r *result, col *csvColumn, cell []byte) error {
	f, ok, err := p.table.feature(r, p.table.buf)
	if err != nil {
		return err
	}
	if !ok {
		r.ignore([]byte(col.name), cell, col.kind != Categorical)
		return nil
	}
	r.rows.Index = append(r.rows.Index, f)
	r.rows.Value = append(r.rows.Value, 1)
	return nil
}
