package pages

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// memoryFile is a file in memory that can fail.
type memoryFile struct {
	mu   sync.Mutex
	data []byte
	fail error
}

func (f *memoryFile) ReadAt(b []byte, at int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return 0, f.fail
	}
	return copy(b, f.data[at:]), nil
}

func (f *memoryFile) WriteAt(b []byte, at int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return 0, f.fail
	}
	if n := int(at) + len(b) - len(f.data); n > 0 {
		f.data = append(f.data, make([]byte, n)...)
	}
	return copy(f.data[at:], b), nil
}

func newTestPool(limit int64) (*Pool, *memoryFile) {
	f := &memoryFile{}
	return NewPool(limit, 1<<40, func() (File, error) { return f, nil }), f
}

// TestTableAgainstModel makes random changes to tables, and snapshots of them, in a memory of three
// pages, and compares them with slices.
func TestTableAgainstModel(t *testing.T) {
	for seed := range uint64(5) {
		r := random.New(seed, "pages")
		pool, _ := newTestPool(3 * Size)
		size := 1 + r.IntN(300)
		type pair struct {
			table *Table
			model [][]byte
		}
		pairs := []*pair{{table: NewTable(pool, size)}}
		record := func(n int) []byte {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(r.IntN(256))
			}
			return b
		}
		for range 1500 {
			p := pairs[r.IntN(len(pairs))]
			switch k := r.IntN(20); {
			case k < 10:
				n := 1 + r.IntN(40)
				b := record(n * size)
				p.table.Append(b)
				for c := range slices.Chunk(b, size) {
					p.model = append(p.model, bytes.Clone(c))
				}
			case k < 17 && len(p.model) > 0:
				i, at := r.IntN(len(p.model)), r.IntN(size)
				b := record(1 + r.IntN(size-at))
				p.table.Touch([]int{i, 0})
				p.table.Write(i, at, b)
				copy(p.model[i][at:], b)
			case k < 18 && len(p.model) > 0:
				i, b := r.IntN(len(p.model)), record(size)
				per := p.table.PerPage()
				p.table.Update(i/per, func(page []byte) { copy(page[i%per*size:], b) })
				copy(p.model[i], b)
			case k == 18 && len(pairs) < 5:
				q := &pair{table: p.table.Snapshot()}
				for _, b := range p.model {
					q.model = append(q.model, bytes.Clone(b))
				}
				pairs = append(pairs, q)
			case len(pairs) > 1 && r.IntN(4) == 0:
				p.table.Release()
				pairs = slices.DeleteFunc(pairs, func(o *pair) bool { return o == p })
			}
		}
		if s := pool.Stats(); s.Memory > 4*Size || s.File == 0 || pool.Err() != nil {
			t.Errorf("seed %d: %+v, %v", seed, s, pool.Err())
		}
		for _, p := range pairs {
			var pages, views, taken []byte
			for k := range p.table.Pages() {
				pages = p.table.Page(pages, k)
				p.table.View(k, func(page []byte) { views = append(views, page...) })
			}
			if !bytes.Equal(pages, views) {
				t.Fatalf("seed %d: the views differ from the pages", seed)
			}
			if want := slices.Concat(p.model...); !bytes.Equal(pages, want) || p.table.Len() != len(p.model) {
				t.Fatalf("seed %d: the pages differ from the model", seed)
			}
			b := make([]byte, size)
			for i := range p.model {
				if p.table.Read(i, 0, b); !bytes.Equal(b, p.model[i]) {
					t.Fatalf("seed %d: record %d is %x, want %x", seed, i, b, p.model[i])
				}
			}
			before := pool.Stats()
			for k := range p.table.Pages() {
				taken = p.table.Take(taken, k)
			}
			if !bytes.Equal(pages, taken) {
				t.Fatalf("seed %d: the pages that were taken differ", seed)
			}
			if s := pool.Stats(); len(pairs) == 1 && s.Memory+s.File > (before.Memory+before.File)/2 {
				t.Errorf("seed %d: %+v became %+v after all pages were taken", seed, before, s)
			}
			p.table.Release()
		}
		runtime.KeepAlive(pairs)
	}
}

