package dataset

import (
	"errors"
	"io"
	"os"

	"github.com/noregret/noregret"
)

// store holds the blocks of a set. Its methods except close are safe for concurrent use.
type store interface {
	blocks() int
	// extent returns the number of rows and of nonzeros of block i.
	extent(i int) (rows, nonZeros int)
	// load replaces b by block i. After an error b holds anything.
	load(i int, b *Block) error
	close() error
}

// memoryStore holds blocks in memory.
type memoryStore []*rowPack

func (m memoryStore) blocks() int { return len(m) }

func (m memoryStore) extent(i int) (rows, nonZeros int) { return len(m[i].start), m[i].nonZeros }

func (m memoryStore) load(i int, b *Block) error {
	b.Reset()
	m[i].unpack(b)
	return nil
}

func (m memoryStore) close() error { return nil }

// fileStore reads blocks from a cache file or from a temporary file of the same blocks.
type fileStore struct {
	name   string
	file   *os.File
	remove bool // close removes the file, which could not be unlinked while open
	index  []blockRef
	check  *blockRules // nil if this process wrote the file: only the checksum is checked
	buf    bufferPool
	shift  uint32 // subtracted from the stored indices
}

// blockRef is the position and size of a block in a file.
type blockRef struct {
	offset         int64
	rows, nonZeros uint32
	weighted       bool
}

func (f *fileStore) blocks() int { return len(f.index) }

func (f *fileStore) extent(i int) (rows, nonZeros int) {
	return int(f.index[i].rows), int(f.index[i].nonZeros)
}

func (f *fileStore) load(i int, b *Block) error {
	ref := f.index[i]
	buf := f.buf.get(ref.size())
	defer f.buf.put(buf)
	if _, err := f.file.ReadAt(*buf, ref.offset); err != nil {
		if errors.Is(err, io.EOF) {
			return noregret.BadInputf(f.name, "block %d is cut off", i)
		}
		return noregret.Errorf(noregret.Internal, f.name, "block %d cannot be read: %w", i, err)
	}
	b.Reset()
	if err := decodeBlock(*buf, ref, b); err != nil {
		return noregret.BadInputf(f.name, "block %d: %s", i, err)
	}
	if f.check != nil {
		if err := f.check.block(b); err != nil {
			return noregret.BadInputf(f.name, "block %d: %s", i, err)
		}
	}
	if f.shift > 0 {
		for k := range b.Index {
			b.Index[k] -= f.shift
		}
	}
	return nil
}

func (f *fileStore) close() error {
	err := f.file.Close()
	if f.remove {
		err = errors.Join(err, os.Remove(f.name))
	}
	if err != nil && !errors.Is(err, os.ErrClosed) {
		return noregret.Errorf(noregret.Internal, f.name, "close failed: %w", err)
	}
	return nil
}
