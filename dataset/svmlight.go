package dataset

import (
	"bytes"
	"fmt"
	"strconv"
)

// svmParser parses svmlight lines: label [qid:N] index:value ... # comment.
type svmParser struct {
	opt    *Options
	shift  uint32 // subtracted from an index as written
	dim    int64  // with a fixed schema: the number of features; else -1
	sorter rowSorter
	limit  int64  // the largest index that a line may use
	most   int64  // the largest index that lines reads: of those that the schema has
	last   []byte // the latest label token of the chunk; lastID is its local number
	lastID uint16
	maxBad int64

	unknown []int64 // the indices of the line that the schema lacks
	name    []byte
	large   *ranges // of the chunk, for lines
	quick   bool    // lines that are written in the usual way are parsed by lines
}

func newSVMParser(opt *Options) *svmParser {
	p := &svmParser{opt: opt, dim: -1, maxBad: opt.MaxBadLines, quick: opt.Bits == 0 && opt.only == nil}
	if opt.Base == BaseOne && opt.Bits == 0 {
		p.shift = 1
	}
	if opt.Schema != nil && opt.Bits == 0 {
		p.dim = int64(opt.Schema.Dim)
	}
	switch {
	case opt.Bits > 0:
		p.limit = maxHashedIndex
	case opt.Schema != nil:
		p.limit = maxIndex
	default:
		p.limit = int64(opt.MaxDim)
	}
	p.most = p.limit
	if p.dim >= 0 {
		p.most = min(p.most, p.dim+int64(p.shift)-1)
	}
	return p
}

// parse implements parser.
func (p *svmParser) parse(c *chunk) {
	p.last, c.only = p.last[:0], p.opt.only
	c.nulls = p.opt.newNulls()
	line, end := c.line, len(c.data)
	data := append(c.data, padding...)
	for i := 0; i < end; line++ {
		if p.quick {
			if i, line = p.lines(c, data, end, i, line); i >= end {
				return
			}
		}
		l := data[i : i+bytes.IndexByte(data[i:], '\n')]
		i += len(l) + 1
		mark := c.mark()
		if err := p.line(&c.result, l); err != nil {
			c.undo(mark)
			p.last = p.last[:0]
			if c.addBad(line, err, p.maxBad) {
				return
			}
		}
		c.recordLine(line)
	}
}

// line parses one line and adds its row, if any. The error has no code and no place.
func (p *svmParser) line(r *result, l []byte) error {
	if i := bytes.IndexByte(l, '#'); i >= 0 {
		l = l[:i]
	}
	i := skipBlanks(l, 0)
	if i == len(l) {
		r.skip()
		return nil
	}
	end, colon := i, false
	for end < len(l) && !isBlank(l[end]) {
		colon = colon || l[end] == ':'
		end++
	}
	class := uint16(NoClass)
	tok := l[i:end]
	switch {
	case colon || len(tok) == 1 && tok[0] == '?':
		if !p.opt.AllowNoLabel {
			return fmt.Errorf("token %s: the line has no label; a line is a label followed by index:value tokens",
				quote(tok))
		}
		if !colon {
			i = end
		}
	default:
		if len(p.last) == 0 || !bytes.Equal(tok, p.last) {
			id, err := r.label(tok)
			if err != nil {
				return err
			}
			p.last, p.lastID = append(p.last[:0], tok...), id
		}
		class, i = p.lastID, end
	}
	from := len(r.rows.Index)
	i = skipQID(l, skipBlanks(l, i))
	if err := p.features(r, l, i); err != nil {
		return err
	}
	if p.opt.Bits > 0 {
		idx, val := r.rows.Index[from:], r.rows.Value[from:]
		p.sorter.sort(idx, val)
		n := sumEqual(idx, val)
		if n < 0 {
			return fmt.Errorf("the sum of colliding features is out of the range of float32")
		}
		r.rows.Index, r.rows.Value = r.rows.Index[:from+n], r.rows.Value[:from+n]
	}
	r.rows.endRow(class, 1)
	return nil
}

