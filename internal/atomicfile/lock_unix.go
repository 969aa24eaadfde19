//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// locks says that the system has locks that end with the process, and renames open files.
const locks = true

// lock waits for the lock of a file that was made just now: another process holds it for the moment
// in which it removes the file. The error says that the file system has no locks.
func lock(f *os.File) error { return flock(f, syscall.LOCK_EX) }

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// removeDead removes a temporary file, or a directory, unless its process runs.
func removeDead(path string, dir bool) error {
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || st.IsDir() != dir || !dir && !st.Mode().IsRegular() {
		return err // not of this package
	}
	how := os.O_RDWR // some file systems lock only what may be written
	if dir || st.Mode().Perm()&0o600 != 0o600 {
		how = os.O_RDONLY
	}
	f, err := os.OpenFile(path, how|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // the lock ends with it
	switch err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil // it runs
	case err != nil:
		return errAlive(path, err)
	case !named(f, path):
		return nil // its process has ended it meanwhile
	}
	Step("remove", path)
	if dir {
		return os.RemoveAll(path)
	}
	return os.Remove(path)
}

// held reports whether another process holds the lock of a file, and else takes it.
func held(f *os.File) bool {
	return errors.Is(flock(f, syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
