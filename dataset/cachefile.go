package dataset

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/atomicfile"
)

// cacheFooter is the JSON part of a cache's footer.
type cacheFooter struct {
	Schema   *Schema `json:"schema"`
	Labels   []Label `json:"labels"`
	Rows     int64   `json:"rows"`
	NonZeros int64   `json:"nonzeros"`
	NoLabel  int64   `json:"no_label,omitempty"`
	Weight   float64 `json:"weight"`
	Weighted bool    `json:"weighted,omitempty"`
	BadLines int64   `json:"bad_lines,omitempty"`
	Ignored  int64   `json:"ignored_features,omitempty"`

	IgnoredColumns []IgnoredColumn `json:"ignored_columns,omitempty"`
	Digest         string          `json:"digest"`
	Shift          uint32          `json:"index_shift,omitempty"` // must be subtracted from every stored index
}

// cacheWriter writes blocks one after the other and records their positions.
type cacheWriter struct {
	name  string
	w     *bufio.Writer
	off   int64
	index []blockRef
	buf   []byte
}

func (c *cacheWriter) write(b []byte) error {
	c.off += int64(len(b))
	if _, err := c.w.Write(b); err != nil {
		return noregret.Errorf(noregret.Internal, c.name, "write failed: %w", err)
	}
	return nil
}

func (c *cacheWriter) block(b *Block) error {
	c.index = append(c.index, blockRef{
		offset: c.off, rows: uint32(b.Len()), nonZeros: uint32(len(b.Index)), weighted: b.Weight != nil,
	})
	c.buf = encodeBlock(c.buf[:0], b)
	return c.write(c.buf)
}

func (c *cacheWriter) flush() error {
	if err := c.w.Flush(); err != nil {
		return noregret.Errorf(noregret.Internal, c.name, "write failed: %w", err)
	}
	return nil
}

// header writes the first bytes of a cache file.
func (c *cacheWriter) header() error {
	b := append([]byte(cacheMagic), cacheVersion, 0, 0, 0)
	return c.write(binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)))
}

// finish writes the footer and the trailer.
func (c *cacheWriter) finish(info Info, shift uint32) error {
	doc, err := json.Marshal(cacheFooter{
		Schema: info.Schema, Labels: info.Labels, Rows: info.Rows, NonZeros: info.NonZeros,
		NoLabel: info.NoLabel, Weight: info.Weight, Weighted: info.Weighted, BadLines: info.BadLines,
		Ignored: info.IgnoredFeatures, IgnoredColumns: info.IgnoredColumns, Digest: info.Digest, Shift: shift,
	})
	if err != nil {
		return noregret.Errorf(noregret.Internal, c.name, "cannot write the footer: %w", err)
	}
	le := binary.LittleEndian
	at := c.off
	foot := doc
	for _, r := range c.index {
		flags := uint32(0)
		if r.weighted {
			flags = flagWeighted
		}
		foot = le.AppendUint64(foot, uint64(r.offset))
		foot = le.AppendUint32(foot, r.rows)
		foot = le.AppendUint32(foot, r.nonZeros)
		foot = le.AppendUint32(foot, flags)
	}
	if err := c.write(foot); err != nil {
		return err
	}
	var t []byte
	t = le.AppendUint64(t, uint64(at))
	t = le.AppendUint32(t, uint32(len(doc)))
	t = le.AppendUint32(t, uint32(len(c.index)))
	t = le.AppendUint32(t, crc32.Checksum(foot, castagnoli))
	t = append(t, cacheEndMagic...)
	t = le.AppendUint32(t, crc32.Checksum(t, castagnoli))
	if err := c.write(t); err != nil {
		return err
	}
	return c.flush()
}

// cacheFile is a cache under construction. It gets its name when it is complete.
type cacheFile struct{ f *atomicfile.File }

func (k *keeper) openCache() error {
	f, err := atomicfile.Create(k.opt.CachePath)
	if err != nil {
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			err = p.Err // omit the name of the temporary file
		}
		return noregret.Errorf(noregret.Internal, k.opt.CachePath, "the cache cannot be written: %w", err)
	}
	k.cache = &cacheFile{f}
	k.out = &cacheWriter{name: k.opt.CachePath, w: bufio.NewWriterSize(f, 256<<10)}
	return k.out.header()
}

func (c *cacheFile) commit() error {
	if err := c.f.Commit(); err != nil {
		return noregret.Errorf(noregret.Internal, "", "the cache cannot be written: %w", err)
	}
	return nil
}

func (c *cacheFile) abort() { c.f.Abort() }

// openCacheSet opens a cache file. It checks everything except the blocks; a block is checked
// whenever it is read.
func openCacheSet(name string, window int64, inputs []string) (*Set, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, openError(name, err)
	}
	foot, st, err := readCache(f, name)
	if err != nil {
		_ = f.Close() // only read
		return nil, err
	}
	info := Info{
		Rows: foot.Rows, NonZeros: foot.NonZeros, Dim: foot.Schema.Dim, Labels: foot.Labels, NoLabel: foot.NoLabel,
		Weight: foot.Weight, Digest: foot.Digest, Schema: foot.Schema, BadLines: foot.BadLines,
		IgnoredFeatures: foot.Ignored, IgnoredColumns: foot.IgnoredColumns, Weighted: foot.Weighted, Inputs: inputs,
	}
	return newSet(info, st, window), nil
}

