package dataset

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/noregret/noregret"
)

// columnCensus counts what tells a column of categories from one of names or of numbers that are
// badly written, and what tells whether float32 holds a column of numbers.
type columnCensus struct {
	cells int64  // categorical: values that are not missing
	near  int64  // those that are numbers or nearly
	units int64  // those that are numbers with a unit
	dates int64  // those that are dates or times of day
	odd   string // the first one that is not, with its line
	first string // the first value, with its line
	oddAt int64
	file  string // of first
	// of odd
	oddFile string
	at      int64
	kinds   *sketch // of the distinct values, nil before the first

	all, large span    // numeric: of the values, as they are rounded; of the large ones
	larges     int64   // numeric: large values
	ones       int64   // numeric: values that exceed all before them by 1
	low, high  float64 // numeric: values between change none of these, once there is one
}

// span is the range of some numbers.
type span struct {
	low, high float64
	some      bool // there is a number
}

func (s *span) add(v float64) { s.merge(span{v, v, true}) }

func (s *span) merge(t span) {
	switch {
	case !t.some:
	case !s.some:
		*s = t
	default:
		if t.low < s.low {
			s.low = t.low
		}
		if t.high > s.high {
			s.high = t.high
		}
	}
}

// value counts a value of a categorical column.
func (c *columnCensus) value(cell []byte, line int64) {
	if isMissing(cell) {
		return
	}
	if c.cells++; c.cells == 1 {
		c.first, c.at = string(cell), line
	}
	if c.kinds == nil {
		c.kinds = new(sketch)
	}
	c.kinds.add(hashBytes(cell))
	switch {
	case nearNumber(cell):
		c.near++
	case nearDate(cell):
		c.dates++
	case withUnit(cell):
		c.units++
	case c.odd == "":
		c.odd, c.oddAt = string(cell), line
	}
}

// number counts a value of a numeric column, NaN for a missing one.
func (c *columnCensus) number(v, center float64) {
	if math.IsNaN(v) {
		return
	}
	c.follow(v)
	c.addLarge(v, center)
	c.low, c.high = max(c.all.low, math.Nextafter(-centerFrom, 0)), min(c.all.high, math.Nextafter(centerFrom, 0))
}

// follow counts a value that may be the number of its row.
func (c *columnCensus) follow(v float64) {
	if v == c.all.high+1 && c.all.some {
		c.ones++
	}
	c.all.add(v)
}

// addLarge counts a value if it is large. Where a center was subtracted, those of 0 and -1 are so,
// which often say "never" and then need not be told apart.
func (c *columnCensus) addLarge(v, center float64) {
	if isLarge(v) {
		c.addCounted(v, center)
	}
}

// addCounted is addLarge for a value of any size that counts as large.
func (c *columnCensus) addCounted(v, center float64) {
	if v != -center && v != -1-center {
		c.large.add(v)
		c.larges++
	}
}

// addFrom adds the census of the next chunk of a file, or of the first one of the next file.
func (c *columnCensus) addFrom(d *columnCensus, file string) {
	if c.cells == 0 {
		c.file, c.first, c.at = file, d.first, d.at
	}
	if c.odd == "" {
		c.oddFile, c.odd, c.oddAt = file, d.odd, d.oddAt
	}
	c.cells, c.near, c.units, c.dates = c.cells+d.cells, c.near+d.near, c.units+d.units, c.dates+d.dates
	if d.cells > 0 {
		if c.kinds == nil {
			c.kinds = new(sketch)
		}
		c.kinds.merge(d.kinds)
	}
	if c.ones += d.ones; c.all.some && d.all.some && d.all.low == c.all.high+1 {
		c.ones++
	}
	c.all.merge(d.all)
	c.large.merge(d.large)
	c.larges += d.larges
}

// counts reports whether a column has the numbers of so many rows, in order from 0 or 1.
func (c *columnCensus) counts(center float64, rows int64) bool {
	first := c.all.low + center
	return rows >= fewCells && c.ones == rows-1 && (first == 0 || first == 1)
}

// censuses are those of all columns or keys, in order of first appearance.
type censuses struct {
	names []string
	all   map[string]*columnCensus
}

// of returns the census of a column, a new one if there is none.
func (c *censuses) of(name string) *columnCensus {
	one := c.all[name]
	if one == nil {
		if c.all == nil {
			c.all = map[string]*columnCensus{}
		}
		one = new(columnCensus)
		c.all[name] = one
		c.names = append(c.names, name)
	}
	return one
}

