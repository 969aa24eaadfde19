package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/strictjson"
)

// node is a JSON value with the lines it stands on.
type node struct {
	line   int
	kind   nodeKind
	text   string  // of a scalar: the string itself, or the literal
	keys   []*node // of an object
	values []*node // of an object or an array
}

type nodeKind int

const (
	isNull nodeKind = iota
	isBool
	isNumber
	isString
	isArray
	isObject
)

func (k nodeKind) String() string {
	return [...]string{"null", "true or false", "a number", "a string", "a list", "an object"}[k]
}

// maxDepth bounds the nesting of a document, maxNodes the number of its values: aliases in YAML
// multiply.
const (
	maxDepth = 64
	maxNodes = 200_000
)

// readTree reads a document: JSON if its first character is a brace, YAML otherwise.
func readTree(file string, data []byte) (*node, error) {
	if !utf8.Valid(data) {
		return nil, noregret.BadInputf(file, "it is not UTF-8 text")
	}
	if b := bytes.TrimLeft(data, " \t\r\n"); len(b) > 0 && b[0] == '{' {
		return readJSON(file, data)
	}
	return readYAML(file, data)
}

func at(file string, line int) string { return file + ":" + strconv.Itoa(line) }

// jsonReader makes nodes of a decoder's tokens.
type jsonReader struct {
	file  string
	data  []byte
	d     *json.Decoder
	upTo  int64 // where line was counted to
	line  int
	count int
}

func readJSON(file string, data []byte) (*node, error) {
	r := &jsonReader{file: file, data: data, d: json.NewDecoder(bytes.NewReader(data)), line: 1}
	r.d.UseNumber()
	n, err := r.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := r.d.Token(); !errors.Is(err, io.EOF) {
		return nil, noregret.BadInputf(at(file, r.here()), "text after the object's end")
	}
	return n, nil
}

// here is the line of the decoder's position.
func (r *jsonReader) here() int {
	to := r.d.InputOffset()
	r.line += bytes.Count(r.data[r.upTo:to], []byte("\n"))
	r.upTo = to
	return r.line
}

func (r *jsonReader) token() (json.Token, int, error) {
	t, err := r.d.Token()
	line := r.here()
	if err == nil {
		return t, line, nil
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		line = 1 + bytes.Count(r.data[:min(int(e.Offset), len(r.data))], []byte("\n"))
		return nil, 0, noregret.BadInputf(at(r.file, line), "not valid JSON: %s",
			strings.TrimPrefix(e.Error(), "json: "))
	}
	return nil, 0, noregret.BadInputf(at(r.file, 1+bytes.Count(r.data, []byte("\n"))),
		"not valid JSON: it ends too early")
}

func (r *jsonReader) value(depth int) (*node, error) {
	t, line, err := r.token()
	if err != nil {
		return nil, err
	}
	if r.count++; r.count > maxNodes || depth > maxDepth {
		return nil, noregret.BadInputf(at(r.file, line), "more than %d values, or deeper than %d", maxNodes, maxDepth)
	}
	n := &node{line: line}
	switch v := t.(type) {
	case nil:
	case bool:
		n.kind, n.text = isBool, strconv.FormatBool(v)
	case json.Number:
		n.kind, n.text = isNumber, v.String()
	case string:
		n.kind, n.text = isString, v
	case json.Delim:
		n.kind = isArray
		if v == '{' {
			n.kind = isObject
		}
		return n, r.members(n, depth)
	}
	return n, nil
}

