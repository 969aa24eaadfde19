package dataset

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/noregret/noregret/internal/murmur"
)

// vwBits is the default number of hash bits of VW, as of Vowpal Wabbit.
const vwBits = 18

// vwParser parses the text format of Vowpal Wabbit for simple labels:
//
//	[label [importance]] [tag]|[namespace[:scale]] feature[:value] ... |namespace ...
//
// Features get the numbers that Vowpal Wabbit gives them, modulo 2^Bits. The importance is the
// row's weight.
type vwParser struct {
	opt    *Options
	sorter rowSorter
}

// parse implements parser.
func (p *vwParser) parse(c *chunk) {
	c.only, c.nulls = p.opt.only, p.opt.newNulls()
	line := c.line
	for data := c.data; len(data) > 0; line++ {
		l := data
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			l, data = data[:i], data[i+1:]
		} else {
			data = nil
		}
		mark := c.mark()
		if err := p.line(&c.result, l); err != nil {
			c.undo(mark)
			if c.addBad(line, err, p.opt.MaxBadLines) {
				return
			}
		}
		c.recordLine(line)
	}
}

// line parses one line and adds its row, if any. The error has no code and no place.
func (p *vwParser) line(r *result, l []byte) error {
	if len(bytes.TrimSpace(l)) == 0 {
		r.skip()
		return nil
	}
	head, rest, found := bytes.Cut(l, []byte{'|'})
	if !found {
		return fmt.Errorf("no | in %s: a line is a label, a | and features", quote(l))
	}
	class, weight, err := p.head(r, vwLabel(head))
	if err != nil {
		return err
	}
	from := len(r.rows.Index)
	for found {
		var space []byte
		space, rest, found = bytes.Cut(rest, []byte{'|'})
		if err := p.namespace(r, space); err != nil {
			return err
		}
	}
	idx, val := r.rows.Index[from:], r.rows.Value[from:]
	p.sorter.sort(idx, val)
	n := sumEqual(idx, val)
	if n < 0 {
		return fmt.Errorf("the sum of colliding features is out of the range of float32")
	}
	r.rows.Index, r.rows.Value = r.rows.Index[:from+n], r.rows.Value[:from+n]
	r.rows.endRow(class, weight)
	return nil
}

// vwLabel returns the tokens before the first bar without the tag, which touches the bar or begins
// with an apostrophe.
func vwLabel(head []byte) [][]byte {
	tokens := bytes.Fields(head)
	if last := len(tokens) - 1; last >= 0 && (tokens[last][0] == '\'' || !isBlank(head[len(head)-1])) {
		return tokens[:last]
	}
	return tokens
}

// head reads label and importance.
func (p *vwParser) head(r *result, tokens [][]byte) (class uint16, weight float32, err error) {
	switch {
	case len(tokens) > 2:
		return 0, 0, fmt.Errorf("%d tokens before the |: want a label and an importance, no initial prediction",
			len(tokens))
	case len(tokens) == 0 && !p.opt.AllowNoLabel:
		return 0, 0, fmt.Errorf("the line has no label before the |")
	case len(tokens) == 0:
		return NoClass, 1, nil
	case bytes.IndexByte(tokens[0], ':') >= 0:
		return 0, 0, fmt.Errorf("label %s: only simple labels are read, no costs and actions", quote(tokens[0]))
	}
	if class, err = r.label(tokens[0]); err != nil || len(tokens) == 1 {
		return class, 1, err
	}
	v, ok := number(tokens[1])
	if !ok || !(v >= 0) || !inFloat32(v) {
		return 0, 0, fmt.Errorf("importance %s: want a finite number at least 0", quote(tokens[1]))
	}
	if p.opt.only != nil {
		v = 1
	}
	return class, float32(v), nil
}

// namespace reads one namespace: its name, which touches the bar, and its features.
func (p *vwParser) namespace(r *result, l []byte) error {
	seed, scale := uint32(0), 1.0
	var space []byte
	if len(l) > 0 && !isBlank(l[0]) {
		tok := token(l, 0)
		l = l[len(tok):]
		name, factor, scaled := bytes.Cut(tok, []byte{':'})
		if scaled {
			v, ok := number(factor)
			if !ok || !inFloat32(v) {
				return fmt.Errorf("namespace %s: the scale must be a finite number", quote(tok))
			}
			scale = v
		}
		seed, space = vwHash(name, 0), name
	}
	mask := uint32(1)<<p.opt.Bits - 1
	for i := skipBlanks(l, 0); i < len(l); i = skipBlanks(l, i) {
		tok := token(l, i)
		i += len(tok)
		name, text, valued := bytes.Cut(tok, []byte{':'})
		if len(name) == 0 {
			return fmt.Errorf("token %s: the feature has no name", quote(tok))
		}
		v := 1.0
		if valued {
			var n int
			var ok bool
			if v, n, ok = scanNumber(text); !ok || n != len(text) || !inFloat32(v) {
				return valueFault("token "+quote(tok), text)
			}
			if !inFloat32(v * scale) {
				return fmt.Errorf("token %s: the value times the scale %v must lie in the range of float32",
					quote(tok), scale)
			}
		}
		if v32 := float32(v * scale); v32 != 0 {
			index := vwHash(name, seed) & mask
			if isLarge(v * scale) {
				r.largeNamed(int64(index), v*scale, space, name)
			}
			r.rows.Index = append(r.rows.Index, index)
			r.rows.Value = append(r.rows.Value, v32)
			r.maxSeen = max(r.maxSeen, int64(index))
		}
	}
	return nil
}

// largeNamed adds a large value of a feature with its name and that of its namespace.
func (r *result) largeNamed(index int64, v float64, space, name []byte) {
	more := featureRange{span: span{v, v, true}}
	if _, known := r.large[index]; !known {
		if more.name = string(name); len(space) > 0 {
			more.name = string(space) + "^" + more.name
		}
	}
	r.large.add(index, more)
}

// vwHash is the number that Vowpal Wabbit gives a name under a seed: a whole number is itself plus
// the seed, any other name its hash.
func vwHash(name []byte, seed uint32) uint32 {
	if !isDigits(name) {
		return murmur.Sum32(name, seed)
	}
	var n uint32
	for _, c := range name {
		n = 10*n + uint32(c-'0')
	}
	return n + seed
}

// looksLikeVW reports whether a line has a bar, and before it nothing but one or two numbers and a
// tag.
func looksLikeVW(line []byte) bool {
	head, _, found := bytes.Cut(line, []byte{'|'})
	if !found {
		return false
	}
	tokens := vwLabel(head)
	for _, t := range tokens {
		if _, err := strconv.ParseFloat(string(t), 64); err != nil {
			return false
		}
	}
	return len(tokens) > 0 && len(tokens) <= 2 || len(bytes.TrimSpace(head)) == 0
}
