package eventlog

import (
	"io"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ScratchFile is a file whose content means nothing after the process has ended.
type ScratchFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// CreateScratch makes an empty file on fs (nil: the machine's disk), in place of one that is there.
// It does not grow into the last [Reserve] bytes of its disk: a write then returns [ErrNoRoom].
func CreateScratch(fs FS, path string) (ScratchFile, error) {
	fs = disk(fs)
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	return &scratch{File: f, room: roomFor(fs, fs.PathDir(path))}, nil
}

// scratch is a scratch file that leaves the reserve.
type scratch struct {
	vfs.File
	room func(bytes int64) error

	mu   sync.Mutex
	size int64
}

// WriteAt implements [io.WriterAt].
func (f *scratch) WriteAt(b []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if more := off + int64(len(b)) - f.size; more > 0 {
		if err := f.room(more); err != nil {
			return 0, err
		}
		f.size += more
	}
	return f.File.WriteAt(b, off)
}

// RemoveScratch removes a scratch file.
func RemoveScratch(fs FS, path string) error { return disk(fs).Remove(path) }
