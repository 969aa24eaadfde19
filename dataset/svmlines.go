package dataset

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"unsafe"
)

// padding follows the text of a chunk, so that eight bytes can be read at every place of it, and
// its last line ends in a newline.
var padding = append([]byte{'\n'}, make([]byte, 31)...)

// lines parses whole lines from place i of data on, which ends at end and is followed by padding.
// It returns the place and number of the first line that it leaves to [svmParser.line]: one that
// breaks a rule or is written in a rarer way, such as with a comment. The results are those of that
// method, bit for bit; where lines stops, it has changed nothing but for the lines before.
func (p *svmParser) lines(c *chunk, data []byte, end, i int, line int64) (int, int64) {
	r := &c.result
	rows := &r.rows
	n := len(rows.Index)
	room := n + (end-i)/4 + 1 // a value and its index take four bytes or more
	index := slices.Grow(rows.Index, room-n)[:room]
	value := slices.Grow(rows.Value, room-n)[:room]
	labels := r.labels.len()
	for i < end {
		if data[i] == '\n' {
			i++
			line++
			continue
		}
		from, ok := p.token(r, data, i)
		if !ok {
			break
		}
		next, count, top := p.row(r, data, from, index[n:], value[n:])
		if next < 0 {
			break
		}
		i, n = next, n+count
		labels = r.labels.len()
		r.maxSeen = max(r.maxSeen, top)
		if len(rows.Offset) == 0 {
			rows.Offset = append(rows.Offset, 0)
		}
		rows.Offset = append(rows.Offset, uint32(n))
		rows.Class = append(rows.Class, p.lastID)
		r.at = append(r.at, uint32(line-c.line))
		line++
	}
	if r.labels.len() > labels { // of the line that is left
		r.labels.truncate(labels)
		p.last = p.last[:0]
	}
	rows.Index, rows.Value = index[:n], value[:n]
	return i, line
}

// token reads the label at place i and returns the place after it. It returns i and false for
// anything but a valid label.
func (p *svmParser) token(r *result, data []byte, i int) (int, bool) {
	if k := i + len(p.last); k > i && bytes.HasPrefix(data[i:], p.last) && (data[k] == '\n' || isBlank(data[k])) {
		return k, true
	}
	k := i
	for ; data[k] != '\n' && !isBlank(data[k]); k++ {
		if data[k] == ':' || data[k] == '#' {
			return i, false
		}
	}
	tok := data[i:k]
	if k == i || k == i+1 && tok[0] == '?' {
		return i, false
	}
	id, err := r.label(tok)
	if err != nil {
		return i, false
	}
	p.last, p.lastID = append(p.last[:0], tok...), id
	return k, true
}

