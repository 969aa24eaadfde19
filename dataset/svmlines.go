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
	start := unsafe.Pointer(unsafe.SliceData(data))
	to, val := unsafe.Pointer(unsafe.SliceData(index)), unsafe.Pointer(unsafe.SliceData(value))
	p.large = &r.large
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
		at, count, after := p.row(unsafe.Add(start, from), unsafe.Add(to, 4*n), unsafe.Add(val, 4*n))
		if at == nil || int64(after) > p.most+1 {
			break
		}
		if p.shift == 0 && after > 0 && isZeroIndex(data, from) {
			r.sawZero = true
		}
		i, n = int(uintptr(at)-uintptr(start))+1, n+count
		labels = r.labels.len()
		r.maxSeen = max(r.maxSeen, int64(after)-1-int64(p.shift))
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

// isZeroIndex reports whether the token after the blanks at place i of data has the index 0.
func isZeroIndex(data []byte, i int) bool {
	for i = skipBlanks(data, i); data[i] == '0'; i++ {
	}
	return data[i] == ':'
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

// row reads the index:value tokens from the place at behind a label to the end of the line into
// index and value, which have room for them. It returns the place of the newline, the number of
// nonzeros and the number after the largest index as written, p.shift if there is none; end is nil
// if the line must be read in another way.
//
// Branches decide how many digits an index has and what a value looks like, as a processor predicts
// them well: the numbers of a file look alike. The sign and the number of digits of a value take
// none. What ends a value is looked at with the token that follows.
func (p *svmParser) row(at, index, value unsafe.Pointer) (end unsafe.Pointer, n int, least uint64) {
	least = uint64(p.shift) // what the next index must be at least
	for {
		w := word(at)
		var idx uint64
		if x := uint32(w) ^ (' ' | '0'<<8 | '0'<<16 | ':'<<24); (x|(x+0x7f76767f))&0x80808080 == 0 {
			idx = uint64(x * (1 + 10<<8) >> 16 & 0xff)
			at = unsafe.Add(at, 4)
		} else if x := uint32(w<<8) ^ (' '<<8 | '0'<<16 | ':'<<24); (x|(x+0x7f767f00))&0x80808000 == 0 {
			idx = uint64(x >> 16 & 0xff)
			at = unsafe.Add(at, 3)
		} else {
			if byte(w) == '\n' {
				return at, n, least
			}
			if !isBlank(byte(w)) {
				return nil, 0, 0
			}
			at = unsafe.Add(at, 1)
			w = word(at)
			for isBlank(byte(w)) {
				at = unsafe.Add(at, 1)
				w = word(at)
			}
			w ^= zeros
			m := notDigit(w)
			if m == 0 {
				idx, at = longIndex(at)
			} else {
				k := bits.TrailingZeros64(m) // 7, and 8 for every digit
				if k == 7 {
					if byte(w) == '\n'^'0' {
						return at, n, least
					}
					return nil, 0, 0
				}
				idx = eightDigits(w << ((71 - k) & 63))
				at = unsafe.Add(at, k>>3)
			}
			if *(*byte)(at) != ':' {
				return nil, 0, 0
			}
			at = unsafe.Add(at, 1)
		}
		if idx < least {
			return nil, 0, 0
		}
		least = idx + 1

		v := word(at)
		neg := (v&0xff ^ '-' - 1) >> 63 // 1 for a minus
		u := uint32(uint16(v >> (8 * neg & 63)))
		var x uint32
		if d := u ^ ('0' | '.'<<8); d <= 9 {
			f := word(unsafe.Add(at, neg+2)) ^ zeros
			m := notDigit(f)
			if m == 0 {
				goto rare
			}
			next := unsafe.Add(at, neg+2+uint64(bits.TrailingZeros64(m))>>3)
			if *(*byte)(next) > ' ' { // an exponent
				goto rare
			}
			at = next
			mant := eightDigits(f&(((m-1)&^m)>>7)) + uint64(d)*1e8
			x = math.Float32bits(float32(float64(int64(mant)) / 1e8))
		} else if d := uint32(byte(u)) - '0'; d <= 9 && (u>>8 == ' ' || u>>8 == '\n') {
			at = unsafe.Add(at, neg+1)
			x = math.Float32bits(float32(int32(d)))
		} else {
			goto rare
		}
	store:
		*(*uint32)(unsafe.Add(index, 4*n)) = uint32(idx) - p.shift
		*(*uint32)(unsafe.Add(value, 4*n)) = x | uint32(neg)<<31
		n += int(-x >> 31)
		continue
	rare:
		var size int
		if x, size = p.decimal(idx, at); size == 0 {
			return nil, 0, 0
		}
		at = unsafe.Add(at, size)
		neg = uint64(x >> 31)
		x &^= 1 << 31
		goto store
	}
}

// decimal reads the value of feature idx in any notation and returns its bits with its length,
// which is 0 if it is none.
func (p *svmParser) decimal(idx uint64, at unsafe.Pointer) (x uint32, size int) {
	v, size := shortNumber(at)
	if size == 0 || *(*byte)(unsafe.Add(at, size)) > ' ' {
		token := printedAt(at)
		var ok bool
		if v, size, ok = scanNumber(token); !ok || size < len(token) || !inFloat32(v) {
			return 0, 0
		}
	}
	if c := *(*byte)(unsafe.Add(at, size)); c != '\n' && !isBlank(c) {
		return 0, 0
	}
	if isLarge(v) {
		if int64(idx) > p.most {
			return 0, 0
		}
		p.large.value(int64(idx), v)
	}
	return math.Float32bits(float32(v)), size
}

// printedAt returns the bytes at a place of padded text up to a blank or control character.
func printedAt(at unsafe.Pointer) []byte {
	n := 0
	for *(*byte)(unsafe.Add(at, n)) > ' ' {
		n++
	}
	return unsafe.Slice((*byte)(at), n)
}

// longIndex reads an index of more than seven digits and returns it with the place after it.
func longIndex(at unsafe.Pointer) (uint64, unsafe.Pointer) {
	idx := uint64(0)
	for c := *(*byte)(at) - '0'; c <= 9 && idx <= maxIndex; c = *(*byte)(at) - '0' {
		idx = idx*10 + uint64(c)
		at = unsafe.Add(at, 1)
	}
	return idx, at
}

const zeros = 0x3030303030303030

// notDigit has the highest bit of every byte set that is not a digit, up to the first, of eight
// bytes without zeros: a digit is 0 to 9 there.
func notDigit(w uint64) uint64 { return (w | (w + 0x7676767676767676)) & 0x8080808080808080 }

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
