package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// jsonParser parses JSON lines: one object per line.
type jsonParser struct {
	columnParser
	plan *csvPlan
	look func(key, text []byte, number bool) // takes the values in place of the table, or nil
	at   int64                               // the line being parsed
	scan jsonScanner
	keys names    // paths of keys seen in the chunk
	row  []uint32 // per key: the latest row of the chunk (from 1) with it
	cur  uint32
	path []byte // of the key being read, with dots for nesting

	class  uint16
	weight float32
	// naming maps the features of the row to their keys. It is used only for lines in which two
	// keys may name the same feature.
	naming   map[string]string
	check    bool   // naming is used
	flat     []byte // a feature key outside "features", for the error
	wrapped  bool   // the row has a "features" object
	hasLabel bool
	seen     [2]bool // label key, weight key
}

func newJSONParser(opt *Options, fixed map[string]uint32) *jsonParser {
	return &jsonParser{columnParser: newColumnParser(opt, fixed), plan: new(csvPlan)}
}

// parse implements parser.
func (p *jsonParser) parse(c *chunk) {
	if c.plan != nil {
		p.plan = c.plan
	}
	p.table.direct = p.plan.direct
	c.local, c.direct, c.only = p.table.local(), p.table.direct, p.opt.only
	c.nulls = p.opt.newNulls()
	c.named = slices.Grow(c.named[:0], len(p.opt.named))[:len(p.opt.named)]
	clear(c.named)
	p.keys.reset()
	p.row, p.cur = p.row[:0], 0
	line := c.line
	for data := c.data; len(data) > 0; line++ {
		l := data
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			l, data = data[:i], data[i+1:]
		} else {
			data = nil
		}
		mark := c.mark()
		p.cur++
		p.at = line
		if err := p.line(&c.result, l); err != nil {
			c.undo(mark)
			if c.addBad(line, err, p.opt.MaxBadLines) {
				return
			}
		}
		c.recordLine(line)
	}
}

// line parses one line; the error is a plain sentence.
func (p *jsonParser) line(r *result, l []byte) error {
	s := &p.scan
	s.data, s.at = l, 0
	if s.space(); s.at == len(l) {
		r.skip()
		return nil
	}
	if !utf8.Valid(l) {
		return notUTF8(l)
	}
	p.class, p.weight, p.hasLabel, p.wrapped, p.seen = NoClass, 1, false, false, [2]bool{}
	p.flat, p.path = p.flat[:0], p.path[:0]
	if p.check = bytes.IndexByte(l, '=') >= 0 || bytes.IndexByte(l, '\\') >= 0; p.check {
		clear(p.naming)
	}
	from := len(r.rows.Index)
	if s.peek() != '{' {
		return fmt.Errorf("expected a JSON object, found %s", quote(l[s.at:]))
	}
	if err := p.object(r, 0); err != nil {
		return err
	}
	if s.space(); s.at < len(l) {
		return fmt.Errorf("%s follows the object; a line holds one object", quote(l[s.at:]))
	}
	if p.wrapped && len(p.flat) > 0 {
		return fmt.Errorf("key %s beside \"features\": move it into \"features\", or ignore it by name",
			quote(p.flat))
	}
	if !p.hasLabel && !p.opt.AllowNoLabel {
		return p.opt.noLabel()
	}
	if err := p.table.close(r, from); err != nil {
		return err
	}
	if p.opt.only != nil {
		p.weight = 1
	}
	r.rows.endRow(p.class, p.weight)
	return nil
}

// maxDepth is how deep objects may nest.
const maxDepth = 32

// object reads the next object. Depth 0 is the line itself, which holds label and weight.
func (p *jsonParser) object(r *result, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("objects are nested deeper than %d", maxDepth)
	}
	s := &p.scan
	prefix := len(p.path)
	s.at++ // the brace
	for first := true; ; first = false {
		s.space()
		if first && s.peek() == '}' {
			s.at++
			return nil
		}
		key, err := s.text()
		if err != nil {
			return err
		}
		p.path = append(p.path[:prefix], key...)
		if s.space(); s.peek() != ':' {
			return s.expected("a colon after the key")
		}
		s.at++
		s.space()
		if err := p.member(r, depth); err != nil {
			return err
		}
		p.path = p.path[:prefix]
		s.space()
		switch s.peek() {
		case ',':
			s.at++
		case '}':
			s.at++
			return nil
		default:
			return s.expected("a comma or a closing brace")
		}
	}
}