func (r *jsonReader) members(n *node, depth int) error {
	for r.d.More() {
		if n.kind == isObject {
			t, line, err := r.token()
			if err != nil {
				return err
			}
			key, ok := t.(string)
			if !ok {
				return noregret.BadInputf(at(r.file, line), "%v: want a field's name", t)
			}
			n.keys = append(n.keys, &node{line: line, kind: isString, text: key})
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.values = append(n.values, v)
	}
	_, _, err := r.token()
	return err
}

func readYAML(file string, data []byte) (*node, error) {
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, noregret.BadInputf(at(file, 1), "it is empty")
		}
		return nil, yamlError(file, err)
	}
	var more yaml.Node
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, noregret.BadInputf(at(file, max(more.Line, 1)), "a second document: want one")
	}
	count := 0
	return fromYAML(file, doc.Content[0], 0, &count)
}

// yamlError takes the line out of the parser's message.
func yamlError(file string, err error) *noregret.Error {
	s := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if rest, ok := strings.CutPrefix(s, "line "); ok {
		if number, rest, ok := strings.Cut(rest, ": "); ok {
			if n, e := strconv.Atoi(number); e == nil {
				line, s = n, rest
			}
		}
	}
	return noregret.BadInputf(at(file, line), "not valid YAML: %s", s)
}

func fromYAML(file string, y *yaml.Node, depth int, count *int) (*node, error) {
	if *count++; *count > maxNodes || depth > maxDepth {
		return nil, noregret.BadInputf(at(file, y.Line), "more than %d values, or deeper than %d", maxNodes, maxDepth)
	}
	n := &node{line: y.Line}
	switch y.Kind {
	case yaml.AliasNode:
		return fromYAML(file, y.Alias, depth+1, count)
	case yaml.ScalarNode:
		return n, n.scalar(file, y)
	case yaml.SequenceNode:
		n.kind = isArray
	case yaml.MappingNode:
		n.kind = isObject
	default:
		return nil, noregret.BadInputf(at(file, y.Line), "not a value")
	}
	for i, c := range y.Content {
		if n.kind == isObject && i%2 == 0 {
			if c.Kind != yaml.ScalarNode || c.Tag == "!!merge" {
				return nil, noregret.BadInputf(at(file, c.Line), "want a field's name")
			}
			n.keys = append(n.keys, &node{line: c.Line, kind: isString, text: c.Value})
			continue
		}
		v, err := fromYAML(file, c, depth+1, count)
		if err != nil {
			return nil, err
		}
		n.values = append(n.values, v)
	}
	return n, nil
}

// scalar fills in n from a YAML scalar; numbers are written as JSON writes them.
func (n *node) scalar(file string, y *yaml.Node) error {
	switch y.Tag {
	case "!!null":
		return nil
	case "!!str", "!!timestamp":
		n.kind, n.text = isString, y.Value
		return nil
	case "!!bool":
		var v bool
		if err := y.Decode(&v); err != nil {
			return noregret.BadInputf(at(file, y.Line), "%q: want true or false", y.Value)
		}
		n.kind, n.text = isBool, strconv.FormatBool(v)
		return nil
	case "!!int":
		var v int64
		if err := y.Decode(&v); err != nil {
			return noregret.BadInputf(at(file, y.Line), "%q: want a whole number of 64 bits", y.Value)
		}
		n.kind, n.text = isNumber, strconv.FormatInt(v, 10)
		return nil
	case "!!float":
		var v float64
		if err := y.Decode(&v); err != nil || !finite(v) {
			return noregret.BadInputf(at(file, y.Line), "%s: want a finite number", y.Value)
		}
		b, err := strictjson.Encode(v)
		n.kind, n.text = isNumber, string(b)
		return err
	}
	return noregret.BadInputf(at(file, y.Line), "%s: a value of the type %s has no place in JSON", y.Value, y.Tag)
}

// json writes the node as compact JSON.
func (n *node) json(b []byte) []byte {
	switch n.kind {
	case isNull:
		return append(b, "null"...)
	case isBool, isNumber:
		return append(b, n.text...)
	case isString:
		return append(b, quote(n.text)...)
	case isArray:
		b = append(b, '[')
		for i, v := range n.values {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.json(b)
		}
		return append(b, ']')
	}
	b = append(b, '{')
	for i, v := range n.values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, quote(n.keys[i].text)...), ':')
		b = v.json(b)
	}
	return append(b, '}')
}

