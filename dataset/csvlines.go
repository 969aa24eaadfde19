package dataset

import (
	"bytes"
	"math/bits"
	"unsafe"
)

// lines parses whole rows from place i of data on, which ends at end and is followed by padding. It
// returns the place and number of the first line that it leaves to [csvParser.rows]: one that is
// blank, has a quote or breaks a rule. The results are those of that method, bit for bit; where
// lines stops, it has changed nothing but for the rows before.
func (p *csvParser) lines(c *chunk, data []byte, end, i int, line int64) (int, int64) {
	for i < end {
		p.line = line
		mark, ignored := c.mark(), c.ignored
		next := p.fastRow(&c.result, c.plan, data, i)
		if next < 0 {
			c.undo(mark)
			c.ignored = ignored
			p.last = p.last[:0]
			break
		}
		c.recordLine(line)
		line++
		i = next
	}
	return i, line
}

// quickColumn is what fastRow needs of a column for numbers in plain notation.
type quickColumn struct {
	plain   bool // it has such numbers
	feature uint32
	center  float64
}

// fastRow parses the row at place i of data and returns the place of the next one, or -1 if the row
// must be read in another way; the caller then takes back what it has done to r. Numbers in plain
// notation are read eight digits at a time, without looking for the ends of their cells first.
func (p *csvParser) fastRow(r *result, plan *csvPlan, data []byte, i int) int {
	if data[i] == '\n' || data[i] == '\r' || len(plan.columns) == 0 {
		return -1
	}
	from := len(r.rows.Index)
	p.class, p.weight = NoClass, 1
	start := unsafe.Pointer(unsafe.SliceData(data))
	at := unsafe.Add(start, i)
	delim, last := plan.delim, len(plan.columns)-1
	for k := range plan.columns {
		var ends byte
		if quick := &p.columns[k]; quick.plain {
			w := word(at)
			v, size := float64(int64(w&15)), 1
			if byte(w)-'0' > 9 || byte(w>>8) != delim { // more than a digit
				v, size = shortNumber(at)
			}
			ends = *(*byte)(unsafe.Add(at, size))
			if v -= quick.center; size > 0 && (ends == delim || ends == '\n' || ends == '\r') && inFloat32(v) {
				if x := float32(v); x != 0 {
					r.rows.Index = append(r.rows.Index, quick.feature)
					r.rows.Value = append(r.rows.Value, x)
				}
				p.values[k] = v
				at = unsafe.Add(at, size)
				goto ended
			}
		}
		{
			col := &plan.columns[k]
			rest := data[uintptr(at)-uintptr(start):]
			n := bytes.IndexByte(rest, '\n')
			if m := bytes.IndexByte(rest[:n], delim); m >= 0 {
				n = m
			} else if n > 0 && rest[n-1] == '\r' {
				n--
			}
			cell := rest[:n]
			if !p.cells.plain && bytes.IndexByte(cell, '"') >= 0 {
				return -1
			}
			p.texts[k] = trimBlanks(cell)
			if p.cell(r, col, k, p.texts[k]) != nil {
				return -1
			}
			at = unsafe.Add(at, n)
			ends = *(*byte)(at)
		}
	ended:
		switch {
		case k < last && ends == delim:
			at = unsafe.Add(at, 1)
		case k == last && ends == '\n':
			at = unsafe.Add(at, 1)
		case k == last && ends == '\r' && *(*byte)(unsafe.Add(at, 1)) == '\n':
			at = unsafe.Add(at, 2)
		default:
			return -1
		}
	}
	if !plan.labeled && !p.opt.AllowNoLabel || p.table.close(r, from) != nil {
		return -1
	}
	if p.census != nil {
		for k := range p.census {
			q, v := &p.census[k], p.values[k]
			if !p.columns[k].plain {
				p.count(&plan.columns[k], k)
			} else if !q.all.some || !(v >= q.low && v <= q.high) {
				q.number(v, plan.columns[k].center)
			}
		}
	}
	r.rows.endRow(p.class, p.weight)
	return int(uintptr(at) - uintptr(start))
}

// shortNumber reads a number of at most seven digits on each side of the point at a place of padded
// text, and returns it with its length in bytes, which is 0 for anything else. All such numbers
// times 10^8 are whole numbers below 2^53, so that the division rounds correctly.
func shortNumber(at unsafe.Pointer) (v float64, size int) {
	w := word(at)
	sign := 1.0
	if byte(w) == '-' {
		sign, size = -1, 1
		w = word(unsafe.Add(at, 1))
	}
	m := notDigits(w)
	k := bits.TrailingZeros64(m) >> 3
	if m == 0 || k == 0 {
		return 0, 0
	}
	whole := eightDigits(w & 0x0f0f0f0f0f0f0f0f << (64 - 8*k))
	size += k
	if byte(w>>(8*k)) != '.' {
		return sign * float64(int64(whole)), size
	}
	w = word(unsafe.Add(at, size+1))
	if m = notDigits(w); m == 0 {
		return 0, 0
	}
	part := eightDigits(w & 0x0f0f0f0f0f0f0f0f & (((m - 1) &^ m) >> 7))
	return sign * (float64(int64(whole*1e8+part)) / 1e8), size + 1 + bits.TrailingZeros64(m)>>3
}
