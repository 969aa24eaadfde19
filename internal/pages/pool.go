package pages

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"sync"
	"weak"
)

// Size is the size of a page, in bytes.
const Size = 8192

// File is the scratch space of a pool.
type File interface {
	io.ReaderAt
	io.WriterAt
}

// Pool bounds the memory of tables. All methods are safe for concurrent use.
type Pool struct {
	mu       sync.Mutex
	limit    int64 // bytes in memory
	most     int64 // bytes in the file
	open     func() (File, error)
	file     File
	failure  error
	retryAt  int64 // bytes in memory at which a failed file is tried again
	resident int64
	ring     []weak.Pointer[page] // those in memory, and some that are not any more
	hand     int
	free     []int64 // slots of the file
	slots    int64
	arena    *arena
}

// NewPool returns a pool whose pages use at most limit bytes of memory and most bytes of a file,
// which open opens when it is needed first. With a nil open all pages stay in memory.
func NewPool(limit, most int64, open func() (File, error)) *Pool {
	p := &Pool{limit: limit, most: most, open: open, arena: new(arena)}
	// Every page refers to the pool, by its cleanup, so there are no more of them then.
	runtime.AddCleanup(p, (*arena).close, p.arena)
	return p
}

// page is a part of a table. Except owner and self its fields belong to the pool's lock; a page
// without a pool is changed by its table only.
type page struct {
	owner  uint64 // of the table that may write to it
	self   weak.Pointer[page]
	place  *place
	data   []byte // nil if it is in the file only
	length int    // of the data in the file
	sum    uint32 // and their CRC-32C
	dirty  bool   // the data are not in the file
	used   bool   // since the hand was here
}

// place is what a page uses of its pool. It outlives the page.
type place struct {
	bytes int64       // of memory
	slot  int64       // in the file, -1 for none
	block *[Size]byte // of the arena that has the data, nil if they are in the Go heap
}

// ReadError is the value of the panic if a page cannot be read back.
type ReadError struct{ err error }

// Error implements error.
func (e *ReadError) Error() string {
	return "memory that was written to a file is lost: " + e.err.Error()
}

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.err }

var (
	errFull    = errors.New("the file has its largest size")
	errNoFile  = errors.New("there is no file")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// retryBytes is how much more memory is used before a failed file is tried again.
const retryBytes = 1 << 20

// Stats are the sizes of a pool.
type Stats struct {
	Memory int64 // bytes in memory
	File   int64 // bytes in use of the file
}

// Stats returns the sizes of the pool.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{p.resident, (p.slots - int64(len(p.free))) * Size}
}

// Err returns the reason why pages that should be in the file are in memory, nil if there are none.
func (p *Pool) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failure
}

// SetLimit changes the bytes that pages may use of memory.
func (p *Pool) SetLimit(limit int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit = limit
	p.evict(nil)
}

// Retry tries a file again that could not be written.
func (p *Pool) Retry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retryAt = 0
	if p.resident <= p.limit {
		p.failure = nil
	}
	p.evict(nil)
}

// Close closes the file, if it can be closed. The tables of the pool must not be used afterwards.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, ok := p.file.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// allocate returns room for some bytes, at most [Size], and the block of the arena that it is in,
// if any. The room is as long as its capacity and has any content. The pool is locked.
func (p *Pool) allocate(n int) ([]byte, *[Size]byte) {
	if p != nil && n > Size/2 {
		if b := p.arena.take(); b != nil {
			return b[:n:n], b
		}
	}
	return make([]byte, n), nil
}

// newPage registers a page with data of an owner, in a block of the arena unless that is nil. The
// pool is locked.
func (p *Pool) newPage(owner uint64, data []byte, block *[Size]byte) *page {
	pg := &page{owner: owner, data: data}
	if p == nil {
		return pg
	}
	pg.self, pg.place = weak.Make(pg), &place{slot: -1, block: block}
	runtime.AddCleanup(pg, p.forget, pg.place)
	p.enter(pg)
	p.evict(pg)
	return pg
}

