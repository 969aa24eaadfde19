package strictjson

// valueEnd returns the end of the first JSON value of raw, or -1 if it finds no value: then the
// text is not valid JSON, or nested deeper than most, which is [deepest] if it is 0. It reports
// whether it is deeper. It is several times as fast as encoding/json, which calls a function for
// each byte. It does not check UTF-8.
func valueEnd(raw []byte, most int) (end int, deep bool) {
	if most == 0 {
		most = deepest
	}
	s := syntax{raw: raw, most: most}
	s.blanks()
	if !s.value(0) {
		return -1, s.deep
	}
	return s.at, false
}

// syntax checks the grammar of JSON (RFC 8259).
type syntax struct {
	raw  []byte
	at   int
	most int  // how many lists and objects may be nested within each other
	deep bool // the value has more
}

// deepest is how deep valueEnd looks into lists and objects where no bound is given.
const deepest = 100

// peek returns the next byte, 0 at the end: no value and no separator begins with it.
func (s *syntax) peek() byte {
	if s.at < len(s.raw) {
		return s.raw[s.at]
	}
	return 0
}

func (s *syntax) blanks() {
	for {
		switch s.peek() {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// value advances over a value and reports whether it is one.
func (s *syntax) value(depth int) bool {
	switch c := s.peek(); {
	case c == '"':
		return s.text()
	case c == '{' || c == '[':
		if depth == s.most {
			s.deep = true
			return false
		}
		return s.composed(c == '{', depth)
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	default:
		return s.number()
	}
}

// composed advances over an object or a list.
func (s *syntax) composed(object bool, depth int) bool {
	end := byte(']')
	if object {
		end = '}'
	}
	s.at++
	s.blanks()
	if s.peek() == end {
		s.at++
		return true
	}
	for {
		if object {
			if s.peek() != '"' || !s.text() {
				return false
			}
			if s.blanks(); s.peek() != ':' {
				return false
			}
			s.at++
			s.blanks()
		}
		if !s.value(depth + 1) {
			return false
		}
		s.blanks()
		switch s.peek() {
		case end:
			s.at++
			return true
		case ',':
			s.at++
			s.blanks()
		default:
			return false
		}
	}
}

func (s *syntax) word(w string) bool {
	if s.at+len(w) > len(s.raw) || string(s.raw[s.at:s.at+len(w)]) != w {
		return false
	}
	s.at += len(w)
	return true
}

// text advances over a string.
func (s *syntax) text() bool {
	for s.at++; s.at < len(s.raw); s.at++ {
		switch c := s.raw[s.at]; {
		case c == '"':
			s.at++
			return true
		case c < ' ':
			return false
		case c == '\\':
			if s.at++; !s.escaped() {
				return false
			}
		}
	}
	return false
}

// escaped advances to the last byte of what follows a backslash.
func (s *syntax) escaped() bool {
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for range 4 {
			s.at++
			switch c := s.peek(); {
			case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
			default:
				return false
			}
		}
		return true
	}
	return false
}

// digits advances over digits and reports whether there is one.
func (s *syntax) digits() bool {
	start := s.at
	for c := s.peek(); '0' <= c && c <= '9'; c = s.peek() {
		s.at++
	}
	return s.at > start
}

func (s *syntax) number() bool {
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		s.at++
	} else if !s.digits() {
		return false
	}
	if s.peek() == '.' {
		if s.at++; !s.digits() {
			return false
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		return s.digits()
	}
	return true
}
