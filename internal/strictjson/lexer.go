package strictjson

import (
	"bytes"
	"encoding/json"
	"strings"
)

const blank = " \t\r\n"

// lexer cuts JSON whose syntax has been looked at into tokens. (Those of json.Decoder take ten
// times as long.)
type lexer struct {
	raw []byte
	at  int
}

// token is the text of a brace, a bracket, a string, a number, true, false or null.
type token []byte

// skip goes to the next token, over blanks, colons and commas.
func (l *lexer) skip() {
	for l.at < len(l.raw) && strings.IndexByte(blank+":,", l.raw[l.at]) >= 0 {
		l.at++
	}
}

// more reports whether there is another item or member before the end of the list or object.
func (l *lexer) more() bool {
	l.skip()
	return l.raw[l.at] != ']' && l.raw[l.at] != '}'
}

// next is the next token.
func (l *lexer) next() token {
	l.skip()
	begin := l.at
	switch l.raw[begin] {
	case '{', '}', '[', ']':
		l.at++
	case '"':
		for l.at++; l.raw[l.at] != '"'; l.at++ {
			if l.raw[l.at] == '\\' {
				l.at++
			}
		}
		l.at++
	default:
		for l.at < len(l.raw) && strings.IndexByte(blank+",:]}", l.raw[l.at]) < 0 {
			l.at++
		}
	}
	return l.raw[begin:l.at]
}

// whole is the next value with all that is in it.
func (l *lexer) whole() []byte {
	l.skip()
	begin := l.at
	for depth := 0; ; {
		switch l.next()[0] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth == 0 {
			return l.raw[begin:l.at]
		}
	}
}

func (t token) number() bool { return t[0] == '-' || t[0] >= '0' && t[0] <= '9' }

// text is what a string says.
func (t token) text() (s string) {
	if bytes.IndexByte(t, '\\') < 0 {
		return string(t[1 : len(t)-1])
	}
	if err := json.Unmarshal(t, &s); err != nil {
		panic(err) // its syntax has been looked at
	}
	return s
}

// kind says what it is where its text is to be hidden.
func (t token) kind() string {
	switch {
	case t[0] == 'n':
		return "null"
	case t[0] == 't' || t[0] == 'f':
		return "true or false"
	case t[0] == '"':
		return "a string"
	case t[0] == '{':
		return "an object"
	case t.number():
		return "a number"
	}
	return "a list"
}
