package dataset

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"runtime"

	"github.com/noregret/noregret"
)

// Load reads the inputs once, as [Open] does, and keeps the rows for several passes: in memory up
// to opt.MemoryLimit, and beyond that in a temporary binary file in opt.TempDir, which Close
// removes. Where the system allows it, the file is unlinked at once, so that a killed process
// leaves nothing behind. With opt.CachePath, Load also writes the binary cache to that path. An
// input that is a cache is used in place, without a copy. With opt.Share, only its rows are kept
// and counted; the feature space, the labels and the digest are those of all rows.
//
// Under BaseAuto the features of a svmlight input are numbered from 0 if the index 0 occurs
// anywhere in it, and from 1 otherwise; Info().Schema.Base is the result. An input without rows is
// a [noregret.BadInput] error. The caller must Close the Set.
func Load(ctx context.Context, inputs []string, opt Options) (*Set, error) {
	if opt.CachePath != "" {
		for _, in := range inputs {
			if sameFile(in, opt.CachePath) {
				return nil, noregret.Errorf(noregret.Usage, "",
					"cache path %q: it is an input and would be overwritten; name another", opt.CachePath)
			}
		}
	}
	opt.loaded = true
	s, err := Open(ctx, inputs, opt)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }() // the stream has ended or failed
	if set := s.cachedSet(); set != nil {
		if s.opt.Share.Of <= 1 {
			return set, nil
		}
		part, err := set.Part(s.opt.Share)
		if err == nil && part.info.Rows == 0 {
			err = noregret.BadInputf(part.info.Place(), "share %v of the %d examples is empty", s.opt.Share,
				set.info.Rows)
		}
		if err != nil {
			return nil, errors.Join(err, set.Close())
		}
		part.view = false // its owner closes it
		return part, nil
	}
	k := &keeper{opt: s.opt}
	set, err := k.keep(s)
	if err != nil {
		k.abort()
		return nil, err
	}
	return set, nil
}

// keeper stores the blocks of a stream in memory or in a file.
type keeper struct {
	opt    Options
	memory memoryStore
	pack   packer
	used   int64
	temp   *os.File // nil until the rows exceed the memory, and with a cache
	remove bool     // temp could not be unlinked while open
	out    *cacheWriter
	cache  *cacheFile
}

func (k *keeper) keep(s *Stream) (*Set, error) {
	if k.opt.CachePath != "" {
		if err := k.openCache(); err != nil {
			return nil, err
		}
	}
	var b Block
	part := sharer{share: k.opt.Share}
	r := evenReader{from: s}
	for {
		if err := r.next(&b); err != nil {
			if !errors.Is(err, io.EOF) {
				return nil, err
			}
			break
		}
		kept := &b
		if k.opt.Share.Of > 1 {
			kept = part.take(&b, len(s.Info().Labels))
		}
		if kept.Len() == 0 {
			continue
		}
		if err := k.add(kept); err != nil {
			return nil, err
		}
	}
	info, shift := s.finalInfo()
	if info.Rows == 0 {
		return nil, noregret.BadInputf(info.Place(), "the input has no examples")
	}
	if k.opt.Share.Of > 1 {
		if info = part.info(info); info.Rows == 0 {
			return nil, noregret.BadInputf(info.Place(), "share %v of the %d examples is empty", k.opt.Share, part.rows)
		}
	}
	return k.finish(info, shift)
}

// evenReader divides the rows of a stream into blocks whose borders depend on the rows alone.
type evenReader struct {
	from *Stream
	in   Block // the rows from the number row on are to be delivered
	row  int
	rows int64 // delivered so far
	err  error
}

