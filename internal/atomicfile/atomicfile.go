// Package atomicfile writes files that are either whole or not there.
//
// A file is written under a temporary name in the directory of its target, flushed
// with fsync, renamed over the target, and the directory is flushed in turn. A
// process killed at any moment leaves the old file or the new one, never a part; at worst a
// temporary file named .NAME.tmp* stays behind.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write calls write with a writer to a temporary file and renames that file to path when
// write has returned nil. On any error the temporary file is removed and the file
// at path is untouched. The new file has mode 0666 before the umask.
func Write(path string, write func(w io.Writer) error) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := write(f); err != nil {
		return err
	}
	return f.Commit()
}

// WriteBytes is [Write] of a single slice.
func WriteBytes(path string, data []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// File is a file being written under its temporary name. End it with Commit or Abort.
type File struct {
	*os.File
	path string
	done bool
}

// Create opens a temporary file beside path.
func Create(path string) (*File, error) {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	for try := 0; ; try++ {
		name := filepath.Join(dir, fmt.Sprintf(".%s.tmp%d-%d", base, os.Getpid(), try))
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) && try < 10_000 {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &File{File: f, path: path}, nil
	}
}

// Commit flushes the file, closes it and renames it to its target.
func (f *File) Commit() (err error) {
	if f.done {
		return os.ErrClosed
	}
	defer func() {
		if err != nil {
			f.Abort()
		}
	}()
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), f.path); err != nil {
		return err
	}
	f.done = true
	return syncDir(filepath.Dir(f.path))
}

// Abort closes and removes the temporary file. After Commit it does nothing, so that it can be deferred.
func (f *File) Abort() {
	if f.done {
		return
	}
	f.done = true
	_ = f.Close() // already closed when Commit failed after closing
	_ = os.Remove(f.Name())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err := d.Sync(); err != nil {
		_ = d.Close()
		return err
	}
	return d.Close()
}
