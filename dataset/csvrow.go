package dataset

import (
	"bytes"
	"fmt"
)

// quoteState finds the ends of CSV rows: a newline inside a quoted cell does not end a row. A quote
// opens a quoted cell only at the start of a cell.
type quoteState struct {
	delim byte
	plain bool // quotes are ordinary characters
	in    uint8
}

const (
	cellStart uint8 = iota
	inPlain
	inQuotes
	afterQuote // after a quote in quotes: the end of the cell, or the first half of a doubled quote
)

// step consumes one byte and reports whether it ends a row.
func (q *quoteState) step(c byte) bool {
	switch {
	case q.in == inQuotes:
		if c == '"' {
			q.in = afterQuote
		}
	case c == '"' && (q.in == cellStart || q.in == afterQuote):
		q.in = inQuotes
	case c == '\n':
		q.in = cellStart
		return true
	case c == q.delim:
		q.in = cellStart
	default:
		q.in = inPlain
	}
	return false
}

// lastLine consumes b and returns the end of the last row that ends in it, or 0.
func (q *quoteState) lastLine(b []byte) int {
	if q.plain {
		return bytes.LastIndexByte(b, '\n') + 1
	}
	if q.in != inQuotes && q.in != afterQuote && bytes.IndexByte(b, '"') < 0 {
		if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
			q.in = inPlain // not exact, but the caller scans the rest again
			return i + 1
		}
		if len(b) > 0 {
			q.in = inPlain
			if b[len(b)-1] == q.delim {
				q.in = cellStart
			}
		}
		return 0
	}
	last := 0
	for i, c := range b {
		if q.step(c) {
			last = i + 1
		}
	}
	return last
}

// rowEnd returns the length of the first row of data with its newline; whole is false if data ends
// before the row does. If plain is set, quotes are ordinary characters.
func rowEnd(data []byte, delim byte, plain bool) (n int, whole bool) {
	end := bytes.IndexByte(data, '\n')
	first := data
	if end >= 0 {
		first = data[:end]
	}
	if plain || bytes.IndexByte(first, '"') < 0 {
		if end < 0 {
			return len(data), false
		}
		return end + 1, true
	}
	q := quoteState{delim: delim}
	for i, c := range data {
		if q.step(c) {
			return i + 1, true
		}
	}
	return len(data), false
}

// cellReader splits rows into cells. It reuses its memory for every row.
type cellReader struct {
	delim byte
	plain bool // quotes are ordinary characters
	cells [][]byte
	buf   []byte // unescaped quoted cells
}

// quoteError is the error of a row whose quotes do not pair up, so that its end is uncertain.
type quoteError struct{ sentence string }

func (e *quoteError) Error() string { return e.sentence }

func badQuote(format string, args ...any) error { return &quoteError{fmt.Sprintf(format, args...)} }

// split sets r.cells to the cells of a row found by rowEnd. Blanks around unquoted cells are not
// part of them. A blank row has no cells. The error is a *quoteError.
func (r *cellReader) split(row []byte) error {
	r.cells, r.buf = r.cells[:0], r.buf[:0]
	row = bytes.TrimSuffix(row, []byte("\n"))
	row = bytes.TrimSuffix(row, []byte("\r"))
	if len(row) == 0 {
		return nil
	}
	quotes := !r.plain && bytes.IndexByte(row, '"') >= 0
	for {
		if quotes && len(row) > 0 && row[0] == '"' {
			cell, n, err := r.unquote(row)
			if err != nil {
				return err
			}
			r.cells = append(r.cells, cell)
			if n == len(row) {
				return nil
			}
			row = row[n+1:]
			continue
		}
		i := bytes.IndexByte(row, r.delim)
		cell := row
		if i >= 0 {
			cell = row[:i]
		}
		if quotes && bytes.IndexByte(cell, '"') >= 0 {
			return badQuote("column %d: cell %s: a quote inside a cell that does not start with one; quote the whole "+
				"cell and double the quotes in it", len(r.cells)+1, quote(cell))
		}
		r.cells = append(r.cells, trimBlanks(cell))
		if i < 0 {
			return nil
		}
		row = row[i+1:]
	}
}

// unquote reads the quoted cell at the start of row and returns it with its length in bytes.
func (r *cellReader) unquote(row []byte) (cell []byte, n int, err error) {
	from := len(r.buf)
	for i := 1; i < len(row); i++ {
		if row[i] != '"' {
			r.buf = append(r.buf, row[i])
			continue
		}
		if i+1 == len(row) || row[i+1] == r.delim {
			return r.buf[from:len(r.buf):len(r.buf)], i + 1, nil
		}
		if i++; row[i] != '"' {
			return nil, 0, badQuote("column %d: %s follows a closing quote; a quote inside a quoted cell must be "+
				"doubled", len(r.cells)+1, quote(row[i:i+1]))
		}
		r.buf = append(r.buf, '"')
	}
	return nil, 0, badQuote("column %d: the quote that opens the cell is never closed", len(r.cells)+1)
}

func trimBlanks(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// isMissing reports whether a cell denotes a missing value.
func isMissing(cell []byte) bool {
	switch len(cell) {
	case 0:
		return true
	case 1:
		return cell[0] == '?'
	case 2:
		return foldEqual(cell, "na")
	case 3:
		return foldEqual(cell, "nan") || foldEqual(cell, "n/a")
	case 4:
		return foldEqual(cell, "null")
	}
	return false
}

// findDelimiter returns the most frequent of comma, semicolon and tab outside quotes in the first
// row; of equally frequent ones, the first in this order; and | if there is none of them. ended is
// false if the row continues after head. If plain is set, quotes are ordinary characters.
func findDelimiter(head []byte, plain bool) (delim byte, ended bool) {
	var count [3]int
	quoted, pipe := false, false
	for _, c := range bytes.TrimLeft(head, "\r\n") {
		if c == '"' && !plain {
			quoted = !quoted
		}
		if quoted {
			continue
		}
		if ended = c == '\n'; ended {
			break
		}
		if i := bytes.IndexByte([]byte(",;\t"), c); i >= 0 {
			count[i]++
		}
		pipe = pipe || c == '|'
	}
	if pipe && count == [3]int{} {
		return '|', ended
	}
	best := 0
	for i, n := range count {
		if n > count[best] {
			best = i
		}
	}
	return ",;\t"[best], ended
}
