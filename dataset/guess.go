package dataset

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
)

// lookRows is the number of rows that decide how columns are read, as far as one row does not.
const lookRows = 100

// centerFrom is the size from which on float32 does not hold every integer, 2^24. A column whose
// typical number is at least that large, and less than centerTo, is centered.
const centerFrom = 1 << 24

// isLarge reports whether float32 does not hold every integer of the size of v.
func isLarge(v float64) bool { return v >= centerFrom || v <= -centerFrom }

// centerTo bounds what is subtracted without --center. It holds every time in nanoseconds. Where a
// number is larger, so may be the differences, and float32 cannot hold twice its largest number.
const centerTo = 1 << 63

// guess finds out from the first values of a column how it is read.
type guess struct {
	kind    ColumnKind      // "" before the first value that is not missing
	set     notationSet     // Numeric: the notations of all numbers so far
	money   byte            // Numeric: their currency, or 0
	cell    string          // the first value
	marked  string          // the first number with a point or a comma
	orders  orderSet        // Date, Timestamp: the orders in which all dates so far are some
	plain   bool            // Numeric: the first is a JSON number, which has no notation to find
	packing bool            // Numeric: all numbers so far are days YYYYMMDD
	center  bool            // an option says that the column is centered
	gaps    bool            // a missing value is 0 with an indicator beside
	unnamed bool            // the header has no name for the column, as pandas and R write an index
	levels  []string        // Numeric: numbers among which the center is, if there is one
	usual   bool            // Numeric: the first of them is not large
	leveled bool            // Numeric: further ones are not needed
	zeros   int             // Numeric: numbers 0 and -1
	missing bool            // a value is missing
	alone   bool            // Numeric: one number that is none settles the rest
	days    map[string]bool // the different ones, up to fewestDays
	single  bool            // Month: a value so far is no season
	word    bool            // a value was one of missingWords
	settled bool            // further values cannot change the result
	values  int             // Categorical: values, the parts of them, and those that are words
	fields  int
	words   int
	kinds   map[string]bool
}

// see adds the next value. In a file whose delimiter is the comma, a number with a decimal comma is
// quoted; there a first number without one settles the column, but for one with a currency: the
// large ones of these often have marks of thousands and are quoted, the others not.
func (g *guess) see(cell []byte, opt *Options, commas bool) {
	if g.settled {
		return
	}
	if missingNumber(cell, opt.MissingValues) {
		g.missing = true
		g.word = g.word || missingWord(cell) && !slices.Contains(opt.MissingValues, string(cell))
		return
	}
	switch g.kind {
	case Categorical:
		g.sentence(cell)
		return
	case Month:
		if _, ok := scanMonth(cell); !ok {
			g.kind, g.settled = Categorical, true
		}
		g.single = g.single || !isSeason(cell)
		return
	case Date, Timestamp:
		orders := g.orders & ordersOf(cell)
		if orders != 0 {
			g.orders = orders // else the parser will report the cell
		}
		g.settled = g.orders.only() != ""
		return
	}
	if g.kind != "" {
		g.level(cell)
		if g.packing = g.packing && g.pack(cell); g.alone && !g.packing {
			g.settled = g.leveled
			return
		}
	}
	set, currency := notationsOf(cell)
	if set != 0 && g.marked == "" && bytes.ContainsAny(cell, ".,") {
		g.marked = string(cell)
	}
	if g.kind != "" {
		if set&g.set == 0 || currency != g.money {
			g.settled = true // the parser will report the cell
			return
		}
		g.set &= set
		return
	}
	g.cell = string(cell)
	moment, dated := scanMoment(cell, "")
	_, month := scanMonth(cell)
	_, timed := scanTime(cell)
	switch {
	case set != 0:
		g.kind, g.set, g.money = Numeric, set, currency
		g.alone = currency == 0 && set.has(plainNumber) && (commas || opt.Decimal == "." || set.with(',') == 0)
		g.packing = g.pack(cell)
		g.level(cell)
		g.settled = g.alone && g.leveled && !g.packing
	case isNonFinite(cell):
		g.kind, g.set, g.settled = Numeric, 1, true // the parser will report the cell
	case dated && moment.clock:
		g.kind, g.settled = Timestamp, true
	case dated:
		g.kind, g.settled = Date, true
	case timed:
		g.kind, g.settled = TimeOfDay, true
	case month:
		g.kind, g.single = Month, !isSeason(cell)
	case ordersOf(cell) != 0:
		g.kind, g.orders = Date, ordersOf(cell)
		if bytes.IndexByte(cell, ':') >= 0 {
			g.kind = Timestamp
		}
		g.settled = opt.DateOrder != "" || g.orders.only() != ""
	default:
		g.kind, g.settled = Categorical, bytes.IndexByte(cell, ' ') < 0
		g.sentence(cell)
	}
}