// TestZeros checks a table of zeros, of which only pages that are written to use memory.
func TestZeros(t *testing.T) {
	pool, _ := newTestPool(2 * Size)
	z := NewZeros(pool, 8, 100_000)
	z.View(7, func(page []byte) {
		if page != nil {
			t.Errorf("a page that was not written to is %d bytes", len(page))
		}
	})
	z.Update(7, func(page []byte) {
		if !bytes.Equal(page, make([]byte, Size)) {
			t.Error("a page of zeros is not zero")
		}
	})
	var b [8]byte
	for i := 0; i < z.Len(); i += 5000 {
		binary.LittleEndian.PutUint64(b[:], uint64(i+1))
		z.Write(i, 0, b[:])
	}
	for i := range z.Len() {
		want := uint64(0)
		if i%5000 == 0 {
			want = uint64(i + 1)
		}
		if z.Read(i, 0, b[:]); binary.LittleEndian.Uint64(b[:]) != want {
			t.Fatalf("record %d is %x, want %d", i, b, want)
		}
	}
	if s := pool.Stats(); s.Memory > 3*Size || s.Memory+s.File > 23*Size {
		t.Errorf("%+v for 20 pages", s)
	}
}

// TestFailingFile: pages stay in memory while the file cannot be written or has its largest size;
// after that they go there. A page that cannot be read is a panic.
func TestFailingFile(t *testing.T) {
	pool, f := newTestPool(2 * Size)
	f.fail = errors.New("no space")
	x := NewTable(pool, Size)
	b := make([]byte, Size)
	for i := range 10 {
		b[0] = byte(i)
		x.Append(b)
	}
	if s := pool.Stats(); s.Memory != 10*Size || s.File > Size || !errors.Is(pool.Err(), f.fail) {
		t.Fatalf("%+v, %v", s, pool.Err())
	}
	f.fail = nil
	if pool.Retry(); pool.Stats().Memory != 2*Size || pool.Err() != nil {
		t.Fatalf("%+v, %v", pool.Stats(), pool.Err())
	}
	pool.most = 8 * Size
	x.Append(b)
	if !errors.Is(pool.Err(), errFull) {
		t.Errorf("%v", pool.Err())
	}
	pool.most = 1 << 30
	if pool.Retry(); pool.Err() != nil {
		t.Error(pool.Err())
	}
	broken := func() (err error) {
		defer func() { err, _ = recover().(error) }()
		for i := range 10 {
			x.Read(i, 0, b)
		}
		return nil
	}
	if err := broken(); err != nil {
		t.Fatal(err)
	}
	f.data[5*Size+100] ^= 1
	var lost *ReadError
	if err := broken(); !errors.As(err, &lost) {
		t.Errorf("a changed page gave %v", err)
	}
	f.data[5*Size+100] ^= 1
	f.fail = errors.New("no device")
	if err := broken(); !errors.Is(err, f.fail) {
		t.Errorf("a page that cannot be read gave %v", err)
	}
}

// TestMemoryComesBack: pages that nothing refers to give back their memory and their place in the
// file, also without Release.
func TestMemoryComesBack(t *testing.T) {
	pool, _ := newTestPool(4 * Size)
	for range 3 {
		x := NewTable(pool, 64)
		x.Append(make([]byte, 64*2000))
		s := x.Snapshot()
		x.Write(0, 0, []byte{1})
		x.Release() // the pages that it shared stay
		if s.Read(1999, 0, make([]byte, 64)); pool.Stats().File == 0 {
			t.Fatal("nothing is in the file")
		}
	}
	for range 100 {
		if runtime.GC(); pool.Stats() == (Stats{}) {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%+v are in use without a table", pool.Stats())
}

// TestSnapshotsAtOnce reads snapshots while the table changes, for the race detector.
func TestSnapshotsAtOnce(t *testing.T) {
	pool, _ := newTestPool(3 * Size)
	x := NewTable(pool, 8)
	x.Append(make([]byte, 8*5000))
	var wait sync.WaitGroup
	for range 3 {
		s := x.Snapshot()
		want := s.Page(nil, 0)
		wait.Go(func() {
			for range 50 {
				if got := s.Page(nil, 0); !bytes.Equal(got, want) {
					t.Error("a snapshot changes")
				}
			}
		})
		for i := range 500 {
			x.Write(i*10, 0, []byte{byte(i + 1)})
		}
	}
	wait.Wait()
}

func Example() {
	file := &memoryFile{}
	pool := NewPool(2*Size, 1<<30, func() (File, error) { return file, nil })
	t := NewTable(pool, 4096)
	for i := range 10 {
		record := make([]byte, 4096)
		record[0] = byte(i)
		t.Append(record)
	}
	var b [1]byte
	t.Read(3, 0, b[:])
	fmt.Println(b[0], pool.Stats())
	// Output:
	// 3 {16384 32768}
}
