package dataset

import (
	"fmt"
	"strconv"

	"github.com/noregret/noregret"
)

// result is the parsed form of a chunk.
type result struct {
	// Class holds local numbers of labels; Index local numbers of names when local is set.
	rows   Block
	labels names // label tokens in order of first appearance in the chunk
	feats  names // feature names in order of first appearance in the chunk
	local  bool  // Index refers to feats
	// With local, numbers below direct are features, others are direct + number of the name.
	direct uint32

	at       []uint32 // text: the line of each row, counted from the chunk's first
	bad      []badLine
	badLines int64 // sum of their lines
	maxSeen  int64 // largest feature number of any row, or -1
	sawZero  bool  // an index 0 as written
	ignored  int64 // values dropped because the schema lacks their feature

	ignoredIn []IgnoredColumn // the first columns that have some of them

	census  []columnCensus // without a schema: of each column, or each name of counted
	counted names          // JSONL: keys with strings or large numbers
	large   ranges         // svmlight, VW: features with values beyond centerFrom

	named []bool // JSONL: of Options.named, a row has the key

	only  map[string]bool // the declared labels of Options.OnlyLabels, or nil
	nulls *Nulls          // nil unless they are counted
}

// badLine is a line that breaks a rule.
type badLine struct {
	row   int   // number of good rows of the chunk before it
	lines int64 // number of lines: a quoted cell of CSV may span several
	err   error
}

func (r *result) reset() {
	r.rows.Reset()
	r.at = r.at[:0]
	r.labels.reset()
	r.feats.reset()
	r.counted.reset()
	clear(r.large)
	r.local, r.direct, r.census = false, 0, r.census[:0]
	r.bad, r.badLines = r.bad[:0], 0
	r.maxSeen, r.sawZero, r.ignored, r.ignoredIn = -1, false, 0, r.ignoredIn[:0]
}

// ignore counts a value that is dropped because the schema lacks its feature.
func (r *result) ignore(column, value []byte, missing bool) {
	r.ignored++
	r.ignoredIn = ignoredIn(r.ignoredIn, column, value, missing)
}

// label numbers a label token within the chunk. It returns an error for an invalid label, and
// NoClass for one that is not among the declared ones.
func (r *result) label(tok []byte) (uint16, error) {
	if r.only != nil {
		name, err := canonicalLabel(tok)
		if err != nil || !r.only[name] {
			if err != nil {
				name = string(tok)
			}
			r.nulls.label(quote([]byte(name)))
			return NoClass, nil
		}
		tok = []byte(name) // of many tokens for one number, one is remembered
	}
	id, isNew := r.labels.id(tok)
	if isNew {
		if err := labelFault(tok); err != nil {
			return 0, err
		}
	}
	if id >= maxLabels {
		return 0, fmt.Errorf("label %s: there are more than %d different labels; is this a real-valued target?",
			quote(tok), maxLabels)
	}
	return uint16(id), nil
}

// mark is a state of a result that undo restores after a bad line.
type mark struct {
	index, labels, feats, ignoredIn int
	ignored                         int64
}

func (r *result) mark() mark {
	return mark{len(r.rows.Index), r.labels.len(), r.feats.len(), len(r.ignoredIn), r.ignored}
}

func (r *result) undo(m mark) {
	r.rows.Index, r.rows.Value = r.rows.Index[:m.index], r.rows.Value[:m.index]
	r.labels.truncate(m.labels)
	r.feats.truncate(m.feats)
	r.ignored, r.ignoredIn = m.ignored, r.ignoredIn[:m.ignoredIn]
}

// addBad records a bad line. It reports whether the rest of the chunk can be skipped because this
// chunk alone has more bad lines than allowed.
func (c *chunk) addBad(line int64, err error, allowed int64) (stop bool) {
	return c.addBadLines(line, 1, err, allowed)
}

// addBadLines is addBad for a row of CSV that spans several lines, all of which count. With
// declared labels the line becomes a null row.
func (c *chunk) addBadLines(line, lines int64, err error, allowed int64) (stop bool) {
	if c.only != nil {
		c.nulls.bad(func() error { return noregret.BadInputf(place(c.file, line), "%w", err) })
		c.rows.endRow(NoClass, 1)
		return false
	}
	c.bad = append(c.bad, badLine{
		c.rows.Len(), lines,
		noregret.BadInputf(place(c.file, line), "%w", err),
	})
	c.badLines += lines
	return c.badLines > allowed
}

// skip ends a line that is blank or a comment: with declared labels it is a null row, else no row.
func (r *result) skip() {
	if r.only != nil {
		r.nulls.blank()
		r.rows.endRow(NoClass, 1)
	}
}

// recordLine records the line of the row that was just added, if any.
func (c *chunk) recordLine(line int64) {
	if len(c.at) < c.rows.Len() {
		c.at = append(c.at, uint32(line-c.line))
	}
}

// truncate drops all rows after the first n.
func (c *chunk) truncate(n int) {
	rows := &c.rows
	rows.Class = rows.Class[:n]
	if rows.Weight != nil {
		rows.Weight = rows.Weight[:n]
	}
	if len(rows.Offset) > 0 {
		rows.Offset = rows.Offset[:n+1]
		rows.Index = rows.Index[:rows.Offset[n]]
		rows.Value = rows.Value[:rows.Offset[n]]
	}
}

// placeOf returns the place of row i of the chunk, or the file if there is no such row.
func (c *chunk) placeOf(i int) string {
	switch {
	case i >= 0 && i < len(c.at):
	case c.file == stdinName:
		return "standard input"
	default:
		return c.file
	}
	return place(c.file, c.line+int64(c.at[i]))
}

// place returns the place of a fault in a text file.
func place(file string, line int64) string {
	if file == stdinName {
		file = "standard input"
	}
	return file + ":" + strconv.FormatInt(line, 10)
}