// sentence counts a value that may be a text, and the words in it: its parts with a letter, of
// which telephone and account numbers have few.
func (g *guess) sentence(cell []byte) {
	if g.kinds == nil {
		g.kinds = map[string]bool{}
	}
	g.values++
	for _, field := range bytes.Fields(cell) {
		if g.fields++; bytes.ContainsFunc(field, unicode.IsLetter) {
			g.words++
		}
	}
	g.kinds[string(cell)] = true
}

// isText reports whether the values are sentences: three parts on average with blanks between, a
// quarter of them words, and most values new.
func (g *guess) isText() bool {
	return g.kind == Categorical && g.fields >= 3*g.values && 4*g.words >= g.fields && 2*len(g.kinds) > g.values &&
		g.values >= 5
}

// number adds a JSON number, which has one notation. After one of missingWords the key has strings
// beside numbers: that word may be a value, as one after the number is.
func (g *guess) number(text []byte) {
	switch {
	case g.settled:
		return
	case g.kind == "" && g.word:
		g.kind, g.settled = Categorical, true
		return
	case g.kind == "":
		g.kind, g.set, g.cell, g.alone, g.plain = Numeric, 1, string(text), true, true
		g.packing = g.pack(text)
	case g.kind != Numeric:
		return
	default:
		g.packing = g.packing && g.pack(text)
	}
	g.level(text)
	g.settled = g.leveled && !g.packing
}

// level adds a number to those among which the center is. The numbers 0 and -1 are none of them: in
// a column of times they often say "never".
func (g *guess) level(cell []byte) {
	if g.leveled {
		return
	}
	n := g.set.first()
	n.currency = g.money
	v, ok := n.number(cell, nil)
	if ok && (v == 0 || v == -1) {
		g.zeros++
	}
	if !ok || v == 0 || v == -1 {
		return
	}
	g.usual = g.usual || len(g.levels) == 0 && !isLarge(v)
	g.levels = append(g.levels, string(cell))
	g.leveled = g.usual && !g.center && !g.gaps && !g.unnamed
}

// isIndex reports whether a column without a name has another whole number in each of the first
// rows, 0 among them at most once.
func (g *guess) isIndex() bool {
	if !g.unnamed || g.kind != Numeric || g.zeros > 1 || len(g.levels) < fewCells-1 {
		return false
	}
	for _, cell := range g.levels {
		if !isDigits([]byte(cell)) {
			return false
		}
	}
	return len(slices.Compact(slices.Sorted(slices.Values(g.levels)))) == len(g.levels)
}

// level is a number that level kept, and its place among them.
type level struct {
	value float64
	at    int
}

// sorted returns the numbers that level kept, ascending.
func (g *guess) sorted(n notation) (all []level) {
	for i, cell := range g.levels {
		if v, ok := n.number([]byte(cell), nil); ok && !math.IsInf(v, 0) {
			all = append(all, level{v, i})
		}
	}
	slices.SortStableFunc(all, func(a, b level) int { return cmp.Compare(a.value, b.value) })
	return all
}

