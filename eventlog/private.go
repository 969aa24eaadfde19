package eventlog

import (
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// private is the machine's file system as the log uses it. Nobody but the owner can read what it
// makes, whatever the umask is: files have the mode 0600 from the beginning, directories 0700. It
// opens regular files only, as opening a pipe would wait for somebody who writes to it.
type private struct{ vfs.FS }

var _ vfs.FS = private{}

const (
	privateFile = 0o600
	privateDir  = 0o700
)

// A file of sparseSize bytes or more that has less than 1/sparseShare of them on the disk has
// holes: no file of a log has, also where the file system compresses.
const (
	sparseSize  = 64 << 20
	sparseShare = 256
)

// errSparse is the error of a file with holes, which may take days to read.
var errSparse = errors.New("the file claims to be far larger than what it takes on the disk: it has holes, as no " +
	"file of a log has")

// errIrregular is the error of a file that is a pipe, a device or a socket.
var errIrregular = errors.New("not a regular file: a log consists of regular files and directories")

// Unwrap implements vfs.FS.
func (p private) Unwrap() vfs.FS { return p.FS }

// Create implements vfs.FS. An existing file is replaced, as by pebble's own file system.
func (p private) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	for {
		err := touch(name)
		if err == nil {
			return p.FS.OpenReadWrite(name, c)
		}
		if !errors.Is(err, os.ErrExist) {
			return nil, err
		}
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
}

// touch makes an empty file.
func touch(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_CLOEXEC, privateFile)
	if err != nil {
		return err
	}
	return f.Close()
}

// regular returns an error if there is something of this name that is neither a regular file nor a
// directory, or a file with holes.
func regular(name string) error {
	st, err := os.Stat(name)
	if err == nil && !st.Mode().IsRegular() && !st.IsDir() {
		return &os.PathError{Op: "open", Path: name, Err: errIrregular}
	}
	if err == nil && st.Mode().IsRegular() && sparse(st) {
		return &os.PathError{Op: "open", Path: name, Err: errSparse}
	}
	return nil // opening it reports other errors
}

// Open implements vfs.FS.
func (p private) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if err := regular(name); err != nil {
		return nil, err
	}
	return p.FS.Open(name, opts...)
}

// OpenReadWrite implements vfs.FS.
func (p private) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	if err := regular(name); err != nil {
		return nil, err
	}
	if err := touch(name); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	return p.FS.OpenReadWrite(name, c, opts...)
}

// MkdirAll implements vfs.FS.
func (p private) MkdirAll(dir string, _ os.FileMode) error { return p.FS.MkdirAll(dir, privateDir) }

// Lock implements vfs.FS.
func (p private) Lock(name string) (io.Closer, error) {
	if err := regular(name); err != nil {
		return nil, err
	}
	if err := touch(name); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	return p.FS.Lock(name)
}
