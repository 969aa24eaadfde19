package parquet

// The library makes room for what a header declares before it has read it. So its headers are
// walked here first, without making anything: a list may not be longer than the bytes that follow,
// and all lists together have at most so many structures.

// Types of Thrift's compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftStruct = 12
)

// skimmer walks a structure of the compact protocol.
type skimmer struct {
	b       []byte
	at      int
	structs int  // that lists may still have
	short   bool // the bytes end within the structure
}

// skim returns how many bytes the structure at the start of b takes. Otherwise short says whether
// more bytes could complete it; if not, it is none, or too large.
func skim(b []byte, structs int) (n int, short, ok bool) {
	s := skimmer{b: b, structs: structs}
	ok = s.structure(0)
	return s.at, s.short, ok
}

func (s *skimmer) byte() (c byte, ok bool) {
	if s.at >= len(s.b) {
		s.short = true
		return 0, false
	}
	s.at++
	return s.b[s.at-1], true
}

func (s *skimmer) uvarint() (n uint64, ok bool) {
	for shift := 0; shift < 64; shift += 7 {
		c, ok := s.byte()
		if !ok {
			return 0, false
		}
		if n |= uint64(c&0x7f) << shift; c < 0x80 {
			return n, true
		}
	}
	return 0, false
}

func (s *skimmer) skip(n uint64) bool {
	if n > 1<<31 {
		return false
	}
	if n > uint64(len(s.b)-s.at) {
		s.short = true
		return false
	}
	s.at += int(n)
	return true
}

func (s *skimmer) structure(depth int) bool {
	if depth > 32 {
		return false
	}
	for {
		c, ok := s.byte()
		if !ok || c == 0 {
			return ok
		}
		if c>>4 == 0 { // the field's number follows
			if _, ok := s.uvarint(); !ok {
				return false
			}
		}
		if kind := c & 15; kind != thriftTrue && kind != thriftFalse && !s.value(kind, depth) {
			return false
		}
	}
}

func (s *skimmer) value(kind byte, depth int) bool {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		return s.skip(1)
	case thriftI16, thriftI32, thriftI64:
		_, ok := s.uvarint()
		return ok
	case thriftDouble:
		return s.skip(8)
	case thriftBinary:
		n, ok := s.uvarint()
		return ok && s.skip(n)
	case thriftList, thriftSet:
		return s.list(depth)
	case thriftStruct:
		return s.structure(depth + 1)
	}
	return false // Parquet has no maps
}

func (s *skimmer) list(depth int) bool {
	c, ok := s.byte()
	if !ok {
		return false
	}
	n := uint64(c >> 4)
	if n == 15 {
		if n, ok = s.uvarint(); !ok {
			return false
		}
	}
	if n > uint64(len(s.b)-s.at) {
		s.short = n < 1<<31
		return false
	}
	if c&15 == thriftStruct || c&15 == thriftBinary {
		if s.structs -= int(n); s.structs < 0 {
			return false
		}
	}
	for range n {
		if !s.value(c&15, depth+1) {
			return false
		}
	}
	return true
}