// member reads the value of the key p.path.
func (p *jsonParser) member(r *result, depth int) error {
	s := &p.scan
	for i := range r.named {
		if k := &p.opt.named[i]; (depth == 0 || !k.top) && string(p.path) == k.name {
			r.named[i] = true
		}
	}
	if depth == 0 {
		switch string(p.path) {
		case p.opt.LabelKey:
			if err := p.markSeen(&p.seen[0]); err != nil {
				return err
			}
			return p.label(r)
		case p.opt.WeightKey:
			if err := p.markSeen(&p.seen[1]); err != nil {
				return err
			}
			tok, err := s.numberToken()
			if err == nil {
				p.weight, err = weightOf(plainNumber, tok)
			}
			return inKey(p.path, err)
		case "features":
			if s.peek() == '{' {
				if err := p.markSeen(&p.wrapped); err != nil {
					return err
				}
				p.path = p.path[:0]
				return p.object(r, 1)
			}
		}
	}
	if slices.Contains(p.opt.IgnoreColumns, string(p.path)) {
		return s.skipValue(depth)
	}
	if depth == 0 && len(p.flat) == 0 {
		p.flat = append(p.flat, p.path...)
	}
	if s.peek() == '{' {
		if err := p.checkRepeated(); err != nil {
			return err
		}
		p.path = append(p.path, '.')
		return p.object(r, depth+1)
	}
	if err := p.checkRepeated(); err != nil {
		return err
	}
	return inKey(p.path, p.value(r))
}

func inKey(key []byte, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*RefusedColumn](err); ok {
		e.Column = string(key)
	}
	return fmt.Errorf("key %s: %w", quote(key), err)
}

// markSeen returns an error if a key with a special meaning occurs a second time.
func (p *jsonParser) markSeen(seen *bool) error {
	if *seen {
		return fmt.Errorf("duplicate key %s", quote(p.path))
	}
	*seen = true
	return nil
}

// checkRepeated returns an error if the row already has the feature key.
func (p *jsonParser) checkRepeated() error {
	id, isNew := p.keys.id(p.path)
	if isNew {
		p.row = append(p.row, 0)
	}
	if p.row[id] == p.cur {
		return fmt.Errorf("duplicate key %s", quote(p.path))
	}
	p.row[id] = p.cur
	return nil
}

// value reads a feature's value: number, string (one-hot), boolean (1 or 0) or null (missing).
func (p *jsonParser) value(r *result) error {
	s := &p.scan
	v := float32(1)
	if err := p.unlikeOthers(); err != nil {
		return err
	}
	col := p.plan.keys[string(p.path)]
	switch c := s.peek(); {
	case c == '"':
		text, err := s.text()
		if err != nil {
			return err
		}
		if p.look != nil {
			p.look(p.path, text, false)
			return nil
		}
		if col != nil && col.kind != Categorical {
			return p.special(r, col, text)
		}
		if p.opt.Schema == nil && (col == nil || !col.named) {
			if c := p.census(r); c != nil {
				c.value(text, p.at)
			}
		}
		p.table.buf = append(append(append(p.table.buf[:0], p.path...), '='), text...)
	case c == '-' || c-'0' <= 9:
		tok, err := s.numberToken()
		if err != nil {
			return err
		}
		if p.look != nil {
			p.look(p.path, tok, true)
			return nil
		}
		if p.opt.missingNumber(tok) && (col == nil || col.kind != Categorical) {
			return p.missingValue(r, tok)
		}
		x, _ := number(tok)
		if col != nil && col.kind == Categorical {
			p.table.buf = append(append(append(p.table.buf[:0], p.path...), '='), tok...)
			break
		}
		if col != nil && col.kind != Numeric {
			return p.special(r, col, tok)
		}
		if col != nil {
			x -= col.center
		}
		p.countLarge(r, col, x)
		if p.plan.counting[string(p.path)] {
			if c := p.census(r); c != nil {
				c.follow(x)
			}
		}
		if !inFloat32(x) {
			return valueFault("value "+quote(tok), tok)
		}
		if col != nil {
			r.addNumber(col.feature, x)
			return nil
		}
		v = float32(x)
		p.table.buf = append(p.table.buf[:0], p.path...)
	case s.word("true"), s.word("false"):
		if s.data[s.at-1] == 'e' && s.data[s.at-2] == 's' {
			v = 0
		}
		p.table.buf = append(p.table.buf[:0], p.path...)
	case s.word("null"):
		if p.look != nil {
			p.look(p.path, nil, false)
			return nil
		}
		if col != nil && col.kind == Text {
			return nil // as a text without words
		}
		return p.missingValue(r, nil)
	case c == '[':
		return errors.New("arrays are not allowed; give each element a key of its own")
	default:
		return s.expected("a number, a string, true, false or null")
	}
	if p.check {
		if err := p.distinct(); err != nil {
			return err
		}
	}
	f, ok, err := p.table.feature(r, p.table.buf)
	if err != nil {
		return err
	}
	switch {
	case !ok:
		r.ignore(p.path, bytes.TrimPrefix(p.table.buf[len(p.path):], []byte("=")), false)
	case v != 0:
		r.rows.Index = append(r.rows.Index, f)
		r.rows.Value = append(r.rows.Value, v)
	}
	return nil
}

