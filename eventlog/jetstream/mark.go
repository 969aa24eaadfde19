package jetstream

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/internal/atomicfile"
)

// The mark is this node's own record of the last message that it has seen: a stream whose servers
// have lost their power can come back shorter, or with other messages, and nothing in the protocol
// says so. It is written to one of two slots alternately, before the message is acknowledged or
// shown to a reader, without a flush: it survives kill -9, and after a loss of the power it may be
// older, but never newer.
const (
	markName  = "mark"
	markMagic = "NRM2"
	markBytes = 36
	markSlot  = 4096
)

// mark is what the mark file says: the end of the log, and when the stream was created.
type mark struct {
	point
	created int64 // in nanoseconds since the Unix epoch
}

// encode returns the bytes of a mark: magic, position, sequence, created, sum, the CRC-32C of all
// that.
func (m mark) encode() []byte {
	b := append(make([]byte, 0, markBytes), markMagic...)
	b = binary.LittleEndian.AppendUint64(b, m.position)
	b = binary.LittleEndian.AppendUint64(b, m.sequence)
	b = binary.LittleEndian.AppendUint64(b, uint64(m.created))
	b = binary.LittleEndian.AppendUint32(b, m.sum)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decodeMark reads the bytes of a mark.
func decodeMark(b []byte) (m mark, ok bool) {
	body := b[:markBytes-4]
	if string(b[:4]) != markMagic || crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(b[len(body):]) {
		return m, false
	}
	m.position, m.sequence = binary.LittleEndian.Uint64(b[4:]), binary.LittleEndian.Uint64(b[12:])
	m.created, m.sum = int64(binary.LittleEndian.Uint64(b[20:])), binary.LittleEndian.Uint32(b[28:])
	return m, true
}

// marks is the open mark file.
type marks struct {
	file *os.File
	next int64 // the offset of the slot to write
}

// openMarks opens the mark file of a directory, or makes one that says the mark. It returns what
// the file says.
func openMarks(dir string, fresh mark) (f *marks, m mark, err error) {
	path := filepath.Join(dir, markName)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		b := make([]byte, markSlot+markBytes)
		copy(b, fresh.encode())
		if err := atomicfile.WritePrivate(path, b); err != nil {
			return nil, m, err
		}
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return nil, m, err
	}
	f = &marks{file: file}
	ok := false
	for _, at := range []int64{0, markSlot} {
		var b [markBytes]byte
		if _, err := file.ReadAt(b[:], at); err != nil && !errors.Is(err, io.EOF) {
			return nil, m, errors.Join(err, file.Close())
		}
		if got, whole := decodeMark(b[:]); whole && (!ok || got.sequence > m.sequence) {
			m, ok, f.next = got, true, markSlot-at
		}
	}
	if !ok {
		err := noregret.BadInputf(path, "%w: the mark of what this node has seen cannot be read; remove the file if "+
			"the stream is known to have lost nothing", eventlog.ErrDamaged)
		return nil, m, errors.Join(err, file.Close())
	}
	return f, m, nil
}

// write replaces the older mark. If it fails, the next one goes to the same slot, as the other one
// is still whole.
func (f *marks) write(m mark) error {
	if _, err := f.file.WriteAt(m.encode(), f.next); err != nil {
		return err
	}
	f.next = markSlot - f.next
	return nil
}

// close flushes the mark, so that after a regular end not even a loss of the power makes it older.
func (f *marks) close() error { return errors.Join(f.file.Sync(), f.file.Close()) }