func quote(s string) []byte {
	b, err := strictjson.Encode(s)
	if err != nil {
		return []byte(`""`) // strings are always written
	}
	return b
}

// ReadValue reads one JSON value by the rules for the values of arms in a definition, and returns
// it in compact form. The place is that of errors.
func ReadValue(place string, data []byte) (json.RawMessage, error) {
	n, err := readJSON(place, data)
	if err != nil {
		return nil, err
	}
	if k := n.duplicate(); k != nil {
		return nil, noregret.BadInputf(at(place, k.line), "the field %q stands twice", k.text)
	}
	if k := n.huge(); k != nil {
		return nil, noregret.BadInputf(at(place, k.line), "%v: want a number that a float64 can hold", k)
	}
	return n.json(nil), nil
}

// huge returns the first number of the tree that a float64 cannot hold, or nil.
func (n *node) huge() *node {
	if n.kind == isNumber {
		if _, err := strconv.ParseFloat(n.text, 64); err != nil {
			return n
		}
	}
	for _, v := range n.values {
		if k := v.huge(); k != nil {
			return k
		}
	}
	return nil
}

// key writes the node in a form that equal values share: keys in order, numbers without the
// liberties that JSON leaves (1, 1.0 and 1e0 are one number).
func (n *node) key(b []byte) []byte {
	switch n.kind {
	case isNumber:
		return append(b, numberKey(n.text)...)
	case isArray:
		b = append(b, '[')
		for i, v := range n.values {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.key(b)
		}
		return append(b, ']')
	case isObject:
		order := make([]int, len(n.keys))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(i, j int) int { return strings.Compare(n.keys[i].text, n.keys[j].text) })
		b = append(b, '{')
		for at, i := range order {
			if at > 0 {
				b = append(b, ',')
			}
			b = append(append(b, quote(n.keys[i].text)...), ':')
			b = n.values[i].key(b)
		}
		return append(b, '}')
	}
	return n.json(b)
}

// numberKey writes a JSON number as its digits, without zeros at either end, and the power of ten
// of the last one; 0 for zero.
func numberKey(text string) string {
	sign := ""
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		sign, text = "-", rest
	}
	digits, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		digits = text[:i]
		exponent, _ = strconv.Atoi(strings.TrimPrefix(text[i+1:], "+")) // out of range: as far as an int goes
	}
	if whole, part, ok := strings.Cut(digits, "."); ok {
		digits = whole + part
		exponent -= len(part)
	}
	digits = strings.TrimLeft(digits, "0")
	if digits == "" {
		return "0"
	}
	cut := strings.TrimRight(digits, "0")
	return sign + cut + "e" + strconv.Itoa(exponent+len(digits)-len(cut))
}

// valueKey is the key of a JSON value; what cannot be read is its own.
func valueKey(v json.RawMessage) string {
	n, err := readJSON("", v)
	if err != nil {
		return string(v)
	}
	return string(n.key(nil))
}

// SameValue reports whether two JSON values are equal as values, however they are written.
func SameValue(a, b json.RawMessage) bool {
	return bytes.Equal(a, b) || valueKey(a) == valueKey(b)
}

// duplicate returns the first key that stands twice in any object of the tree.
func (n *node) duplicate() *node {
	seen := make(map[string]bool, len(n.keys))
	for _, k := range n.keys {
		if seen[k.text] {
			return k
		}
		seen[k.text] = true
	}
	for _, v := range n.values {
		if k := v.duplicate(); k != nil {
			return k
		}
	}
	return nil
}

// String is what an error shows of a node.
func (n *node) String() string {
	s := string(n.json(nil))
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	return fmt.Sprintf("%s (%v)", strings.ToValidUTF8(s, ""), n.kind)
}