// enter counts a page whose data have come into memory.
func (p *Pool) enter(pg *page) {
	pg.used, pg.place.bytes = true, int64(cap(pg.data))
	p.resident += pg.place.bytes
	p.ring = append(p.ring, pg.self)
}

// forget gives back what a page used that nothing refers to any more.
func (p *Pool) forget(l *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.giveBack(l)
}

func (p *Pool) giveBack(l *place) {
	p.giveBackMemory(l)
	if l.slot >= 0 {
		p.free = append(p.free, l.slot)
	}
	l.slot = -1
}

func (p *Pool) giveBackMemory(l *place) {
	p.resident -= l.bytes
	if l.block != nil {
		p.arena.put(l.block)
	}
	l.bytes, l.block = 0, nil
}

// load returns the data of a page. The pool is locked.
func (p *Pool) load(pg *page) []byte {
	if p == nil {
		return pg.data
	}
	pg.used = true
	if pg.data != nil {
		return pg.data
	}
	data, block := p.allocate(pg.length)
	n, err := p.file.ReadAt(data, pg.place.slot*Size)
	if n == len(data) {
		err = nil
	}
	if err == nil && crc32.Checksum(data, castagnoli) != pg.sum {
		err = fmt.Errorf("%d bytes at %d of the file have changed", n, pg.place.slot*Size)
	}
	if err != nil {
		if block != nil {
			p.arena.put(block)
		}
		panic(&ReadError{err})
	}
	pg.data, pg.place.block = data, block
	p.enter(pg)
	p.evict(pg)
	return data
}

// resize makes room for more bytes in a page. The pool is locked.
func (p *Pool) resize(pg *page, room int) {
	data, block := p.allocate(room)
	pg.data = data[:copy(data, pg.data)]
	if p != nil {
		p.giveBackMemory(pg.place)
		pg.place.block, pg.place.bytes = block, int64(room)
		p.resident += int64(room)
		p.evict(pg)
	}
}

// evict writes pages to the file until the others fit into memory. It keeps one. The pool is
// locked.
func (p *Pool) evict(keep *page) {
	if p.resident <= p.limit || p.failure != nil && p.resident < p.retryAt {
		return
	}
	for tries := 2*len(p.ring) + 1; tries > 0 && p.resident > p.limit && len(p.ring) > 0; tries-- {
		p.hand %= len(p.ring)
		pg := p.ring[p.hand].Value()
		switch {
		case pg == nil || pg.data == nil: // nothing refers to it, or it was released
		case pg == keep || pg.used:
			pg.used = false
			p.hand++
			continue
		default:
			if err := p.write(pg); err != nil {
				p.failure, p.retryAt = err, p.resident+retryBytes
				return
			}
		}
		last := len(p.ring) - 1
		p.ring[p.hand] = p.ring[last]
		p.ring = p.ring[:last]
	}
	p.failure = nil
}

// write writes a page to the file and drops its data.
func (p *Pool) write(pg *page) error {
	if pg.dirty || pg.place.slot < 0 {
		if err := p.openFile(); err != nil {
			return err
		}
		if err := p.takeSlot(pg.place); err != nil {
			return err
		}
		if _, err := p.file.WriteAt(pg.data, pg.place.slot*Size); err != nil {
			return err
		}
		pg.length, pg.sum = len(pg.data), crc32.Checksum(pg.data, castagnoli)
	}
	pg.data, pg.dirty = nil, false
	p.giveBackMemory(pg.place)
	return nil
}

func (p *Pool) openFile() (err error) {
	if p.file != nil {
		return nil
	}
	if p.open == nil {
		return errNoFile
	}
	p.file, err = p.open()
	if err != nil {
		p.file = nil
	}
	return err
}

// takeSlot gives a page a place in the file, unless it has one.
func (p *Pool) takeSlot(l *place) error {
	switch n := len(p.free); {
	case l.slot >= 0:
	case n > 0:
		l.slot, p.free = p.free[n-1], p.free[:n-1]
	case (p.slots+1)*Size > p.most:
		return errFull
	default:
		l.slot = p.slots
		p.slots++
	}
	return nil
}
