package dataset

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/noregret/noregret"
)

// ColumnKind says what a column is for.
type ColumnKind string

// The kinds of columns.
const (
	Numeric     ColumnKind = "numeric"     // one feature, named as the column
	Categorical ColumnKind = "categorical" // one feature "column=value" of value 1 per value
	Date        ColumnKind = "date"        // days, year, months and weekdays
	Timestamp   ColumnKind = "timestamp"   // those of Date and the hours
	Month       ColumnKind = "month"       // days, year and months
	TimeOfDay   ColumnKind = "time"        // hours since midnight, and the hours
	Text        ColumnKind = "text"        // words and pairs of words, hashed, of length 1 a row
	LabelKind   ColumnKind = "label"
	WeightKind  ColumnKind = "weight"
	Ignored     ColumnKind = "ignored"
)

var columnKinds = []ColumnKind{
	Numeric, Categorical, Date, Timestamp, Month, TimeOfDay, Text, LabelKind, WeightKind, Ignored,
}

// Column says how one column of a CSV file, or the values of one key of JSON lines, are read. It is
// all that a model file must keep of a column so that later files are read as the first one was.
// The zero value of every field but Name and Kind is the plain reading.
type Column struct {
	Name string     `json:"name"`
	Kind ColumnKind `json:"kind"`

	// Decimal and Thousands are the marks of the numbers of a Numeric column or one of weights: ""
	// is the point and no mark of thousands. Thousands is one of , . ' and a blank, never the
	// decimal mark.
	Decimal   string `json:"decimal,omitempty"`
	Thousands string `json:"thousands,omitempty"`
	// Percent says that every number of a Numeric column ends in %; its hundredth is the value.
	Percent bool `json:"percent,omitempty"`
	// Currency is the sign before or after every number of a Numeric column, such as $ or EUR.
	Currency string `json:"currency,omitempty"`
	// DateOrder says what dates of a Date or Timestamp such as 1/2/2024 are: "dmy" has the day
	// first, "mdy" the month; "" is for columns without such dates. "yyyymmdd" says that all dates
	// of a Date are written so.
	DateOrder string `json:"date_order,omitempty"`
	// Center is subtracted in float64 before a value is rounded to float32, which cannot tell two
	// Unix times of one minute apart. Of a Date, Timestamp or Month it is the Unix time of day 0.
	Center float64 `json:"center,omitempty"`
	// Texts is the number of texts at the start of the file by which the words of a Text column are
	// weighed. Slots are the slots, ascending, that more than one of them has, and Counts says how
	// many have each.
	Texts  int   `json:"texts,omitempty"`
	Slots  []int `json:"slots,omitempty"`
	Counts []int `json:"counts,omitempty"`
}

// notation returns how the numbers of the column are written.
func (c *Column) notation() notation {
	n := notation{decimal: '.', percent: c.Percent}
	if c.Decimal != "" {
		n.decimal = c.Decimal[0]
	}
	if c.Thousands != "" {
		n.thousands = c.Thousands[0]
	}
	n.currency = byte(slices.Index(currencies[:], c.Currency) + 1)
	return n
}

// setNotation is the inverse of notation.
func (c *Column) setNotation(n notation) {
	c.Decimal, c.Thousands, c.Percent, c.Currency = "", "", n.percent, n.sign()
	if n.decimal != '.' {
		c.Decimal = string(n.decimal)
	}
	if n.thousands != 0 {
		c.Thousands = string(n.thousands)
	}
}