// newCensus returns the cleared census of a chunk. That of JSON lines grows up to columns.
func (r *result) newCensus(columns int) []columnCensus {
	if cap(r.census) < columns {
		r.census = append(r.census[:cap(r.census)], make([]columnCensus, columns-cap(r.census))...)
	}
	r.census = r.census[:columns]
	for i := range r.census {
		kinds := r.census[i].kinds
		if kinds != nil {
			*kinds = sketch{}
		}
		r.census[i] = columnCensus{kinds: kinds}
	}
	return r.census
}

// RefusedColumn is the cause of an error of [Load] or [Stream] about a column that cannot be meant
// to be read as it was: one of identifiers, of numbers or dates with other values among them, of
// those that may be read in two ways, or of numbers that float32 cannot tell apart, or one of two
// with the same name. What its text says helps, or [Options.IgnoreColumns].
type RefusedColumn struct {
	Column string
	Kind   FindingKind // IDLike, Mixed, Ambiguous, Narrow or SameName
	Reason string
	Cell   string // Mixed: the value that is no number or date as others are, where there is one
}

// Error implements error.
func (e *RefusedColumn) Error() string { return e.Reason }

// inColumn puts the column's name before an error of one of its cells.
func inColumn(name string, err error) error {
	if e, ok := errors.AsType[*RefusedColumn](err); ok {
		e.Column = name
	}
	return fmt.Errorf("column %q: %w", name, err)
}

const (
	fewCells  = 20  // fewer values prove nothing
	fewSteps  = 256 // a range with fewer steps of float32 is lost in rounding
	sameShare = .8  // of the values that are new ones in a column of names
	manyUnits = 50  // different numbers with a unit are no categories, as 2WD and 4WD are
)

// check returns an error if a column of so many rows cannot be meant to be read as it was. A column
// that may count the rows is not refused for that.
func (c *columnCensus) check(col *Column, rows int64, mayCount bool) error {
	if err := c.checkRange(col, rows); err != nil {
		return err
	}
	if !mayCount && c.counts(col.Center, rows) {
		return inColumn(col.Name, countsRows("its numbers count the %d rows, as an index does", rows))
	}
	if c.cells == 0 {
		return nil
	}
	kinds := c.kinds.count()
	bad := func(kind FindingKind, file string, line int64, format string, args ...any) error {
		refused := &RefusedColumn{Kind: kind, Reason: fmt.Sprintf(format, args...)}
		if kind == Mixed {
			refused.Cell = c.odd
		}
		return noregret.BadInputf(place(file, line), "%w", inColumn(col.Name, refused))
	}
	what, file, line := c.odd, c.oddFile, c.oddAt
	if what == "" {
		what, file, line = c.first, c.file, c.at
	}
	late := func(what string, count int64) error {
		return bad(Mixed, c.file, c.at, "%d of %d texts are %s (the first is %s), but the first value in the first %d "+
			"rows is no such text, and it decides: write all in one way from the first row on, or say that they are "+
			"names (--categorical)", count, c.cells, what, quote([]byte(c.first)), lookRows)
	}
	numbers, _ := notationsOf([]byte(c.first))
	switch {
	case c.dates*2 > c.cells && c.odd == "" && looksDated([]byte(c.first)):
		return late("dates or times of day", c.dates)
	case c.near*2 > c.cells && c.odd == "" && numbers != 0:
		return late("numbers, or nearly", c.near)
	case c.dates*2 > c.cells:
		return bad(Mixed, file, line, "%d of %d values are dates or times of day, but %s is none of the form "+
			"YYYY-MM-DD, d.m.yyyy, d/m/yyyy, 1 Jan yyyy, perhaps with hh:mm, or hh:mm, which are read as such: write "+
			"all of them so, name the values that mean missing (--missing-values), or say that they are names "+
			"(--categorical)", c.dates, c.cells, quote([]byte(what)))
	case c.near*2 > c.cells:
		return bad(Mixed, file, line, "%d of %d values are numbers, or nearly, but %s is none: write all in "+
			"one way, in one currency or none and without units, name the values that mean missing "+
			"(--missing-values), or say that they are names (--categorical)", c.near, c.cells, quote([]byte(what)))
	case (c.near+c.units)*2 > c.cells && kinds >= manyUnits:
		return bad(Mixed, c.file, c.at, "%d of %d values are numbers with a unit (the first value is %s): write the "+
			"numbers only, all in one unit, or say that they are names (--categorical)", c.units, c.cells,
			quote([]byte(c.first)))
	case c.cells >= fewCells && kinds >= sameShare*float64(c.cells):
		return bad(IDLike, c.file, c.at, "nearly each of %d values is new, as in a column of names, texts or numbers "+
			"of another notation (the first is %s): leave it out (--ignore-columns), or say that they are texts "+
			"(--text) or categories (--categorical)", c.cells, quote([]byte(c.first)))
	}
	return nil
}

