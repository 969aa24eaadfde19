package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/strictjson"
)

// source is a YAML or JSON document as compact JSON, with the lines of its values.
type source struct {
	file  string
	json  []byte
	lines map[string]int // by path, down to maxPlaced levels
	count int            // values so far
	// mostValues and mostJSON bound the number of the values and their size as JSON in bytes.
	mostValues, mostJSON int
}

// maxDepth bounds the nesting of a document, maxValues the number of its values, maxJSON their size
// as JSON in bytes.
const (
	maxDepth  = 64
	maxValues = 200_000
	maxJSON   = 8 * maxDefinition
)

// newSource returns the source of a document of the given size. Aliases in YAML multiply values and
// long texts, so a small document may have few of them: reading costs no more than its size allows.
// Without aliases a value has at least one byte, and a byte at most six as JSON.
func newSource(file string, size int) *source {
	return &source{
		file: file, lines: map[string]int{},
		mostValues: min(1000+size, maxValues), mostJSON: min(64<<10+100*size, maxJSON),
	}
}

// maxPlaced is the depth of the deepest field of a definition, such as objective.goals[0].metric.
// Anything deeper belongs to the value of an arm and has the arm's place.
const maxPlaced = 4

// readSource reads a document: JSON if its first character is a brace, YAML otherwise.
func readSource(file string, data []byte) (*source, error) {
	if !utf8.Valid(data) {
		return nil, noregret.BadInputf(file, "not valid UTF-8")
	}
	s := newSource(file, len(data))
	if b := bytes.TrimLeft(data, " \t\r\n"); len(b) > 0 && b[0] == '{' {
		return s, s.readJSON(data)
	}
	return s, s.readYAML(data)
}

// ReadValue reads one JSON value by the rules for the values of arms in a definition, and returns
// it in compact form. Place is that of errors.
func ReadValue(place string, data []byte) (json.RawMessage, error) {
	s := newSource(place, len(data))
	if err := s.readJSON(data); err != nil {
		return nil, err
	}
	return s.json, nil
}

// place returns the place of an error: file, line and path.
func (s *source) place(line int, path string) string {
	place := s.file + ":" + strconv.Itoa(line)
	if path != "" {
		place += ": " + path
	}
	return place
}

func (s *source) fault(line int, path, format string, args ...any) error {
	return noregret.BadInputf(s.place(line, path), format, args...)
}

// position is where a value stands: its path, how deep it is nested, its line.
type position struct {
	path        string
	depth, line int
}

// begin counts a value and records its line.
func (s *source) begin(at position) error {
	if s.count++; s.count > s.mostValues || at.depth > maxDepth {
		return s.fault(at.line, at.path, "more than %d values with aliases written out, or deeper than %d",
			s.mostValues, maxDepth)
	}
	if len(s.json) > s.mostJSON {
		return s.fault(at.line, "", "more than %d bytes with aliases written out", s.mostJSON)
	}
	if at.depth <= maxPlaced {
		s.lines[at.path] = at.line
	}
	return nil
}

// item returns the position of an item of the list at p and writes the comma before it. The caller
// sets the line.
func (s *source) item(p position, i int) position {
	if i > 0 {
		s.json = append(s.json, ',')
	}
	p.depth++
	if p.depth <= maxPlaced {
		p.path += "[" + strconv.Itoa(i) + "]"
	}
	return p
}

// member writes the name of a member of the object at p and returns the position of its value. The
// caller sets the line. Seen has the names before it.
func (s *source) member(p position, name string, line int, seen map[string]bool) (position, error) {
	if len(seen) > 0 {
		s.json = append(s.json, ',')
	}
	p.depth++
	if p.depth <= maxPlaced {
		p.path = strictjson.Member(p.path, name)
	}
	if seen[name] {
		return p, s.fault(line, p.path, "duplicate field %q", name)
	}
	seen[name] = true
	err := s.text(name)
	s.json = append(s.json, ':')
	return p, err
}

func (s *source) text(v string) error {
	b, err := strictjson.Encode(v)
	s.json = append(s.json, b...)
	return err
}

// number writes a JSON number unchanged if a float64 can hold it.
func (s *source) number(at position, text string) error {
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		return s.fault(at.line, at.path, "%.40s: want a finite number, one that a float64 can hold", text)
	}
	s.json = append(s.json, text...)
	return nil
}

// jsonReader reads the tokens of a JSON document with their lines.
type jsonReader struct {
	*source
	data []byte
	d    *json.Decoder
	upTo int64 // the byte up to which line is counted
	line int
}

func (s *source) readJSON(data []byte) error {
	r := &jsonReader{source: s, data: data, d: json.NewDecoder(bytes.NewReader(data)), line: 1}
	r.d.UseNumber()
	if err := r.value(position{}); err != nil {
		return err
	}
	if _, err := r.d.Token(); !errors.Is(err, io.EOF) {
		return s.fault(r.here(), "", "text follows the value")
	}
	return nil
}

// here returns the line of the decoder's position.
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
		return nil, 0, r.fault(line, "", "not valid JSON: %s", strings.TrimPrefix(e.Error(), "json: "))
	}
	return nil, 0, r.fault(1+bytes.Count(r.data, []byte("\n")), "", "not valid JSON: truncated")
}

// value reads the value at a position whose line is the token's.
func (r *jsonReader) value(at position) error {
	t, line, err := r.token()
	if err != nil {
		return err
	}
	at.line = line
	if err := r.begin(at); err != nil {
		return err
	}
	switch v := t.(type) {
	case bool:
		r.json = strconv.AppendBool(r.json, v)
	case json.Number:
		return r.number(at, v.String())
	case string:
		return r.text(v)
	case json.Delim:
		if v == '{' {
			return r.object(at)
		}
		return r.list(at)
	default:
		r.json = append(r.json, "null"...)
	}
	return nil
}

func (r *jsonReader) list(at position) error {
	r.json = append(r.json, '[')
	for i := 0; r.d.More(); i++ {
		if err := r.value(r.item(at, i)); err != nil {
			return err
		}
	}
	r.json = append(r.json, ']')
	_, _, err := r.token()
	return err
}

func (r *jsonReader) object(at position) error {
	r.json = append(r.json, '{')
	for seen := map[string]bool{}; r.d.More(); {
		t, line, err := r.token()
		if err != nil {
			return err
		}
		name, ok := t.(string)
		if !ok {
			return r.fault(line, at.path, "%v: want the name of a field", t)
		}
		p, err := r.member(at, name, line, seen)
		if err != nil {
			return err
		}
		if err := r.value(p); err != nil {
			return err
		}
	}
	r.json = append(r.json, '}')
	_, _, err := r.token()
	return err
}
