package dataset

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/noregret/noregret"
)

// peekBytes is the number of bytes of an input that are examined before it is read: enough to find
// its format and, in CSV, the header and the first data row.
const peekBytes = 1 << 20

// maxZstdWindow bounds the memory that a zstd stream may request. zstd --ultra -22 needs this much.
const maxZstdWindow = 128 << 20

// stdinName is the input that stands for standard input.
const stdinName = "-"

// input is an open input, decompressed.
type input struct {
	name   string
	file   *os.File // nil for standard input
	r      *bufio.Reader
	from   io.Reader // what r reads from
	failed bool      // r has met the end or an error, which its next reads return
	unpack io.Closer // the decompressor, or nil
	packed bool      // compressed
	live   bool      // standard input or a pipe: it may be written while it is read
	raw    *countingReader
	// nominal are the names of ARFF's nominal attributes.
	nominal []string
	written string // see [Info.Written]
}

// countingReader counts the bytes read from the stored input.
type countingReader struct {
	r io.Reader
	n atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

type closeFunc func()

func (f closeFunc) Close() error { f(); return nil }

// openInput opens a file or standard input and recognises gzip, zstd and bzip2 by their magic
// numbers.
func openInput(name string, stdin io.Reader) (*input, error) {
	in := &input{name: name}
	if name == stdinName {
		in.live = true
		in.raw = &countingReader{r: stdin}
	} else {
		f, err := os.Open(name)
		if err != nil {
			return nil, openError(name, err)
		}
		in.file = f
		st, err := f.Stat()
		in.live = err == nil && !st.Mode().IsRegular()
		in.raw = &countingReader{r: f}
	}
	err := in.decompress()
	if err == nil {
		err = in.convert()
	}
	if err != nil {
		_ = in.close()
		return nil, err
	}
	return in, nil
}

func (in *input) decompress() error {
	raw := bufio.NewReaderSize(in.raw, 64<<10)
	magic, err := raw.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return in.readError(err)
	}
	var r io.Reader = raw
	switch {
	case len(magic) >= 2 && magic[0] == 0x1f && magic[1] == 0x8b:
		in.packed = true
		z, err := gzip.NewReader(raw)
		if err != nil {
			return in.readError(err)
		}
		in.unpack, r = z, z
	case isBzip2(raw):
		in.packed = true
		r = bzip2.NewReader(raw)
	case string(magic) == "\x28\xb5\x2f\xfd":
		in.packed = true
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return in.readError(err)
		}
		in.unpack, r = closeFunc(z.Close), z
	}
	in.buffer(r)
	return nil
}

// buffer sets the reader of the input.
func (in *input) buffer(r io.Reader) {
	in.r, in.from, in.failed = bufio.NewReaderSize(r, peekBytes), r, false
}

// Read implements [io.Reader]. Bytes that were not peeked at are not copied by way of a buffer.
func (in *input) Read(p []byte) (int, error) {
	if in.failed || in.r.Buffered() > 0 {
		return in.r.Read(p)
	}
	return in.from.Read(p)
}

// isBzip2 reports whether the first bytes are those of bzip2: of a file with blocks, or an empty
// one.
func isBzip2(raw *bufio.Reader) bool {
	if magic, _ := raw.Peek(3); string(magic) != "BZh" {
		return false
	}
	magic, _ := raw.Peek(10)
	return bytes.HasSuffix(magic, []byte("1AY&SY")) || bytes.HasSuffix(magic, []byte("\x17\x72\x45\x38\x50\x90"))
}

// peek returns the first bytes of the decompressed input, peekBytes unless it is shorter. whole
// reports whether they are all of it. Later reads return a read error again. On a live input peek
// waits only until enough reports true. enough must depend on the bytes alone, and more bytes must
// not change what the caller concludes from them.
func (in *input) peek(enough func(head []byte) bool) (head []byte, whole bool) {
	for in.live {
		head, _ := in.r.Peek(in.r.Buffered())
		if len(head) == peekBytes || enough(head) {
			return head, false
		}
		if _, err := in.r.Peek(len(head) + 1); err != nil {
			in.failed = true
			head, _ = in.r.Peek(in.r.Buffered())
			return head, errors.Is(err, io.EOF)
		}
	}
	head, err := in.r.Peek(peekBytes)
	in.failed = err != nil
	return head, errors.Is(err, io.EOF)
}

// readError returns the error for a failed read.
func (in *input) readError(err error) error {
	if e, ok := errors.AsType[*noregret.Error](err); ok {
		return e // of a conversion
	}
	switch {
	case in.packed && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)):
		return noregret.BadInputf(in.name, "the compressed file is cut off, or other bytes follow its end: %w", err)
	case in.packed:
		return noregret.BadInputf(in.name, "the compressed file is corrupt: %w", err)
	}
	return noregret.Errorf(noregret.Internal, in.name, "read failed: %w", err)
}

func (in *input) close() error {
	if in.unpack != nil {
		_ = in.unpack.Close() // the data have been read or are not needed
	}
	if in.file != nil {
		return in.file.Close()
	}
	return nil
}

func openError(name string, err error) error {
	if scheme, _, ok := strings.Cut(name, "://"); ok && slices.Contains(elsewhere, scheme) {
		return noregret.Errorf(noregret.NotFound, name,
			"not a file: noregret-input %s | noregret ... - (see docs/how-to/sources.md)", name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return noregret.Errorf(noregret.NotFound, name, "no such file")
	}
	return noregret.BadInputf(name, "cannot be opened: %w", err)
}

// elsewhere are the schemes of the addresses that the program noregret-input reads.
var elsewhere = []string{"s3", "nats", "kafka"}

// checkInputs returns an error for an empty list, missing files, directories and a second use of
// standard input, before anything is read. It returns the sum of the sizes, or -1 if it is unknown.
func checkInputs(inputs []string) (total int64, err error) {
	if len(inputs) == 0 {
		return 0, noregret.Errorf(noregret.Usage, "", "no input: name at least one file, or %q for standard input",
			stdinName)
	}
	stdins := 0
	for _, name := range inputs {
		if name == stdinName {
			if stdins++; stdins > 1 {
				return 0, noregret.Errorf(noregret.Usage, "", "standard input (%q) is named twice: it can be read once",
					stdinName)
			}
			total = -1
			continue
		}
		st, err := os.Stat(name)
		if err != nil {
			return 0, openError(name, err)
		}
		if st.IsDir() {
			return 0, noregret.BadInputf(name, "is a directory; name a file")
		}
		if total >= 0 {
			total += st.Size()
			if !st.Mode().IsRegular() {
				total = -1
			}
		}
	}
	return total, nil
}
