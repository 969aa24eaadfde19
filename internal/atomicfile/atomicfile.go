// Package atomicfile writes files atomically: after a crash the target is the old file or the new
// one.
//
// A file is written under a temporary name in the directory of its target, flushed with fsync and
// renamed to the target. Then the directory is flushed, if the system supports that (Windows and
// some file systems do not). A process killed at any moment leaves the old file or the new one,
// never a part; at worst a temporary file named .NAME.tmp* remains. The next writer of the target
// removes it, and [Clean] does: a process holds a lock on its temporary files, which ends with the
// process. Where the file system has no locks, such a file remains.
//
// If the target is a symbolic link, the file that it names is replaced. An existing target that is
// not a regular file (a directory, a device such as /dev/stdout, a pipe) is an error. An existing
// file keeps its permissions; a new one has mode 0666 before the umask.
package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/noregret/noregret"
)

// Write calls write with a writer to a temporary file and renames that file to path if write
// returns nil. After an error the temporary file is removed and the file at path is unchanged, with
// one exception: if flushing the directory fails after the renaming, the new file is in place, but
// a crash of the machine may undo that.
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

// WritePrivate is [WriteBytes] of a file that only its owner may read and write (mode 0600),
// whatever the umask is and whatever mode the file had.
func WritePrivate(path string, data []byte) error {
	f, err := CreatePrivate(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}

// Failpoint, unless it is nil, is called before each operation on files: "create", "write" (once
// before and once in the middle of it), "sync", "rename", "link", "remove". Only tests set it, to
// end the process there.
var Failpoint func(operation, path string)

// Step calls [Failpoint]. Packages with operations of their own call it too.
func Step(operation, path string) {
	if Failpoint != nil {
		Failpoint(operation, path)
	}
}

// File is a file being written under its temporary name. End it with Commit, Link or Abort.
type File struct {
	*os.File
	path string
	done bool
}

// Create opens a temporary file beside path, or beside the file that path is a symbolic link to.
func Create(path string) (*File, error) { return create(path, 0o777) }

// CreatePrivate is [Create] of a file that only its owner may read and write, as [WritePrivate]
// writes it. It also removes what killed writers of private files have left in the directory,
// whatever their target was: with another name every time, no writer would come to remove it.
func CreatePrivate(path string) (*File, error) {
	target, err := follow(path)
	if err != nil {
		return nil, err
	}
	_ = cleanPrivate(target) // what cannot be removed does not stop the writing
	f, err := create(path, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(0o600); err != nil && runtime.GOOS != "windows" {
		f.Abort()
		return nil, err
	}
	return f, nil
}

// create is Create with the most that the mode of the temporary file may have.
func create(path string, most fs.FileMode) (*File, error) {
	target, err := follow(path)
	if err != nil {
		return nil, err
	}
	mode, exists := fs.FileMode(0o666)&most, false
	switch st, err := os.Lstat(target); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, noregret.Errorf(noregret.Usage, path, "the target is %s: it must be a regular file or a new name",
			kind(st.Mode()))
	default:
		mode, exists = st.Mode().Perm()&most, true
	}
	_ = Clean(target) // what cannot be removed does not stop the writing
	f, err := temporary(target, mode)
	if err != nil {
		return nil, err
	}
	out := &File{File: f, path: target}
	if exists { // the umask may have taken bits away
		if err := f.Chmod(mode); err != nil && runtime.GOOS != "windows" {
			out.Abort()
			return nil, err
		}
	}
	return out, nil
}

// follow resolves symbolic links like opening a file for writing: the target of the last link need
// not exist.
func follow(name string) (string, error) {
	const most = 40 // as Linux
	path := name
	for range most {
		st, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) || (err == nil && st.Mode()&fs.ModeSymlink == 0) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			// Not filepath.Join or Dir: they would remove x/.. even if x is a link.
			dir, _ := filepath.Split(path)
			to = dir + to
		}
		path = to
	}
	return "", noregret.Errorf(noregret.Usage, name, "more than %d symbolic links", most)
}

// kind names the kind of a file that is not regular.
func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeDevice != 0:
		return "a device"
	case m&fs.ModeSocket != 0:
		return "a socket"
	default:
		return "a special file"
	}
}

// Write implements [io.Writer].
func (f *File) Write(b []byte) (n int, err error) {
	if Failpoint == nil {
		return f.File.Write(b)
	}
	for _, part := range [][]byte{b[:len(b)/2], b[len(b)/2:]} {
		Step("write", f.path)
		m, err := f.File.Write(part)
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

// Commit flushes the file, renames it to its target, closes it and flushes the directory. After an
// error the target is unchanged unless this last step has failed.
func (f *File) Commit() (err error) {
	if f.done {
		return os.ErrClosed
	}
	defer func() {
		if err != nil {
			f.Abort()
		}
	}()
	Step("sync", f.path)
	if err := f.Sync(); err != nil {
		return err
	}
	if !locks { // the system may not rename open files
		if err := f.Close(); err != nil {
			return err
		}
	}
	Step("rename", f.path)
	if err := os.Rename(f.Name(), f.path); err != nil {
		return err
	}
	f.done = true
	if locks { // until now the lock has kept others from removing the temporary file
		_ = f.Close() // everything is flushed
	}
	dir, _ := filepath.Split(f.path)
	return SyncDir(dir)
}

// Link is Commit for a target that must not exist, as several processes may write it: the error is
// then [fs.ErrExist]. It needs a file system with hard links and does not flush the directory.
func (f *File) Link() (err error) {
	if f.done {
		return os.ErrClosed
	}
	defer f.Abort() // the target keeps the content
	Step("sync", f.path)
	if err := f.Sync(); err != nil {
		return err
	}
	Step("link", f.path)
	return os.Link(f.Name(), f.path)
}

// Abort closes and removes the temporary file. After Commit or Link it has no effect, so it can be
// deferred.
func (f *File) Abort() {
	if f.done {
		return
	}
	f.done = true
	if !locks {
		_ = f.Close() // closed already if Commit failed after closing
	}
	Step("remove", f.Name())
	_ = os.Remove(f.Name())
	if locks {
		_ = f.Close()
	}
}

// SyncDir flushes a directory ("" is the current one) if the system supports that.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	if dir == "" {
		dir = "."
	}
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil // the directory is writable but not readable
	}
	if err != nil {
		return err
	}
	err = flushed(d.Sync())
	return errors.Join(err, d.Close())
}

// flushed drops the errors of file systems that cannot flush directories.
func flushed(err error) error {
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}