// centerOf returns the center of a column that has these numbers, ascending, among the first, 0 for
// none: their median, of two in the middle the one that comes first. A column has one if an option
// says so, if the first number and the median are large, or if values are missing and 0 is far from
// all numbers: a missing value is read as 0, which is to be a usual value of the column.
func (g *guess) centerOf(all []level) float64 {
	if len(all) == 0 {
		return 0
	}
	low, high := all[(len(all)-1)/2], all[len(all)/2]
	median := low.value
	if high.at < low.at {
		median = high.value
	}
	missing := g.gaps && g.missing && g.zeros == 0 && isFar(all, median)
	if g.center || (missing || !g.usual && isLarge(median)) && math.Abs(median) < centerTo {
		return median
	}
	return 0
}

// isFar reports whether numbers, ascending, are so far from 0 that it is an outlier: all on one
// side, and their median four standard deviations away, by the middle half of them, which differ. A
// column with a long tail, which may be read by its logarithms, is not so far from 0.
func isFar(all []level, median float64) bool {
	const fewest, quartiles = 5, 1.349 // of a normal distribution, in standard deviations
	low, high := all[0].value, all[len(all)-1].value
	half := all[3*len(all)/4].value - all[len(all)/4].value
	return len(all) >= fewest && (low > 0 || high < 0) && half > 0 && math.Abs(median)*quartiles > 4*half
}

// fewestDays is the number of different days YYYYMMDD that make a column of numbers one of dates,
// unless its name does.
const fewestDays = 20

// pack adds a number and reports whether it is a day YYYYMMDD.
func (g *guess) pack(cell []byte) bool {
	_, ok := scanPacked(cell)
	if ok && len(g.days) < fewestDays {
		if g.days == nil {
			g.days = map[string]bool{}
		}
		g.days[string(cell)] = true
	}
	return ok
}

// isPacked reports whether the numbers are dates YYYYMMDD: all of them are valid days, and either
// the name of the column says so or so many differ. Of numbers of eight digits by chance one in a
// thousand is a valid day.
func (g *guess) isPacked(name string) bool {
	name = strings.ToLower(name)
	return g.kind == Numeric && g.packing &&
		(len(g.days) >= fewestDays || strings.Contains(name, "date") || strings.Contains(name, "day"))
}

// decimals returns the decimal mark that numbers of the guesses must have, 0 if none must, and
// whether some must have the point and some the comma.
func decimals(guesses []guess) (mark byte, both bool) {
	for _, g := range guesses {
		if g.kind != Numeric {
			continue
		}
		must := byte(0)
		if g.set.with(',') == 0 {
			must = '.'
		} else if g.set.with('.') == 0 {
			must = ','
		}
		both = both || must != 0 && mark != 0 && must != mark
		if must != 0 {
			mark = must
		}
	}
	return mark, both
}

// orderOf returns the order that dates of the guesses must have, "" if none must or they differ.
func orderOf(guesses []guess) (order string) {
	for _, g := range guesses {
		if must := g.orders.only(); must != "" && order != "" && must != order {
			return ""
		} else if must != "" {
			order = must
		}
	}
	return order
}

// others is what the other columns of a file say where a column is silent.
type others struct {
	decimal byte   // the mark, or 0
	order   string // of dates, or ""
}

// othersOf returns what columns say to others.
func othersOf(guesses []guess) others {
	mark, both := decimals(guesses)
	if both {
		mark = 0
	}
	return others{mark, orderOf(guesses)}
}

