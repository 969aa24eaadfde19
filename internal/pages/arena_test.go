package pages

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// TestArena takes and gives back blocks at random. No two blocks in use overlap, blocks are used
// again, and those that the system had back are zero.
func TestArena(t *testing.T) {
	a := new(arena)
	first := a.take()
	if first == nil {
		t.Skip("no memory outside of the Go heap")
	}
	r := random.New(1, "arena")
	type used struct {
		block *[Size]byte
		mark  byte
	}
	blocks, most := []used{{first, 0}}, 1
	for n := range 20_000 {
		if grow := n/2000%2 == 0; len(blocks) > 0 && r.IntN(3) == 0 == grow {
			i := r.IntN(len(blocks))
			if b := blocks[i]; !bytes.Equal(b.block[:], bytes.Repeat([]byte{b.mark}, Size)) {
				t.Fatal("a block has changed")
			}
			a.put(blocks[i].block)
			blocks[i] = blocks[len(blocks)-1]
			blocks = blocks[:len(blocks)-1]
			continue
		}
		cold := len(a.hot) == 0
		b := used{a.take(), byte(n)}
		if cold && *b.block != [Size]byte{} {
			t.Fatal("a block that the system had is not zero")
		}
		for i := range b.block {
			b.block[i] = b.mark
		}
		blocks = append(blocks, b)
		most = max(most, len(blocks))
	}
	if chunks := (most*Size + chunkSize - 1) / chunkSize; len(a.chunks) != chunks {
		t.Errorf("%d chunks for %d blocks at most, want %d", len(a.chunks), most, chunks)
	}
	a.close()
}

// TestOutsideTheHeap: full pages of a pool are not in the Go heap, and what is left of them after
// Release is less than a hundredth.
func TestOutsideTheHeap(t *testing.T) {
	if new(arena).take() == nil || raceEnabled {
		t.Skip("no memory outside of the Go heap")
	}
	const n = 4000
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	pool := NewPool(1<<40, 0, nil)
	x := NewTable(pool, 64)
	content := make([]byte, n*Size)
	for i := range content {
		content[i] = byte(i / 64)
	}
	before += int64(len(content))
	x.Append(content)
	if used := heap() - before; used > n*Size/10 {
		t.Errorf("%d bytes of the heap for %d of pages", used, n*Size)
	}
	y := x.Snapshot()
	x.Write(0, 0, []byte{1}) // copies the page
	if x.Release(); pool.Stats().Memory != n*Size {
		t.Errorf("%d bytes, want those of the snapshot, %d", pool.Stats().Memory, n*Size)
	}
	z := NewTable(pool, 64)
	z.Append(make([]byte, n*Size))
	z.Release()
	if free := len(pool.arena.hot); free > mostHot {
		t.Errorf("%d free blocks keep their memory, %d at most", free, mostHot)
	}
	var got []byte
	for k := range y.Pages() {
		got = append(got, y.Page(nil, k)...)
	}
	if !bytes.Equal(got, content) {
		t.Error("the snapshot has changed")
	}
	runtime.KeepAlive(y)
}
