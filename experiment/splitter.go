package experiment

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"io"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/pages"
)

// splitter reads a snapshot and takes the columns of the cohorts' rows out of its JSON. It does not
// check the syntax of the rest.
type splitter struct {
	in      *bufio.Reader
	memory  *pages.Pool
	make    *join.Assembler
	rest    bytes.Buffer
	columns [][]*join.Columns // by experiment and cohort

	open  []byte // the brackets that are open
	keys  [6]string
	inKey bool // the next string is a key
}

// splitColumns returns the JSON of a snapshot with empty columns, and the rows of the columns.
func splitColumns(in *bufio.Reader, memory *pages.Pool) (rest []byte, columns [][]*join.Columns, err error) {
	s := &splitter{in: in, memory: memory, make: join.NewAssembler(memory)}
	defer s.make.Wait()
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
			*at = append(*at, &join.Columns{})
		}
	case '}', ']':
		if s.inCohort() {
			if of := s.columns[len(s.columns)-1]; len(of) > 0 {
				s.make.Assemble(of[len(of)-1])
			}
		}
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
	return len(s.open) == 5 && s.open[4] == '{' && s.keys[1] == "experiments" && s.keys[3] == "cohorts" &&
		len(s.columns) > 0
}

// text reads a string whose quote has been read.
func (s *splitter) text() error {
	if !s.inKey && s.inCohort() {
		of := s.columns[len(s.columns)-1]
		if len(of) > 0 {
			t, size, err := of[len(of)-1].Column(s.memory, s.keys[5])
			if err != nil {
				return err
			}
			if t != nil {
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
		if len(text) > 0 {
			text = append(text, chunk...)
			chunk = text
		}
		n := len(chunk)
		if !end {
			n = n / 4 * 4
		}
		b, err = base64.StdEncoding.AppendDecode(b, chunk[:n])
		if err != nil {
			return noregret.BadInputf("snapshot", "cannot be read: a column: %w", err)
		}
		text = append(text[:0], chunk[n:]...)
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
