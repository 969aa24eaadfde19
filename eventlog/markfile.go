package eventlog

import (
	"errors"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The mark file is a second record of the last acknowledged position. pebble treats a write-ahead
// log that ends early as one that a crash has cut, and does not know whether the missing end was
// acknowledged. So once a group is durable, and before it is acknowledged, its position and
// checksum are written here, alternately to one of two slots. These writes are not flushed: they
// survive kill -9, and after a power loss the mark may be older than the log but never newer.
const (
	markFileName = "mark"
	markSlot     = 4096 // from slot to slot, so that a torn page holds one of them
	markFileSize = markSlot + markBytes
)

// markFile writes marks.
type markFile struct {
	file vfs.File
	next int64 // offset of the slot to write
}

// readMark returns the newest mark. ok is false if no slot is intact.
func readMark(fs FS, path string) (m mark, slot int64, ok bool, err error) {
	f, err := fs.Open(path)
	if err != nil {
		return m, 0, false, err
	}
	defer func() { _ = f.Close() }()
	for _, off := range []int64{0, markSlot} {
		buf := make([]byte, markBytes)
		if _, err := f.ReadAt(buf, off); err != nil {
			if errors.Is(err, io.EOF) {
				continue // cut short
			}
			return m, 0, false, err
		}
		if got, whole := decodeMark(markMagic, buf); whole && (!ok || got.position > m.position) {
			m, slot, ok = got, off, true
		}
	}
	return m, slot, ok, nil
}

// createMark durably writes a new mark file with one mark.
func createMark(fs FS, dir string, m mark) error {
	data := make([]byte, markFileSize)
	copy(data, encodeMark(markMagic, m))
	return writeFile(fs, dir, markFileName, data)
}

// openMark opens the mark file for writing; the newest mark is in the given slot.
func openMark(fs FS, path string, slot int64) (*markFile, error) {
	f, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	return &markFile{file: f, next: markSlot - slot}, nil
}

// write replaces the older mark by m.
func (f *markFile) write(m mark) error {
	_, err := f.file.WriteAt(encodeMark(markMagic, m), f.next)
	f.next = markSlot - f.next
	return err
}

// close flushes the marks, so that after a regular end not even a power loss makes them older.
func (f *markFile) close() error { return errors.Join(f.file.Sync(), f.file.Close()) }

// writeFile writes the file dir/name atomically and durably. It is internal/atomicfile for an [FS].
func writeFile(fs FS, dir, name string, data []byte) error {
	path := fs.PathJoin(dir, name)
	f, err := fs.Create(path+tempSuffix, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := fs.Rename(path+tempSuffix, path); err != nil {
		return err
	}
	return syncDir(fs, dir)
}

const tempSuffix = ".tmp"

func syncDir(fs FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// makeDirs creates dir and its parents and flushes each new name.
func makeDirs(fs FS, dir string) error {
	if dir == "" {
		dir = "."
	}
	if st, err := fs.Stat(dir); err == nil {
		if !st.IsDir() {
			return &os.PathError{Op: "mkdir", Path: dir, Err: errors.New("not a directory")}
		}
		return nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	parent := fs.PathDir(dir)
	if parent != dir {
		if err := makeDirs(fs, parent); err != nil {
			return err
		}
	}
	if err := fs.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return syncDir(fs, parent)
}

// readFile reads a whole file of at most limit bytes.
func readFile(fs FS, path string, limit int64) ([]byte, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() > limit {
		return nil, &os.PathError{Op: "read", Path: path, Err: errors.New("the file is too large")}
	}
	data := make([]byte, st.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, err
	}
	return data, nil
}
