package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// jsonScanner reads the tokens of one line of JSON (RFC 8259).
type jsonScanner struct {
	data []byte
	at   int
	buf  []byte // an unescaped string
}

// space skips white space.
func (s *jsonScanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end.
func (s *jsonScanner) peek() byte {
	if s.at < len(s.data) {
		return s.data[s.at]
	}
	return 0
}

func (s *jsonScanner) expected(what string) error {
	if s.at >= len(s.data) {
		return fmt.Errorf("expected %s, but the line ends", what)
	}
	return fmt.Errorf("expected %s, found %s", what, quote(s.data[s.at:]))
}

// word skips a literal if it is next.
func (s *jsonScanner) word(w string) bool {
	if !bytes.HasPrefix(s.data[s.at:], []byte(w)) {
		return false
	}
	s.at += len(w)
	return true
}

// text reads a string and returns it unescaped. The bytes are valid until the next string is read.
func (s *jsonScanner) text() ([]byte, error) {
	if s.peek() != '"' {
		return nil, s.expected("a string in double quotes")
	}
	start := s.at
	escaped := false
	for i := s.at + 1; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case c == '\\':
			escaped = true
			i++
		case c == '"':
			s.at = i + 1
			if !escaped {
				return s.data[start+1 : i], nil
			}
			return s.unescape(s.data[start:s.at])
		case c < ' ':
			return nil, fmt.Errorf("control character %#02x in a string", c)
		}
	}
	return nil, fmt.Errorf("string %s is not closed", quote(s.data[start:]))
}

func (s *jsonScanner) unescape(quoted []byte) ([]byte, error) {
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		return nil, fmt.Errorf("string %s: %w", quote(quoted), err)
	}
	s.buf = append(s.buf[:0], text...)
	return s.buf, nil
}

// numberToken reads a number in JSON's grammar and returns its text.
func (s *jsonScanner) numberToken() ([]byte, error) {
	start := s.at
	i := s.at
	digits := func() int {
		from := i
		for i < len(s.data) && s.data[i]-'0' <= 9 {
			i++
		}
		return i - from
	}
	if i < len(s.data) && s.data[i] == '-' {
		i++
	}
	lead := i
	n := digits()
	ok := n == 1 || n > 1 && s.data[lead] != '0'
	if ok && i < len(s.data) && s.data[i] == '.' {
		i++
		ok = digits() > 0
	}
	if ok && i < len(s.data) && s.data[i]|0x20 == 'e' {
		i++
		if i < len(s.data) && (s.data[i] == '+' || s.data[i] == '-') {
			i++
		}
		ok = digits() > 0
	}
	if !ok {
		return nil, s.expected("a number")
	}
	s.at = i
	return s.data[start:i], nil
}

// skipValue skips any JSON value at a depth.
func (s *jsonScanner) skipValue(depth int) error {
	switch s.peek() {
	case '{', '[':
		return s.skipNested(depth)
	case '"':
		_, err := s.text()
		return err
	}
	if s.word("true") || s.word("false") || s.word("null") {
		return nil
	}
	_, err := s.numberToken()
	return err
}

// skipNested skips an object or array, which must be valid JSON.
func (s *jsonScanner) skipNested(depth int) error {
	level := 0
	for i := s.at; i < len(s.data); i++ {
		switch s.data[i] {
		case '"':
			s2 := jsonScanner{data: s.data, at: i}
			if _, err := s2.text(); err != nil {
				return err
			}
			i = s2.at - 1
		case '{', '[':
			if level++; level+depth > maxDepth {
				return fmt.Errorf("objects are nested deeper than %d", maxDepth)
			}
		case '}', ']':
			if level--; level == 0 {
				if !json.Valid(s.data[s.at : i+1]) {
					return fmt.Errorf("%s is not valid JSON", quote(s.data[s.at:i+1]))
				}
				s.at = i + 1
				return nil
			}
		}
	}
	return fmt.Errorf("%s is not closed", quote(s.data[s.at:]))
}