// check returns an error if a field has a value that it cannot have. The error has no place.
func (c *Column) check() error {
	bad := func(format string, args ...any) error {
		return noregret.BadInputf("", "column %q: %s", c.Name, fmt.Sprintf(format, args...))
	}
	if !slices.Contains(columnKinds, c.Kind) {
		return bad("kind %q: it must be one of %q", c.Kind, columnKinds)
	}
	if c.Decimal != "" && c.Decimal != "," {
		return bad("decimal mark %q: it must be a comma, or left out for the point", c.Decimal)
	}
	if c.Thousands != "" && !slices.Contains([]string{",", ".", "'", " "}, c.Thousands) ||
		c.Thousands == "." && c.Decimal == "" || c.Thousands != "" && c.Thousands == c.Decimal {
		return bad("mark of thousands %q: it must be , . ' or a blank, and not the decimal mark", c.Thousands)
	}
	if c.Kind != Numeric && (c.Percent || c.Currency != "" ||
		c.Kind != WeightKind && (c.Decimal != "" || c.Thousands != "")) {
		return bad("it is %s: only numbers and weights have marks, only numbers percent or a currency", c.Kind)
	}
	if c.Currency != "" && (c.Percent || !slices.Contains(currencies[:], c.Currency)) {
		return bad("currency %q: it must be one of %q, and not with percent", c.Currency, currencies)
	}
	dated := c.Kind == Date || c.Kind == Timestamp
	if c.DateOrder != "" && (!dated || !slices.Contains(dateOrders[:], c.DateOrder)) &&
		(c.Kind != Date || c.DateOrder != packedDays) {
		return bad("order of dates %q: it must be one of %q, or %q without times, and only dates have one", c.DateOrder,
			dateOrders, packedDays)
	}
	dated = dated || c.Kind == Month
	if c.Center != 0 && c.Kind != Numeric && !dated {
		return bad("it is %s: only numbers and dates have a center", c.Kind)
	}
	if c.Kind != Text && (c.Texts != 0 || c.Slots != nil || c.Counts != nil) || c.Texts < 0 ||
		len(c.Slots) != len(c.Counts) {
		return bad("%d texts, %d slots and %d counts: a column of text has as many slots as counts, others have none",
			c.Texts, len(c.Slots), len(c.Counts))
	}
	for i, slot := range c.Slots {
		if slot < 0 || slot >= textSlots || i > 0 && slot <= c.Slots[i-1] || c.Counts[i] < 2 || c.Counts[i] > c.Texts {
			return bad("slot %d in %d texts: slots ascend from 0 to %d, and are in 2 to %d texts", slot, c.Counts[i],
				textSlots-1, c.Texts)
		}
	}
	if math.IsNaN(c.Center) || math.IsInf(c.Center, 0) || dated && !(math.Abs(c.Center) <= maxUnix) {
		return bad("center %v: it must be a finite number, of a date a Unix time of the years 0 to 9999", c.Center)
	}
	return nil
}

// parts returns the names of the features that the column always has, whatever its values: these
// features have the first numbers of a feature space. Those that depend on values are none of them.
func (c *Column) parts() []string {
	switch c.Kind {
	case Numeric:
		return []string{c.Name}
	case Date, Timestamp, Month, TimeOfDay:
	default:
		return nil
	}
	out := []string{c.Name + "=days", c.Name + "=year"}
	if c.Kind == TimeOfDay {
		out = []string{c.Name + "=hours"}
	} else {
		for m := range 12 {
			out = append(out, c.Name+"=month:"+strconv.Itoa(m+1))
		}
	}
	if c.Kind == Date || c.Kind == Timestamp {
		for _, d := range weekdays {
			out = append(out, c.Name+"=weekday:"+d)
		}
	}
	if c.Kind == Timestamp || c.Kind == TimeOfDay {
		for h := range 24 {
			out = append(out, c.Name+"=hour:"+strconv.Itoa(h))
		}
	}
	return out
}

// The positions of the parts of a date, and of a time of day, in what parts returns.
const (
	clockPart     = 0
	clockHourPart = 1

	dayPart     = 0
	yearPart    = 1
	monthPart   = 2
	weekdayPart = monthPart + 12
	hourPart    = weekdayPart + 7
)

// prefix returns how the names of features of the column begin, or "" if they do not follow it.
func (c *Column) prefix(missing Missing) string {
	switch c.Kind {
	case Text:
		return c.Name + "#"
	case Categorical, Date, Timestamp, Month, TimeOfDay:
		return c.Name + "="
	case Numeric:
		if missing == MissingIndicator {
			return c.Name + "="
		}
	}
	return ""
}
