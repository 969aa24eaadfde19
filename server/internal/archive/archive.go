// Package archive is the container of a backup: a tar file whose last entry, SHA256SUMS, has the
// checksums of all entries before it in the form of sha256sum. So a file that was cut off, changed
// or put together of two is refused, and the tools of every system can read and check one
// (docs/formats/backup.md).
package archive

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/noregret/noregret"
)

const (
	// sumsName is the name of the last entry.
	sumsName = "SHA256SUMS"
	// pieceSize is the size of the entries of something large, and maxEntry the most that a reader
	// takes to memory.
	pieceSize = 4 << 20
	maxEntry  = 64 << 20
	maxName   = 100
)

// Writer writes an archive. It needs the memory of one entry.
type Writer struct {
	tar  *tar.Writer
	at   time.Time
	sums bytes.Buffer
}

// NewWriter returns a writer of an archive whose entries have the given time.
func NewWriter(w io.Writer, at time.Time) *Writer {
	return &Writer{tar: tar.NewWriter(w), at: at.UTC().Truncate(time.Second)}
}

// Add writes an entry.
func (w *Writer) Add(name string, content []byte) error {
	if err := w.entry(name, content); err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	fmt.Fprintf(&w.sums, "%x  %s\n", sum, name)
	return nil
}

func (w *Writer) entry(name string, content []byte) error {
	if len(content) > maxEntry || len(name) > maxName {
		return noregret.Errorf(noregret.Internal, name, "%d bytes: want at most %d", len(content), maxEntry)
	}
	h := tar.Header{
		Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(content)), ModTime: w.at,
		Format: tar.FormatUSTAR,
	}
	if err := w.tar.WriteHeader(&h); err != nil {
		return err
	}
	_, err := w.tar.Write(content)
	return err
}

// AddPieces writes what write writes as entries of a few MiB, whose names are the given one and a
// number.
func (w *Writer) AddPieces(name string, write func(to io.Writer) error) error {
	p := &pieces{to: w, name: name}
	if err := write(p); err != nil {
		return err
	}
	return p.flush()
}

// pieces collects a piece.
type pieces struct {
	to   *Writer
	name string
	n    int
	b    bytes.Buffer
}

// Write implements [io.Writer].
func (p *pieces) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		k := min(len(b), pieceSize-p.b.Len())
		p.b.Write(b[:k])
		n, b = n+k, b[k:]
		if p.b.Len() == pieceSize {
			if err := p.flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

func (p *pieces) flush() error {
	if p.b.Len() == 0 {
		return nil
	}
	p.n++
	err := p.to.Add(fmt.Sprintf("%s/%08d", p.name, p.n), p.b.Bytes())
	p.b.Reset()
	return err
}

// Close writes the checksums and ends the archive. Without it a reader refuses the archive.
func (w *Writer) Close() error {
	if err := w.entry(sumsName, w.sums.Bytes()); err != nil {
		return err
	}
	return w.tar.Close()
}

// Reader reads an archive and checks it. What it returns before the end may be damaged: use it only
// once [Reader.Next] has returned [io.EOF].
type Reader struct {
	name   string
	from   *counter
	tar    *tar.Reader
	sums   bytes.Buffer // as they are of what was read
	unread *entry       // one that ReadPieces has met
	done   bool
}

type entry struct {
	name    string
	content []byte
}

// NewReader returns a reader. Errors name the archive by the given name.
func NewReader(name string, r io.Reader) *Reader {
	from := &counter{from: r}
	return &Reader{name: name, from: from, tar: tar.NewReader(from)}
}

// counter counts the bytes that were read.
type counter struct {
	from io.Reader
	n    int64
}

// Read implements [io.Reader].
func (c *counter) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	c.n += int64(n)
	return n, err
}

// Next returns the next entry. It returns [io.EOF] at the end of an archive that is whole.
func (r *Reader) Next() (name string, content []byte, err error) {
	if e := r.unread; e != nil {
		r.unread = nil
		return e.name, e.content, nil
	}
	if r.done {
		return "", nil, io.EOF
	}
	h, err := r.tar.Next()
	if errors.Is(err, io.EOF) {
		return "", nil, r.bad("cut off: it has no %s at its end", sumsName)
	}
	if err != nil {
		return "", nil, r.bad("damaged or not a backup: %w", err)
	}
	if h.Typeflag != tar.TypeReg || h.Size > maxEntry || len(h.Name) > maxName {
		return "", nil, r.bad("the entry %.100q is not one of a backup", h.Name)
	}
	if content, err = io.ReadAll(r.tar); err != nil {
		return "", nil, r.bad("cut off within the entry %s: %w", h.Name, err)
	}
	if h.Name != sumsName {
		sum := sha256.Sum256(content)
		fmt.Fprintf(&r.sums, "%s  %s\n", hex.EncodeToString(sum[:]), h.Name)
		return h.Name, content, nil
	}
	if !bytes.Equal(content, r.sums.Bytes()) {
		return "", nil, r.bad("damaged: %s", difference(r.sums.Bytes(), content))
	}
	if _, err := r.tar.Next(); !errors.Is(err, io.EOF) {
		return "", nil, r.bad("damaged: something follows %s, before byte %d", sumsName, r.from.n)
	}
	if err := r.end(); err != nil {
		return "", nil, err
	}
	r.done = true
	return "", nil, io.EOF
}

// end reads what follows the end of the archive, which may be zeros: tools fill up to a whole
// record.
func (r *Reader) end() error {
	b := make([]byte, 32<<10)
	for {
		begin := r.from.n
		n, err := r.from.Read(b)
		for i, c := range b[:n] {
			if c != 0 {
				return r.bad("something follows its end, at byte %d: want one backup, and nothing behind it",
					begin+int64(i))
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return r.bad("damaged behind its end, at byte %d: %w", r.from.n, err)
		}
	}
}

// Unread makes Next return an entry again.
func (r *Reader) Unread(name string, content []byte) { r.unread = &entry{name, content} }

// difference names the first entry whose checksum is not the stated one.
func difference(got, want []byte) string {
	for line := range bytes.Lines(got) {
		stated, rest, _ := bytes.Cut(want, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\n"))
		if !bytes.Equal(line, stated) {
			_, name, _ := bytes.Cut(line, []byte("  "))
			return fmt.Sprintf("the entry %.100q has another checksum than %s says", name, sumsName)
		}
		want = rest
	}
	return "it lacks entries that " + sumsName + " names"
}

// bad is an error about the archive.
func (r *Reader) bad(format string, args ...any) error {
	return noregret.BadInputf(r.name, format, args...)
}

// Pieces returns a reader of what [Writer.AddPieces] has written under a name, from the next entry
// on.
func (r *Reader) Pieces(name string) io.Reader { return &joined{from: r, name: name} }

type joined struct {
	from *Reader
	name string
	n    int
	rest []byte
	err  error
}

// Read implements [io.Reader].
func (j *joined) Read(b []byte) (int, error) {
	for len(j.rest) == 0 {
		if j.err != nil {
			return 0, j.err
		}
		name, content, err := j.from.Next()
		switch {
		case err != nil:
			j.err = err
		case name != fmt.Sprintf("%s/%08d", j.name, j.n+1):
			j.from.Unread(name, content)
			j.err = io.EOF
		default:
			j.n, j.rest = j.n+1, content
		}
	}
	n := copy(b, j.rest)
	j.rest = j.rest[n:]
	return n, nil
}
