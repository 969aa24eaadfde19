package pages

// arena has blocks of [Size] bytes outside of the Go heap, where the system has such memory. A
// block belongs to a page until the pool gives it back: when the page is written to the file, when
// its table is released, or when nothing refers to the page any more. The data of a page are used
// only while the pool is locked, so nothing uses a block that was given back. The lock guards the
// arena, too.
type arena struct {
	hot    []*[Size]byte // free blocks, with any content
	cold   []*[Size]byte // free blocks of zeros, whose memory is back with the system
	fresh  []byte        // of the last chunk, not used yet
	chunks [][]byte
}

// chunkSize is how much memory an arena takes from the system at once. Memory that was not used yet
// has no pages of the system.
const chunkSize = 256 * Size

// mostHot is the number of free blocks that an arena keeps for the next ones.
const mostHot = 64

// take returns a block with any content, or nil if the system has no such memory.
func (a *arena) take() *[Size]byte {
	if n := len(a.hot); n > 0 {
		b := a.hot[n-1]
		a.hot = a.hot[:n-1]
		return b
	}
	if n := len(a.cold); n > 0 {
		b := a.cold[n-1]
		a.cold = a.cold[:n-1]
		return b
	}
	if len(a.fresh) == 0 {
		chunk := mapMemory(chunkSize)
		if chunk == nil {
			return nil
		}
		a.fresh, a.chunks = chunk, append(a.chunks, chunk)
	}
	b := (*[Size]byte)(a.fresh)
	a.fresh = a.fresh[Size:]
	return b
}

// put gives back a block of take, which nothing uses any more.
func (a *arena) put(b *[Size]byte) {
	if len(a.hot) >= mostHot && dropMemory(b[:]) {
		a.cold = append(a.cold, b)
		return
	}
	a.hot = append(a.hot, b)
}

// close gives all memory back to the system.
func (a *arena) close() {
	for _, c := range a.chunks {
		unmapMemory(c)
	}
	*a = arena{}
}