// readCache reads and checks the header, the trailer and the footer.
func readCache(f *os.File, name string) (*cacheFooter, *fileStore, error) {
	bad := func(format string, args ...any) (*cacheFooter, *fileStore, error) {
		return nil, nil, noregret.BadInputf(name, format, args...)
	}
	st, err := f.Stat()
	if err != nil {
		return bad("cannot be examined: %w", err)
	}
	size := st.Size()
	le := binary.LittleEndian
	head, trail := make([]byte, cacheHeaderSize), make([]byte, cacheTrailerSize)
	if size < cacheHeaderSize+cacheTrailerSize {
		return bad("%d bytes are too few for a cache: the file is cut off", size)
	}
	if err := readAt(f, head, 0); err != nil {
		return bad("%w", err)
	}
	if string(head[:8]) != cacheMagic {
		return bad("not a cache file: the magic number is wrong")
	}
	if v := le.Uint32(head[8:]); v != cacheVersion {
		return bad("cache version %d: this program reads version %d; make the cache again", v, cacheVersion)
	}
	if le.Uint32(head[12:]) != crc32.Checksum(head[:12], castagnoli) {
		return bad("the checksum of the header is wrong: the file is corrupt")
	}
	if err := readAt(f, trail, size-cacheTrailerSize); err != nil {
		return bad("%w", err)
	}
	if string(trail[20:28]) != cacheEndMagic || le.Uint32(trail[28:]) != crc32.Checksum(trail[:28], castagnoli) {
		return bad("the last %d bytes are not the trailer of a cache: the file is cut off or corrupt", cacheTrailerSize)
	}
	at, doc, blocks := le.Uint64(trail), int64(le.Uint32(trail[8:])), int64(le.Uint32(trail[12:]))
	if want := size - cacheTrailerSize - doc - blocks*blockRefSize; want < cacheHeaderSize || at != uint64(want) {
		return bad("the footer starts at byte %d, but the sizes say %d: the file is corrupt", at, want)
	}
	foot := make([]byte, size-cacheTrailerSize-int64(at))
	if err := readAt(f, foot, int64(at)); err != nil {
		return bad("%w", err)
	}
	if le.Uint32(trail[16:]) != crc32.Checksum(foot, castagnoli) {
		return bad("the checksum of the footer is wrong: the file is corrupt")
	}
	return parseFooter(f, name, foot[:doc], foot[doc:], int64(at))
}

// parseFooter checks that the footer is consistent in itself and with the size of the blocks.
func parseFooter(f *os.File, name string, doc, refs []byte, end int64) (*cacheFooter, *fileStore, error) {
	bad := func(format string, args ...any) (*cacheFooter, *fileStore, error) {
		return nil, nil, noregret.BadInputf(name, format, args...)
	}
	var foot cacheFooter
	if err := json.Unmarshal(doc, &foot); err != nil {
		return bad("the footer is not JSON: %w", err)
	}
	if foot.Schema == nil {
		return bad("the footer has no schema")
	}
	if err := foot.Schema.Validate(); err != nil {
		return bad("%w", err)
	}
	if len(foot.Labels) > maxLabels || foot.Shift > 1 {
		return bad("%d labels, index shift %d: at most %d and 1 are possible", len(foot.Labels), foot.Shift, maxLabels)
	}
	st := &fileStore{name: name, file: f, shift: foot.Shift, check: &blockRules{
		low: foot.Shift, high: uint32(foot.Schema.Dim) + foot.Shift, labels: len(foot.Labels),
		noLabel: foot.NoLabel > 0,
	}}
	le := binary.LittleEndian
	rows, nnz, off := int64(0), int64(0), int64(cacheHeaderSize)
	for ; len(refs) > 0; refs = refs[blockRefSize:] {
		r := blockRef{
			offset: int64(le.Uint64(refs)), rows: le.Uint32(refs[8:]), nonZeros: le.Uint32(refs[12:]),
			weighted: le.Uint32(refs[16:])&flagWeighted != 0,
		}
		if r.offset != off || r.rows == 0 || r.rows > blockRows || off+int64(r.size()) > end ||
			le.Uint32(refs[16:]) > flagWeighted {
			return bad("block %d: offset %d, %d rows, %d nonzeros do not fit: the file is corrupt", len(st.index),
				r.offset, r.rows, r.nonZeros)
		}
		off += int64(r.size())
		rows, nnz = rows+int64(r.rows), nnz+int64(r.nonZeros)
		st.index = append(st.index, r)
	}
	if off != end || rows != foot.Rows || nnz != foot.NonZeros {
		return bad("the blocks have %d rows and %d nonzeros and end at byte %d; the footer says %d, %d and %d",
			rows, nnz, off, foot.Rows, foot.NonZeros, end)
	}
	if rows == 0 {
		return bad("the cache has no rows")
	}
	if err := checkFooterLabels(&foot); err != nil {
		return bad("%w", err)
	}
	return &foot, st, nil
}

// checkFooterLabels checks that data can have these labels and that their rows add up. The error
// has no code and no place.
func checkFooterLabels(foot *cacheFooter) error {
	sum := foot.NoLabel
	seen := map[string]bool{}
	for _, l := range foot.Labels {
		name, err := canonicalLabel([]byte(l.Name))
		if err != nil {
			return err
		}
		if name != l.Name || seen[name] {
			return fmt.Errorf("label %q: it is a duplicate, or its canonical form is %q", l.Name, name)
		}
		seen[name] = true
		if l.Rows < 0 || l.Rows > foot.Rows {
			return fmt.Errorf("label %q: %d of %d rows", l.Name, l.Rows, foot.Rows)
		}
		sum += l.Rows
	}
	if foot.NoLabel < 0 || sum != foot.Rows {
		return fmt.Errorf("the labels have %d rows and %d rows have none; there are %d rows", sum-foot.NoLabel,
			foot.NoLabel, foot.Rows)
	}
	return nil
}

func readAt(f io.ReaderAt, b []byte, off int64) error {
	if n, err := f.ReadAt(b, off); n < len(b) {
		return noregret.BadInputf("", "byte %d cannot be read: %w", off+int64(n), err)
	}
	return nil
}