// order chooses the order of day and month of a column of dates: that of opt.DateOrder, or the only
// possible one, or that of the other columns. A column whose first date needs none has that of
// opt.DateOrder, for later ones.
func (g *guess) order(opt *Options, other string) (string, error) {
	if g.orders == 0 {
		return opt.DateOrder, nil
	}
	order := g.orders.only()
	switch {
	case opt.DateOrder != "":
		if _, ok := scanMoment([]byte(g.cell), opt.DateOrder); !ok {
			return "", mixed("cell %s is no date in the order %q (--date-order)", quote([]byte(g.cell)), opt.DateOrder)
		}
		return opt.DateOrder, nil
	case order == "" && other == "":
		return "", &RefusedColumn{Kind: Ambiguous, Reason: fmt.Sprintf("cell %s and those after it may have the day "+
			"first or the month: say which (--date-order %s or --date-order %s)", quote([]byte(g.cell)), dayFirst,
			monthFirst)}
	case order == "":
		return other, nil
	}
	return order, nil
}

// notation chooses among the notations of a numeric column. The decimal mark is that of
// opt.Decimal, or the only possible one, or that of the other columns, else the point. Whole
// amounts of money often have marks of thousands, so that the point of 1.234 € says nothing.
func (g *guess) notation(opt *Options, other byte) (notation, error) {
	set := g.set
	switch point, comma := set.free('.'), set.free(','); {
	case opt.Decimal != "":
		if set = set.with(opt.Decimal[0]); set == 0 {
			return notation{}, mixed("cell %s is not a number with the decimal mark %q (--decimal)",
				quote([]byte(g.cell)), opt.Decimal)
		}
	case set.with('.') == 0 || set.with(',') == 0:
	case point && !comma && (other == ',' || other == 0 && g.money != 0), comma && !point && other == 0:
		return notation{}, &RefusedColumn{Kind: Ambiguous, Reason: fmt.Sprintf("the mark in %s may be the decimal one "+
			"or that of thousands: say which mark is the decimal one (--decimal . or --decimal ,)",
			quote([]byte(g.marked)))}
	case other != 0:
		set = set.with(other)
	default:
		set = set.with('.')
	}
	n := set.first()
	if n.decimal == ',' || g.money != 0 || opt.Decimal != "" {
		grouped := n
		grouped.thousands = '.' + ',' - n.decimal
		if set.has(grouped) {
			n = grouped // later numbers may have the mark
		}
	}
	n.currency = g.money
	return n, nil
}

// applyWeight sets the marks of a column of weights.
func (g *guess) applyWeight(c *Column, opt *Options, other others) error {
	if g.kind != Numeric {
		return nil // the parser will report the cell
	}
	n, err := g.notation(opt, other.decimal)
	if err != nil {
		return inColumn(c.Name, err)
	}
	if !n.percent && n.currency == 0 {
		c.setNotation(n)
	}
	return nil
}

// apply sets kind and reading of a column. A column without a value is numeric, one that has words
// for missing values alone is categorical: they may be values.
func (g *guess) apply(c *Column, opt *Options, other others) error {
	switch c.Kind = g.kind; {
	case c.Kind == "" && g.word:
		c.Kind = Categorical
	case c.Kind == "":
		c.Kind = Numeric
	}
	if g.isText() {
		c.Kind = Text
	}
	day0 := func(m moment) float64 { return math.Floor(m.unix()/daySeconds) * daySeconds }
	if !g.center && g.isPacked(c.Name) {
		m, _ := scanPacked([]byte(g.cell))
		c.Kind, c.DateOrder, c.Center = Date, packedDays, day0(m)
		return nil
	}
	switch g.kind {
	case Month:
		m, _ := scanMonth([]byte(g.cell))
		if c.Center = day0(m); !g.single {
			c.Kind, c.Center = Categorical, 0
		}
		return nil
	case Date, Timestamp:
		order, err := g.order(opt, other.order)
		if err != nil {
			return inColumn(c.Name, err)
		}
		c.DateOrder = order
		m, _ := scanMoment([]byte(g.cell), order)
		c.Center = day0(m)
		return nil
	case Numeric:
	default:
		return nil
	}
	n := plainNumber
	if !g.plain {
		var err error
		if n, err = g.notation(opt, other.decimal); err != nil {
			return inColumn(c.Name, err)
		}
	}
	c.setNotation(n)
	c.Center = g.centerOf(g.sorted(n))
	return nil
}
