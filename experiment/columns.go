package experiment

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/pages"
	"github.com/noregret/noregret/internal/strictjson"
)

// columnMarks are in the place of the columns of a cohort's rows while the rest of a snapshot is
// JSON in memory. The columns are written and read in pieces, as they may be larger than that.
type columnMarks struct {
	Unit   string `json:"unit"`
	Slot   string `json:"slot"`
	Mask   string `json:"mask"`
	Values string `json:"values"`
}

var (
	marks    = columnMarks{"@unit", "@slot", "@mask", "@values"}
	markText = []byte(`"unit":"@unit","slot":"@slot","mask":"@mask","values":"@values"`)
)

// snapshotWriter writes parts of a snapshot. After an error it writes nothing.
type snapshotWriter struct {
	to  io.Writer
	n   int64
	err error
}

// Write implements [io.Writer].
func (w *snapshotWriter) Write(b []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.to.Write(b)
	w.n, w.err = w.n+int64(n), err
	return n, err
}

func (w *snapshotWriter) text(s string) { _, _ = w.Write([]byte(s)) }

func (w *snapshotWriter) value(v any) {
	b, err := strictjson.Encode(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	_, _ = w.Write(b)
}

// cohort writes a cohort with its columns.
func (w *snapshotWriter) cohort(c *cohort) {
	b, err := strictjson.Encode(c)
	if err != nil && w.err == nil {
		w.err = err
	}
	before, after, _ := bytes.Cut(b, markText)
	_, _ = w.Write(before)
	end := c.rows.size()
	for _, p := range []struct {
		name     string
		from, to int
	}{
		{`"unit":"`, unitAt, stateAt},
		{`","slot":"`, stateAt, maskAt},
		{`","mask":"`, maskAt, valuesAt},
		{`","values":"`, valuesAt, end},
	} {
		w.text(p.name)
		encode := base64.NewEncoder(base64.StdEncoding, w)
		for chunk := range c.rows.column(p.from, p.to) {
			_, _ = encode.Write(chunk)
		}
		_ = encode.Close() // w has the error
	}
	w.text(`"`)
	_, _ = w.Write(after)
}

// columnTables are the columns of a cohort's rows, as a snapshot has them.
type columnTables struct{ unit, slot, mask, values *pages.Table }

// column returns the column of a name, empty, and the bytes of its elements; nil for another name.
func (t *columnTables) column(memory *pages.Pool, name string) *pages.Table {
	to, size := (**pages.Table)(nil), 8
	switch name {
	case "unit":
		to = &t.unit
	case "slot":
		to, size = &t.slot, 4
	case "mask":
		to = &t.mask
	case "values":
		to = &t.values
	default:
		return nil
	}
	*to = pages.NewTable(memory, size)
	return *to
}

func lengthOf(t *pages.Table) int {
	if t == nil {
		return 0
	}
	return t.Len()
}

func (t *columnTables) len() int {
	if t == nil {
		return 0
	}
	return lengthOf(t.unit)
}

// fit reports whether the columns have the same number of rows.
func (t *columnTables) fit(width int) bool {
	n := t.len()
	return n == 0 && t == nil || lengthOf(t.slot) == n && lengthOf(t.mask) == n && lengthOf(t.values) == n*width
}

// rows returns the rows of the columns, which it releases.
func (t *columnTables) rows(memory *pages.Pool, width int) rows {
	x := rows{memory: memory, width: width}
	n := t.len()
	if n == 0 {
		return x
	}
	x.table, x.index = pages.NewTable(memory, x.size()), newUnitIndexOf(memory, n)
	b := make([]byte, x.size())
	for i := range n {
		t.unit.Read(i, 0, b[unitAt:stateAt])
		t.slot.Read(i, 0, b[stateAt:maskAt])
		t.mask.Read(i, 0, b[maskAt:valuesAt])
		for m := range width {
			t.values.Read(i*width+m, 0, b[valuesAt+8*m:valuesAt+8*m+8])
		}
		x.table.Append(b)
		x.index.add(memory, binary.LittleEndian.Uint64(b), i)
	}
	for _, c := range []*pages.Table{t.unit, t.slot, t.mask, t.values} {
		c.Release()
	}
	return x
}

// splitter reads a snapshot and takes the columns of the cohorts' rows out of its JSON. It does not
// check the syntax of the rest.
type splitter struct {
	in      *bufio.Reader
	memory  *pages.Pool
	rest    bytes.Buffer
	columns [][]*columnTables // by experiment and cohort

	open  []byte // the brackets that are open
	keys  [6]string
	inKey bool // the next string is a key
}

// splitColumns returns the JSON of a snapshot with empty columns, and the columns.
func splitColumns(r io.Reader, memory *pages.Pool) (rest []byte, columns [][]*columnTables, err error) {
	s := &splitter{in: bufio.NewReaderSize(r, 1<<16), memory: memory}
	for {
		b, err := s.in.ReadByte()
		if errors.Is(err, io.EOF) {
			return s.rest.Bytes(), s.columns, nil
		}
		if err == nil {
			err = s.next(b)
		}
		if err != nil {
			return nil, nil, err
		}
	}
}

func (s *splitter) next(b byte) error {
	s.rest.WriteByte(b)
	switch b {
	case '"':
		return s.text()
	case '{', '[':
		s.open = append(s.open, b)
		s.inKey = b == '{'
		if b == '{' && len(s.open) == 3 && s.keys[1] == "experiments" {
			s.columns = append(s.columns, nil)
		}
		if b == '{' && s.inCohort() {
			at := &s.columns[len(s.columns)-1]
			*at = append(*at, &columnTables{})
		}
	case '}', ']':
		s.open = s.open[:max(len(s.open)-1, 0)]
	case ':':
		s.inKey = false
	case ',':
		s.inKey = len(s.open) > 0 && s.open[len(s.open)-1] == '{'
	}
	return nil
}

// inCohort reports whether the innermost bracket is that of a cohort.
func (s *splitter) inCohort() bool {
	return len(s.open) == 5 && s.keys[1] == "experiments" && s.keys[3] == "cohorts" && len(s.columns) > 0
}

// text reads a string whose quote has been read.
func (s *splitter) text() error {
	if !s.inKey && s.inCohort() {
		of := s.columns[len(s.columns)-1]
		if len(of) > 0 {
			if t := of[len(of)-1].column(s.memory, s.keys[5]); t != nil {
				size := 8
				if s.keys[5] == "slot" {
					size = 4
				}
				s.rest.WriteByte('"')
				return s.column(t, size)
			}
		}
	}
	begin := s.rest.Len()
	for escaped := false; ; {
		b, err := s.in.ReadByte()
		if err != nil {
			return noregret.BadInputf("snapshot", "cannot be read: a string without an end: %w", err)
		}
		s.rest.WriteByte(b)
		if b == '"' && !escaped {
			break
		}
		escaped = b == '\\' && !escaped
	}
	if n := len(s.open); s.inKey && n < len(s.keys) {
		s.keys[n] = string(s.rest.Bytes()[begin : s.rest.Len()-1])
	}
	return nil
}

// column reads base64 up to the quote into a table of elements of some bytes.
func (s *splitter) column(t *pages.Table, size int) error {
	var text, b []byte // what is left over
	for {
		chunk, err := s.in.ReadSlice('"')
		end := err == nil
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return noregret.BadInputf("snapshot", "cannot be read: a column without an end: %w", err)
		}
		if end {
			chunk = chunk[:len(chunk)-1]
		}
		text = append(text, chunk...)
		n := len(text)
		if !end {
			n = n / 4 * 4
		}
		b, err = base64.StdEncoding.AppendDecode(b, text[:n])
		if err != nil {
			return noregret.BadInputf("snapshot", "cannot be read: a column: %w", err)
		}
		text = append(text[:0], text[n:]...)
		whole := len(b) / size * size
		t.Append(b[:whole])
		b = append(b[:0], b[whole:]...)
		if end && len(b) > 0 {
			return noregret.BadInputf("snapshot", "cannot be read: a column of %d bytes: want a multiple of %d",
				t.Len()*size+len(b), size)
		}
		if end {
			return nil
		}
	}
}
