package policy

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/noregret/noregret"
)

// scanner reads a flat JSON object, RFC 8259. It allocates only for strings with escapes.
type scanner struct {
	text []byte
	at   int
}

// value is a value of a field.
type value struct {
	kind   byte   // 'n' number, 's' string, 'b' boolean, '{', '[', or '0' for null
	text   []byte // of a string or a boolean, or of the number as it is written
	number float64
}

// shown is the value as errors show it.
func (v value) shown() string {
	switch v.kind {
	case 's':
		return strconv.Quote(string(v.text[:min(len(v.text), 80)]))
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '0':
		return "null"
	default:
		return string(v.text[:min(len(v.text), 80)])
	}
}

// fault returns an error about the byte at the scanner's position.
func (s *scanner) fault(want string) error {
	if s.at >= len(s.text) {
		return noregret.BadInputf("context", "not valid JSON: truncated, want %s", want)
	}
	return noregret.BadInputf("context", "not valid JSON at byte %d: want %s", s.at+1, want)
}

// blank skips white space.
func (s *scanner) blank() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// next reports whether the next byte other than white space is c, and if so skips it.
func (s *scanner) next(c byte) bool {
	if s.blank(); s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// fields calls field for each field of the object that is the whole text.
func (s *scanner) fields(field func(name []byte, v value) error) error {
	if !s.next('{') {
		return s.fault(`an object such as {"age": 30}`)
	}
	for first := true; !s.next('}'); first = false {
		if !first && !s.next(',') {
			return s.fault(`"," or "}"`)
		}
		s.blank()
		name, err := s.str()
		if err != nil {
			return err
		}
		if !s.next(':') {
			return s.fault(`":"`)
		}
		v, err := s.value()
		if err != nil {
			return err
		}
		if err := field(name, v); err != nil {
			return err
		}
	}
	if s.blank(); s.at < len(s.text) {
		return s.fault("nothing after the object")
	}
	return nil
}

// value reads a value. Of objects and lists it reads only the first byte, because no feature has
// one.
func (s *scanner) value() (value, error) {
	s.blank()
	if s.at >= len(s.text) {
		return value{}, s.fault("a value")
	}
	switch c := s.text[s.at]; {
	case c == '"':
		text, err := s.str()
		return value{kind: 's', text: text}, err
	case c == '{' || c == '[':
		s.at++
		return value{kind: c}, nil
	case s.word("true"):
		return value{kind: 'b', text: s.text[s.at-4 : s.at]}, nil
	case s.word("false"):
		return value{kind: 'b', text: s.text[s.at-5 : s.at]}, nil
	case s.word("null"):
		return value{kind: '0'}, nil
	default:
		return s.num()
	}
}

// word skips a literal if it comes next.
func (s *scanner) word(w string) bool {
	if len(s.text)-s.at >= len(w) && string(s.text[s.at:s.at+len(w)]) == w {
		s.at += len(w)
		return true
	}
	return false
}

// digits skips digits and returns how many there were.
func (s *scanner) digits() int {
	from := s.at
	for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
		s.at++
	}
	return s.at - from
}

// one skips one of the bytes a and b.
func (s *scanner) one(a, b byte) bool {
	if s.at < len(s.text) && (s.text[s.at] == a || s.text[s.at] == b) {
		s.at++
		return true
	}
	return false
}

// num reads a number.
func (s *scanner) num() (value, error) {
	const want = "a number, a string, true or false"
	from := s.at
	s.one('-', '-')
	zero := s.at < len(s.text) && s.text[s.at] == '0'
	if n := s.digits(); n == 0 || zero && n > 1 {
		return value{}, s.fault(want)
	}
	if s.one('.', '.') && s.digits() == 0 {
		return value{}, s.fault("digits after the point")
	}
	if s.one('e', 'E') {
		s.one('+', '-')
		if s.digits() == 0 {
			return value{}, s.fault("digits of the exponent")
		}
	}
	text := s.text[from:s.at]
	n, err := strconv.ParseFloat(string(text), 64)
	if err != nil { // out of the range of float64
		n = math.NaN()
	}
	return value{kind: 'n', text: text, number: n}, nil
}

// str reads a string.
func (s *scanner) str() ([]byte, error) {
	if s.at >= len(s.text) || s.text[s.at] != '"' {
		return nil, s.fault("a string in quotes")
	}
	from, escaped := s.at, false
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '\\':
			escaped = true
			s.at++
		case c < ' ':
			return nil, s.fault("no control character in a string")
		case c == '"':
			s.at++
			if !escaped {
				return s.text[from+1 : s.at-1], nil
			}
			var text string
			if json.Unmarshal(s.text[from:s.at], &text) != nil {
				return nil, s.fault("valid escapes in the string before")
			}
			return []byte(text), nil
		}
	}
	return nil, s.fault("the end of a string")
}