// row reads the index:value tokens from place i of data, behind the label, to the end of the line
// into index and value, which have room for them. It returns the place of the next line, the number
// of nonzeros and the largest feature, -1 if there is none; next is -1 if the line must be read in
// another way.
//
// Digits are read eight at a time. Branches decide how many digits an index has and whether a
// number has a point, as a processor predicts them well: the numbers of a file look alike. Then the
// place of a token does not wait for the digits of the last one.
func (p *svmParser) row(r *result, data []byte, i int, index []uint32, value []float32) (next, n int, top int64) {
	shift := int64(p.shift)
	prev := shift - 1 // an index must exceed it
	limit, zero := p.limit, false
	if p.dim >= 0 {
		limit = min(limit, p.dim+prev)
	}
	value = value[:len(index)]
	start := unsafe.Pointer(unsafe.SliceData(data))
	at := unsafe.Add(start, i)
	w := word(at)
	for {
		if byte(w) != ' ' || byte(w>>8)-'0' > 9 {
			for isBlank(byte(w)) {
				at = unsafe.Add(at, 1)
				w = word(at)
			}
			if byte(w) == '\n' {
				r.sawZero = r.sawZero || zero
				return int(uintptr(at)-uintptr(start)) + 1, n, prev - shift
			}
			if byte(w)-'0' > 9 {
				return -1, 0, 0
			}
			at = unsafe.Add(at, -1)
			w = word(at)
		}
		var idx int64
		switch {
		case byte(w>>16) == ':':
			idx = int64(w >> 8 & 15)
			at = unsafe.Add(at, 3)
		case byte(w>>24) == ':' && byte(w>>16)-'0' <= 9:
			idx = int64(w>>8&15*10 + w>>16&15)
			at = unsafe.Add(at, 4)
		default:
			at = unsafe.Add(at, 1)
			w = word(at)
			m := notDigits(w)
			k := bits.TrailingZeros64(m) >> 3
			idx = int64(eightDigits(w & 0x0f0f0f0f0f0f0f0f << (64 - 8*k)))
			at = unsafe.Add(at, k)
			w = word(at)
			if m == 0 {
				for byte(w)-'0' <= 9 && idx <= maxIndex {
					idx = idx*10 + int64(w&15)
					at = unsafe.Add(at, 1)
					w = word(at)
				}
			}
			if byte(w) != ':' {
				return -1, 0, 0
			}
			at = unsafe.Add(at, 1)
		}
		if idx <= prev || idx > limit {
			return -1, 0, 0
		}
		prev = idx
		if idx == 0 {
			zero = true
		}

		from := at
		w = word(at)
		neg := (uint64(byte(w)^'-') - 1) >> 63 // 1 for a minus, which is cut off
		w >>= 8 * neg & 63
		at = unsafe.Add(at, neg+1)
		plain := byte(w)-'0' <= 9
		mant := w & 15
		if plain && byte(w>>8)-'0' <= 9 {
			at = unsafe.Add(at, -1)
			w = word(at)
			m := notDigits(w)
			k := bits.TrailingZeros64(m) >> 3
			plain = m != 0
			mant = eightDigits(w & 0x0f0f0f0f0f0f0f0f << (64 - 8*k))
			at = unsafe.Add(at, k)
			w >>= uint(8*k-8) & 63
		}
		v := float64(int64(mant))
		if byte(w>>8) == '.' {
			w = word(unsafe.Add(at, 1))
			m := notDigits(w)
			// The digits are the first of eight, the others being zeros.
			mant = mant*1e8 + eightDigits(w&0x0f0f0f0f0f0f0f0f&(((m-1)&^m)>>7))
			at = unsafe.Add(at, 1+bits.TrailingZeros64(m)>>3)
			v = float64(int64(mant)) / 1e8
			plain = plain && m != 0
		}
		w = word(at)
		if !plain || byte(w) != ' ' && byte(w) != '\n' && !isBlank(byte(w)) {
			var size int
			var ok bool
			if v, size, ok = scanNumber(data[uintptr(from)-uintptr(start):]); !ok || !inFloat32(v) {
				return -1, 0, 0
			}
			neg = math.Float64bits(v) >> 63
			v = math.Abs(v)
			at = unsafe.Add(from, size)
			if w = word(at); byte(w) != '\n' && !isBlank(byte(w)) {
				return -1, 0, 0
			}
		}
		if v >= centerFrom {
			signed := v * (1 - 2*float64(neg))
			r.large.add(idx, signed, signed)
		}
		x := math.Float32bits(float32(v))
		index[n] = uint32(idx - shift)
		value[n] = math.Float32frombits(x | uint32(neg)<<31)
		n += int((x | -x) >> 31)
	}
}

// word returns the eight bytes at a place of padded text.
func word(at unsafe.Pointer) uint64 { return binary.LittleEndian.Uint64((*[8]byte)(at)[:]) }

// notDigits has the highest bit of every byte set that is not a decimal digit, up to the first.
func notDigits(w uint64) uint64 {
	w ^= 0x3030303030303030 // digits become 0 to 9
	return (w | (w + 0x7676767676767676)) & 0x8080808080808080
}

// eightDigits is the number whose eight digits are the bytes of w, the first one the lowest.
func eightDigits(w uint64) uint64 {
	w = w*10 + w>>8 // pairs, in every other byte
	const low = 0x000000ff000000ff
	return uint64(uint32(((w&low)*(100+1000000<<32) + (w>>16&low)*(1+10000<<32)) >> 32))
}
