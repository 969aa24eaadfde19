package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// nameTable maps feature names to feature numbers in one of three ways: by hashing, by the fixed
// dictionary of a schema, or to local numbers of the chunk, which the consumer makes global.
type nameTable struct {
	opt    *Options
	bits   int
	fixed  map[string]uint32 // nil: the dictionary grows
	direct uint32            // smaller numbers are features already; local numbers start here
	sorter rowSorter
	buf    []byte
}

func newNameTable(opt *Options, fixed map[string]uint32) nameTable {
	return nameTable{opt: opt, bits: opt.Bits, fixed: fixed}
}

// local reports whether the numbers are local ones.
func (t *nameTable) local() bool { return t.bits == 0 && t.fixed == nil }

// feature returns the number of a feature; ok is false if the feature must be ignored.
func (t *nameTable) feature(r *result, name []byte) (f uint32, ok bool, err error) {
	if t.bits > 0 {
		return hashName(name, t.bits), true, nil
	}
	if t.fixed == nil {
		id, _ := r.feats.id(name)
		return t.direct + id, true, nil
	}
	f, ok = t.fixed[string(name)]
	if !ok && t.opt.Unseen == UnseenError {
		return 0, false, fmt.Errorf("the model has no feature %s%s", quote(name),
			t.opt.advise("; --unseen ignore drops such values"))
	}
	return f, ok, nil
}

// lacks reports whether the features are those of a model that has none of this name.
func (t *nameTable) lacks(name []byte) bool {
	_, ok := t.fixed[string(name)]
	return t.fixed != nil && !ok
}

// close ends a row whose nonzeros start at from: it sorts them and sums hashed ones. The consumer
// sorts local numbers.
func (t *nameTable) close(r *result, from int) error {
	if t.local() {
		return nil
	}
	idx, val := r.rows.Index[from:], r.rows.Value[from:]
	t.sorter.sort(idx, val)
	if t.bits == 0 {
		return nil
	}
	n := sumEqual(idx, val)
	if n < 0 {
		return fmt.Errorf("the sum of colliding features is out of the range of float32")
	}
	r.rows.Index, r.rows.Value = r.rows.Index[:from+n], r.rows.Value[:from+n]
	return nil
}

// csvParser parses the rows of CSV chunks.
type csvParser struct {
	columnParser
	cells  cellReader
	last   []byte // the latest label and its number
	lastID uint16
	census []columnCensus // of the chunk, nil with a schema
	line   int64          // of the row being parsed
	valid  bool           // the chunk is UTF-8
	quick  bool           // rows are read by lines where it can; tests compare both ways

	columns []quickColumn // of the plan
	// The row being parsed: what its numeric columns hold, NaN for a missing value, and the cells
	// of the others.
	values []float64
	texts  [][]byte
	class  uint16
	weight float32
}

func newCSVParser(opt *Options, fixed map[string]uint32) *csvParser {
	return &csvParser{columnParser: newColumnParser(opt, fixed), quick: opt.only == nil}
}

// parse implements parser.
func (p *csvParser) parse(c *chunk) {
	p.last = p.last[:0]
	p.cells.delim, p.cells.plain = c.plan.delim, p.opt.NoQuotes
	p.table.direct, c.only = c.plan.direct, p.opt.only
	c.nulls = p.opt.newNulls()
	c.direct = p.table.direct
	p.census = nil
	if p.opt.Schema == nil {
		p.census = c.newCensus(len(c.plan.columns))
	}
	p.valid = utf8.Valid(c.data)
	p.values = slices.Grow(p.values[:0], len(c.plan.columns))[:len(c.plan.columns)]
	p.texts = slices.Grow(p.texts[:0], len(c.plan.columns))[:len(c.plan.columns)]
	p.columns = p.columns[:0]
	for i := range c.plan.columns {
		col := &c.plan.columns[i]
		p.columns = append(p.columns,
			quickColumn{
				col.kind == Numeric && col.notation.readsPlain() && !p.opt.missingNumbers, col.feature, col.center,
			})
	}
	end, line := len(c.data), c.line
	data := append(c.data, padding...)
	for i := 0; i < end; {
		if p.quick && p.valid {
			if i, line = p.lines(c, data, end, i, line); i >= end {
				break
			}
		}
		n, _ := rowEnd(data[i:end], c.plan.delim, p.opt.plainLines())
		lines, stop := p.rows(c, data[i:i+n], line)
		if stop {
			break
		}
		line += lines
		i += n
	}
	c.local = p.table.local() && (c.feats.len() > 0 || !c.plan.sorted)
}