// missingValue applies the rule for missing values to a number that means that, or to null, which
// tok is nil for. A model that lacks the key's indicator reads null as a key that is absent, and so
// do hashed features, of which a model does not tell.
func (p *jsonParser) missingValue(r *result, tok []byte) error {
	switch {
	case p.opt.Missing == MissingZero:
		return nil
	case p.opt.Missing == MissingError && tok == nil:
		tok = []byte("null")
		fallthrough
	case p.opt.Missing == MissingError:
		return p.missing(r, nil, tok)
	}
	p.table.buf = append(append(p.table.buf[:0], p.path...), "=missing"...)
	if tok == nil && (p.table.bits > 0 || p.table.lacks(p.table.buf)) {
		return nil
	}
	if p.check {
		if err := p.distinct(); err != nil {
			return err
		}
	}
	f, ok, err := p.table.feature(r, p.table.buf)
	switch {
	case err != nil:
		return err
	case ok:
		r.rows.Index = append(r.rows.Index, f)
		r.rows.Value = append(r.rows.Value, 1)
	default:
		r.ignore(p.path, nil, true)
	}
	return nil
}

// census returns the census of the key in the chunk, or nil if there are too many.
func (p *jsonParser) census(r *result) *columnCensus {
	if r.counted.len() == maxLooked {
		return nil
	}
	id, isNew := r.counted.id(p.path)
	if isNew {
		all := r.census
		if len(all) == cap(all) {
			all = append(all, columnCensus{})[:len(all)]
		}
		r.census = all[:len(all)+1]
		kinds := r.census[id].kinds
		if kinds != nil {
			*kinds = sketch{}
		}
		r.census[id] = columnCensus{kinds: kinds}
	}
	return &r.census[id]
}

// special adds the value of a key that is read in a way of its own: a string or a number.
func (p *jsonParser) special(r *result, col *csvColumn, text []byte) error {
	switch col.kind {
	case Date, Timestamp, Month, TimeOfDay:
		return p.date(r, col, text)
	case Text:
		return p.columnParser.text(r, col, text)
	}
	x, err := p.number(r, col, text)
	p.countLarge(r, col, x)
	return err
}

// countLarge counts the value of a key, which may have no column, if it is large and no schema says
// how to read the key. Smaller ones than in other formats are: to look the key up takes time, which
// values near 0 are spared.
func (p *jsonParser) countLarge(r *result, col *csvColumn, x float64) {
	const least = 1 << 10
	if p.opt.Schema != nil || x > -least && x < least {
		return
	}
	center := 0.0
	if col != nil {
		center = col.center
	}
	if c := p.census(r); c != nil {
		c.addCounted(x, center)
	}
}

// unlikeOthers returns an error if the key is named as a feature of another key that is read in a
// way of its own, as "a=missing" is beside a key "a" of dates. With a schema the names are settled.
func (p *jsonParser) unlikeOthers() error {
	if !p.check || len(p.plan.keys) == 0 || p.opt.Schema != nil {
		return nil
	}
	i := bytes.LastIndexByte(p.path, '=') // what follows it in the names of those features has none
	if i < 0 {
		return nil
	}
	col := p.plan.keys[string(p.path[:i])]
	if col == nil || col.kind == Categorical || col.kind == Text {
		return nil
	}
	missing := p.opt.Missing == MissingIndicator && string(p.path[i+1:]) == "missing"
	one := Column{Name: col.name, Kind: col.kind}
	if !missing && !slices.Contains(one.parts(), string(p.path)) {
		return nil
	}
	return fmt.Errorf("it is also the name of a feature of the key %s; rename one", quote(p.path[:i]))
}

// distinct returns an error if another key of the row names the feature in the table's buffer, as
// "a":"x" and "a=x":1 do.
func (p *jsonParser) distinct() error {
	if p.naming == nil {
		p.naming = map[string]string{}
	}
	if other, ok := p.naming[string(p.table.buf)]; ok {
		return fmt.Errorf("its feature %s is also that of the key %s; rename one", quote(p.table.buf),
			quote([]byte(other)))
	}
	p.naming[string(p.table.buf)] = string(p.path)
	return nil
}

// label reads the label: a string or a number; true is 1, false is 0, null is none.
func (p *jsonParser) label(r *result) error {
	s := &p.scan
	var tok []byte
	var err error
	switch c := s.peek(); {
	case c == '"':
		tok, err = s.text()
	case c == '-' || c-'0' <= 9:
		tok, err = s.numberToken()
	case s.word("true"):
		tok = []byte("1")
	case s.word("false"):
		tok = []byte("0")
	case s.word("null"):
		return nil
	default:
		err = s.expected("a string, a number, true, false or null")
	}
	if err == nil && (string(tok) == "?" || p.opt.missingLabel(tok)) {
		return nil
	}
	if err == nil {
		p.class, err = r.label(tok)
		p.hasLabel = true
	}
	return inKey(p.path, err)
}
