package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/noregret/noregret"
)

// Arrays of JSON and ARFF are read by way of JSON lines and CSV: a reader rewrites the bytes before
// they are divided into pieces, and keeps the lines where they are, so that errors name the line of
// the file.

// convert replaces the reader of an input that is an array of JSON or ARFF.
func (in *input) convert() error {
	head, _ := in.peek(func(head []byte) bool { return len(head) >= 8 && (head[0] == 0 || conversionTold(head)) })
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	switch {
	case isJSONArray(head):
		in.written = "JSON array"
		in.buffer(&arrayReader{in: in.r, name: in.name, line: 1})
	case isARFF(head):
		a := &arffReader{in: in.r, name: in.name}
		if err := a.readHeader(); err != nil {
			return err
		}
		in.nominal, in.written = a.nominalNames(), "ARFF"
		in.buffer(a)
	}
	return nil
}

// conversionTold reports whether head is enough for isJSONArray and isARFF.
func conversionTold(head []byte) bool {
	blanks := bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n")
	if len(blanks) > 0 && blanks[0] != '%' && blanks[0] != '@' && blanks[0] != '[' {
		return true
	}
	return len(blanks) > 1 && blanks[0] == '[' && len(bytes.TrimLeft(blanks[1:], " \t\r\n")) > 0 ||
		len(blanks) > 0 && blanks[0] != '[' && arffLine(head) != nil
}

// isJSONArray reports whether a text begins as an array of objects.
func isJSONArray(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	if len(head) == 0 || head[0] != '[' {
		return false
	}
	head = bytes.TrimLeft(head[1:], " \t\r\n")
	return len(head) > 0 && (head[0] == '{' || head[0] == ']')
}

// arrayReader rewrites an array of objects as JSON lines: every object on one line, the one on
// which it begins. Objects that share a line get lines of their own.
type arrayReader struct {
	in      *bufio.Reader
	name    string
	line    int64
	out     bytes.Buffer
	state   arrayState
	depth   int
	text    bool // within a string
	escaped bool
	owed    int  // line ends within the object
	begun   bool // something was written on the line
	err     error
}

type arrayState int

const (
	arrayBefore arrayState = iota // before the bracket
	arrayFirst                    // after it
	arrayElement
	arrayComma // after an element
	arrayNext  // after a comma
	arrayAfter // after the closing bracket
)

// Read implements io.Reader.
func (a *arrayReader) Read(p []byte) (int, error) {
	for a.out.Len() == 0 {
		if a.err != nil {
			return 0, a.err
		}
		a.rewrite()
	}
	return a.out.Read(p)
}

// rewrite takes what the input has.
func (a *arrayReader) rewrite() {
	if _, err := a.in.Peek(1); err != nil {
		if a.err = err; errors.Is(err, io.EOF) && a.state != arrayAfter {
			a.fail("the array is not closed: the file is cut off, or a bracket is missing")
		}
		return
	}
	part, _ := a.in.Peek(a.in.Buffered())
	for _, c := range part {
		if a.byte(c); a.err != nil {
			return
		}
	}
	_, a.err = a.in.Discard(len(part))
}

func (a *arrayReader) fail(format string, args ...any) {
	a.err = noregret.BadInputf(fmt.Sprintf("%s:%d", a.name, a.line), format, args...)
}

func (a *arrayReader) byte(c byte) {
	if c == '\n' {
		a.line++
	}
	switch {
	case a.state == arrayElement:
		a.element(c)
	case c == '\n':
		a.out.WriteByte('\n')
		a.begun = false
	case isBlank(c) || c == 0xef || c == 0xbb || c == 0xbf:
	case c == '[' && a.state == arrayBefore:
		a.state = arrayFirst
	case c == '{' && (a.state == arrayFirst || a.state == arrayNext):
		if a.begun {
			a.out.WriteByte('\n')
		}
		a.state, a.depth, a.begun = arrayElement, 1, true
		a.out.WriteByte(c)
	case c == ',' && a.state == arrayComma:
		a.state = arrayNext
	case c == ']' && (a.state == arrayComma || a.state == arrayFirst):
		a.state = arrayAfter
	case a.state == arrayAfter:
		a.fail("%q follows the array: a file holds one array", c)
	default:
		a.fail("%q in the array: want objects with commas between them", c)
	}
}

// element is byte within an object.
func (a *arrayReader) element(c byte) {
	switch {
	case c == '\n' && a.text:
		c = '\t' // not allowed in a string, as the line end is not
		a.owed++
	case c == '\n':
		c = ' '
		a.owed++
	case a.escaped:
		a.escaped = false
	case a.text:
		a.escaped = c == '\\'
		a.text = c != '"'
	case c == '"':
		a.text = true
	case c == '{', c == '[':
		a.depth++
	case c == '}', c == ']':
		a.depth--
	}
	a.out.WriteByte(c)
	if a.depth > 0 {
		return
	}
	a.state = arrayComma
	for ; a.owed > 0; a.owed-- {
		a.out.WriteByte('\n')
		a.begun = false
	}
}