// countsRows is the error of a column of row numbers.
func countsRows(format string, args ...any) *RefusedColumn {
	return &RefusedColumn{Kind: IDLike, Reason: fmt.Sprintf(format, args...) +
		": leave it out (--ignore-columns), or say that they are numbers (--center)"}
}

// checkRange returns an error if float32 cannot hold the differences between the values, or between
// the large ones beside smaller ones that may stand for something else, such as 0 and -999. Far
// from a center few values may lie together, as the last days of many years do.
func (c *columnCensus) checkRange(col *Column, rows int64) error {
	what, s := "values", c.all
	if col.Kind != Numeric {
		s = span{} // of a key that may count the rows
	}
	step, lost := lostRange(s.low, s.high)
	if !lost && c.larges >= fewCells && (col.Center == 0 || 2*c.larges > rows) {
		what, s = "large values", c.large
		step, lost = lostRange(s.low, s.high)
	}
	if !lost {
		return nil
	}
	if step == math.SmallestNonzeroFloat32 {
		return inColumn(col.Name, &RefusedColumn{Kind: Narrow, Reason: fmt.Sprintf("its values lie between %v and %v, "+
			"where float32 has steps of %.2g: write them in a smaller unit, or leave it out (--ignore-columns)", s.low,
			s.high, step)})
	}
	return inColumn(col.Name, &RefusedColumn{Kind: Narrow, Reason: fmt.Sprintf("its %s lie between %v and %v, "+
		"where float32 has steps of %.2g: subtract a typical value when it is read (--center), name the values that "+
		"mean missing (--missing-values), or leave it out (--ignore-columns)", what, s.low+col.Center,
		s.high+col.Center, step)})
}

// lostRange reports whether float32 has few steps between two different numbers that it does not
// hold exactly, and their length.
func lostRange(low, high float64) (step float64, lost bool) {
	step = max(max(math.Abs(low), math.Abs(high))*0x1p-23, math.SmallestNonzeroFloat32)
	exact := float64(float32(low)) == low && float64(float32(high)) == high
	return step, low < high && high-low < fewSteps*step && !exact
}

// ranges are those of some features.
type ranges map[int64]featureRange

// featureRange is the range of a feature. The name is that of VW, else "".
type featureRange struct {
	span
	name string
}

// add widens the range of a feature. The first name stays.
func (r *ranges) add(index int64, more featureRange) {
	if *r == nil {
		*r = ranges{}
	}
	if old, ok := (*r)[index]; ok {
		old.merge(more.span)
		more = old
	}
	(*r)[index] = more
}

// value adds a value of a feature that has no name.
func (r *ranges) value(index int64, v float64) { r.add(index, featureRange{span{v, v, true}, ""}) }

// sketch estimates the number of distinct hashes it was given, within some 3 % (HyperLogLog of
// 1,024 registers: Flajolet, Fusy, Gandouet and Meunier 2007). The order does not matter.
type sketch [1 << sketchBits]uint8

const sketchBits = 10

func (s *sketch) add(hash uint64) {
	i := hash >> (64 - sketchBits)
	if rank := uint8(bits.LeadingZeros64(hash<<sketchBits|1<<(sketchBits-1))) + 1; rank > s[i] {
		s[i] = rank
	}
}

func (s *sketch) merge(t *sketch) {
	for i, rank := range t {
		s[i] = max(s[i], rank)
	}
}

// count returns the estimate. Small numbers are counted by the registers that are still empty.
func (s *sketch) count() float64 {
	const m = float64(len(s))
	sum, empty := 0.0, 0
	for _, rank := range s {
		sum += math.Ldexp(1, -int(rank))
		if rank == 0 {
			empty++
		}
	}
	if estimate := .7213 / (1 + 1.079/m) * m * m / sum; estimate > 2.5*m || empty == 0 {
		return estimate
	}
	return m * math.Log(m/float64(empty))
}