// features parses the index:value tokens of l from i on. It appends the nonzeros and updates the
// result's largest index only if the whole line is valid.
func (p *svmParser) features(r *result, l []byte, i int) error {
	prev := int64(-1)
	sawZero := false
	p.unknown = p.unknown[:0]
	top := int64(-1)
	index, value := r.rows.Index, r.rows.Value
	for i < len(l) {
		start := i
		var idx int64
		for i < len(l) && l[i]-'0' <= 9 && i-start < 19 {
			idx = idx*10 + int64(l[i]-'0')
			i++
		}
		if i == start || i >= len(l) || l[i] != ':' || idx > p.limit {
			return p.fault(l, start)
		}
		v, n, ok := scanNumber(l[i+1:])
		i += n + 1
		if !ok || i < len(l) && !isBlank(l[i]) || !inFloat32(v) {
			return p.fault(l, start)
		}
		if idx <= prev {
			return fmt.Errorf("token %s: index %d after index %d; indices must ascend and be unique within a line",
				quote(token(l, start)), idx, prev)
		}
		prev = idx
		if idx == 0 {
			if p.shift == 1 {
				return fmt.Errorf("token %s: index 0, but features are numbered from 1%s", quote(token(l, start)),
					p.opt.advise("; if the file counts from 0, use --base 0"))
			}
			sawZero = true
		}
		i = skipBlanks(l, i)
		f := idx - int64(p.shift)
		if p.dim >= 0 && f >= p.dim {
			if p.opt.Unseen == UnseenError {
				return fmt.Errorf("token %s: the model has no such feature, its last index is %d%s",
					quote(token(l, start)), p.dim-1+int64(p.shift), p.opt.advise("; --unseen ignore drops such values"))
			}
			p.unknown = append(p.unknown, idx)
			continue
		}
		top = f
		if isLarge(v) {
			r.large.value(idx, v)
		}
		if v32 := float32(v); v32 != 0 {
			if p.opt.Bits > 0 {
				f = int64(hashIndex(uint64(idx), p.opt.Bits))
			}
			index = append(index, uint32(f))
			value = append(value, v32)
		}
	}
	r.rows.Index, r.rows.Value = index, value
	r.maxSeen = max(r.maxSeen, top)
	r.sawZero = r.sawZero || sawZero
	for _, idx := range p.unknown {
		p.name = strconv.AppendInt(append(p.name[:0], "feature "...), idx, 10)
		r.ignore(p.name, nil, false)
	}
	return nil
}

// fault returns the error for the invalid index:value token of l that starts at i.
func (p *svmParser) fault(l []byte, i int) error {
	tok := token(l, i)
	idx, val, ok := bytes.Cut(tok, []byte(":"))
	switch {
	case !ok:
		return fmt.Errorf("token %s: expected index:value", quote(tok))
	case string(idx) == "qid":
		return fmt.Errorf("token %s: qid must be followed by a number and come before the features", quote(tok))
	case len(idx) > 1 && idx[0] == '-' && isDigits(idx[1:]):
		return fmt.Errorf("token %s: the index must not be negative", quote(tok))
	case !isDigits(idx):
		return fmt.Errorf("token %s: the index must be a whole number", quote(tok))
	}
	if n, err := strconv.ParseInt(string(idx), 10, 64); err != nil || n > p.limit {
		advice := p.opt.advise("; raise the largest dimension (--max-dim) or hash features (--bits)")
		if p.limit >= maxIndex {
			advice = ""
		}
		return fmt.Errorf("token %s: the index must be at most %d%s", quote(tok), p.limit, advice)
	}
	return valueFault("token "+quote(tok), val)
}

// valueFault returns the error for an invalid value.
func valueFault(what string, val []byte) error {
	if isNonFinite(val) {
		return fmt.Errorf("%s: the value must be a finite number", what)
	}
	if v, ok := number(val); ok && !inFloat32(v) {
		return outOfFloat32(what)
	}
	return fmt.Errorf("%s: the value must be a decimal number", what)
}

// outOfFloat32 returns the error for a number that float32 does not hold.
func outOfFloat32(what string) error {
	return fmt.Errorf("%s: the value must lie in the range of float32, ±3.4028235e38", what)
}

func isDigits(b []byte) bool {
	for _, c := range b {
		if c-'0' > 9 {
			return false
		}
	}
	return len(b) > 0
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

func skipBlanks(l []byte, i int) int {
	for i < len(l) && isBlank(l[i]) {
		i++
	}
	return i
}

// token returns the token of l that starts at i.
func token(l []byte, i int) []byte {
	end := i
	for end < len(l) && !isBlank(l[end]) {
		end++
	}
	return l[i:end]
}

// skipQID skips a qid:N token at i.
func skipQID(l []byte, i int) int {
	tok := token(l, i)
	if bytes.HasPrefix(tok, []byte("qid:")) && isDigits(tok[4:]) {
		return skipBlanks(l, i+len(tok))
	}
	return i
}
