package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// locks says that the system has locks that end with the process, and renames open files.
const locks = false

// lock does nothing: the system does not remove a file that is open.
func lock(*os.File) error { return nil }

// sharing is the error of a file that a process has open (ERROR_SHARING_VIOLATION).
const sharing = syscall.Errno(32)

// removeDead removes a temporary file unless its process has it open. It keeps directories: files
// in them could be removed one by one while their process runs.
func removeDead(path string, dir bool) error {
	if st, err := os.Lstat(path); dir || err == nil && !st.Mode().IsRegular() {
		return nil
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, sharing) {
		return err
	}
	return nil
}

// held reports nothing: an open file can be opened again.
func held(*os.File) bool { return false }