// rows parses what rowEnd found to be a row and returns the number of its lines. If its quotes do
// not pair up, it may be many rows that one stray quote joins. Then only the first line is bad, and
// the rest is split anew within the same bounds, so that the result does not depend on the division
// into chunks. stop is that of addBad.
func (p *csvParser) rows(c *chunk, row []byte, line int64) (lines int64, stop bool) {
	total := countLines(row)
	for from := line; len(row) > 0; {
		n, _ := rowEnd(row, c.plan.delim, p.opt.plainLines())
		mark := c.mark()
		p.line = from
		err := p.row(&c.result, c.plan, row[:n])
		lines := countLines(row[:n])
		if err != nil {
			c.undo(mark)
			p.last = p.last[:0]
			charge := lines
			if lines > 1 {
				if _, ok := errors.AsType[*quoteError](err); ok {
					charge, n = 1, bytes.IndexByte(row, '\n')+1
				}
				err = fmt.Errorf("%w (the quotes join lines %d-%d into one row)", err, from, from+lines-1)
			}
			if c.addBadLines(from, charge, err, p.opt.MaxBadLines) {
				return total, true
			}
			lines = charge
		}
		c.recordLine(from)
		from += lines
		row = row[n:]
	}
	return total, false
}

// countLines counts the lines of a row. The last one need not end in a newline.
func countLines(row []byte) int64 {
	n := int64(bytes.Count(row, []byte("\n")))
	if len(row) > 0 && row[len(row)-1] != '\n' {
		n++
	}
	return n
}

// row parses one row. The error has no code and no place.
func (p *csvParser) row(r *result, plan *csvPlan, row []byte) error {
	if !p.valid && !utf8.Valid(row) {
		return notUTF8(row)
	}
	if err := p.cells.split(row); err != nil {
		return err
	}
	cells := p.cells.cells
	if len(cells) == 0 {
		r.skip()
		return nil
	}
	if len(cells) != len(plan.columns) {
		if why, found := strings.CutPrefix(string(cells[0]), faultMark); found {
			return errors.New(why)
		}
		how := "" // explains an inferred delimiter
		if p.opt.Delimiter == "" {
			how = fmt.Sprintf(" (the delimiter %q was inferred from the first line; --delimiter overrides it)",
				plan.delim)
		}
		return fmt.Errorf("%d cells for %d columns%s", len(cells), len(plan.columns), how)
	}
	from := len(r.rows.Index)
	p.class, p.weight = NoClass, 1
	for i := range plan.columns {
		col := &plan.columns[i]
		p.texts[i] = cells[i]
		err := p.cell(r, col, i, cells[i])
		if p.census != nil && (err == nil || col.kind == Categorical) {
			p.count(col, i)
		}
		if err != nil {
			return inColumn(col.name, err)
		}
	}
	if !plan.labeled && !p.opt.AllowNoLabel {
		return fmt.Errorf("the row has no label")
	}
	if err := p.table.close(r, from); err != nil {
		return err
	}
	if p.opt.only != nil {
		p.weight = 1
	}
	r.rows.endRow(p.class, p.weight)
	return nil
}

// cell parses a cell of column i.
func (p *csvParser) cell(r *result, col *csvColumn, i int, cell []byte) (err error) {
	switch col.kind {
	case Numeric:
		p.values[i], err = p.number(r, col, cell)
	case Date, Timestamp, Month, TimeOfDay:
		err = p.date(r, col, cell)
	case Text:
		err = p.text(r, col, cell)
	case Categorical:
		err = p.category(r, col, cell)
	case LabelKind:
		p.class, err = p.label(r, cell)
	case WeightKind:
		p.weight, err = weightOf(col.notation, cell)
	case Ignored:
		if col.unseen && !isMissing(cell) {
			r.ignore([]byte(col.name), cell, false)
		}
	}
	return err
}

// count adds the row's value of column i to the census.
func (p *csvParser) count(col *csvColumn, i int) {
	switch {
	case col.kind == Numeric:
		p.census[i].number(p.values[i], col.center)
	case col.kind == Categorical && !col.named:
		p.census[i].value(p.texts[i], p.line)
	}
}

func (p *csvParser) label(r *result, cell []byte) (uint16, error) {
	if isMissing(cell) || p.opt.missingLabel(cell) {
		if !p.opt.AllowNoLabel {
			return 0, fmt.Errorf("cell %s: the label is missing", quote(cell))
		}
		return NoClass, nil
	}
	if len(p.last) == 0 || !bytes.Equal(p.last, cell) {
		id, err := r.label(cell)
		if err != nil {
			return 0, err
		}
		p.last, p.lastID = append(p.last[:0], cell...), id
	}
	return p.lastID, nil
}

// weightOf reads a weight.
func weightOf(n notation, cell []byte) (float32, error) {
	v, ok := n.number(cell, nil)
	if !ok || v < 0 || !inFloat32(v) {
		return 0, fmt.Errorf("weight %s: it must be a number from 0 to %v", quote(cell), math.MaxFloat32)
	}
	return float32(v), nil
}