// next is the method Next of [Reader]. A cache keeps its blocks.
func (r *evenReader) next(b *Block) error {
	if r.from.cache != nil {
		return r.from.Next(b)
	}
	b.Reset()
	b.FirstRow = r.rows
	for r.err == nil {
		n := b.fitting(&r.in, r.row, r.in.Len())
		b.appendRows(&r.in, r.row, r.row+n)
		if r.row += n; r.row < r.in.Len() {
			break // b is full
		}
		r.row, r.err = 0, r.from.Next(&r.in)
	}
	r.rows += int64(b.Len())
	if b.Len() == 0 {
		return r.err
	}
	return nil
}

// add stores one block.
func (k *keeper) add(b *Block) error {
	if k.cache != nil {
		if err := k.out.block(b); err != nil {
			return err
		}
	}
	if k.used <= k.opt.MemoryLimit {
		p := k.pack.pack(b)
		if k.used += p.bytes(); k.used <= k.opt.MemoryLimit {
			k.memory = append(k.memory, p)
			return nil
		}
	}
	if k.cache != nil { // the cache serves the passes
		k.memory = nil
		return nil
	}
	if k.temp == nil {
		if err := k.spool(); err != nil {
			return err
		}
	}
	return k.out.block(b)
}

// spool moves the blocks from memory to a new temporary file.
func (k *keeper) spool() error {
	f, err := os.CreateTemp(k.opt.TempDir, "noregret-*.rows")
	if err != nil {
		return noregret.Errorf(noregret.Internal, "", "cannot create a temporary file for the rows: %w", err)
	}
	k.temp = f
	k.remove = os.Remove(f.Name()) != nil // some systems do not unlink open files
	k.out = &cacheWriter{name: f.Name(), w: bufio.NewWriterSize(f, 256<<10)}
	var b Block
	for i := range k.memory {
		if err := k.memory.load(i, &b); err != nil {
			return err
		}
		if err := k.out.block(&b); err != nil {
			return err
		}
		k.memory[i] = nil
	}
	k.memory = nil
	runtime.GC() // else the heap may grow to twice the rows before they are freed
	return nil
}

// finish makes the set. shift must still be subtracted from the indices.
func (k *keeper) finish(info Info, shift uint32) (*Set, error) {
	for _, p := range k.memory {
		p.shift(shift)
	}
	if k.pack.lists != nil {
		k.pack.lists.shift(shift)
	}
	if k.cache != nil {
		if err := k.out.finish(info, shift); err != nil {
			return nil, err
		}
		if err := k.cache.commit(); err != nil {
			return nil, err
		}
		if k.used > k.opt.MemoryLimit {
			return openCacheSet(k.opt.CachePath, k.opt.WindowBytes, info.Inputs)
		}
	}
	if k.temp == nil {
		return newSet(info, k.memory, k.opt.WindowBytes), nil
	}
	if err := k.out.flush(); err != nil {
		return nil, err
	}
	st := &fileStore{name: k.temp.Name(), file: k.temp, remove: k.remove, index: k.out.index, shift: shift}
	k.temp = nil
	return newSet(info, st, k.opt.WindowBytes), nil
}

// abort removes the files of a failed Load.
func (k *keeper) abort() {
	if k.cache != nil {
		k.cache.abort()
	}
	if k.temp != nil {
		_ = k.temp.Close() // its content is not needed
		if k.remove {
			_ = os.Remove(k.temp.Name())
		}
	}
}

// finalInfo returns the final Info and the number to subtract from the indices of all blocks.
func (s *Stream) finalInfo() (Info, uint32) {
	if s.cache != nil || s.schema.Format != SVMLight || s.opt.Base != BaseAuto {
		return s.Info(), 0
	}
	if s.sawZero {
		s.schema.Base = BaseZero
		return s.Info(), 0
	}
	s.schema.Base = BaseOne
	s.schema.Dim = max(s.schema.Dim-1, 0)
	return s.Info(), 1
}

// sameFile reports whether both paths name the same existing file.
func sameFile(a, b string) bool {
	x, errx := os.Stat(a)
	y, erry := os.Stat(b)
	return errx == nil && erry == nil && os.SameFile(x, y)
}
