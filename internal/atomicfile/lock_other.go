//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package atomicfile

import (
	"errors"
	"os"
)

// locks says that the system has locks that end with the process, and renames open files.
const locks = false

// lock returns an error, as there are no locks.
func lock(*os.File) error { return errors.ErrUnsupported }

// removeDead removes nothing: whether the process runs is unknown.
func removeDead(path string, _ bool) error { return errAlive(path, errors.ErrUnsupported) }

// held reports nothing, as there are no locks.
func held(*os.File) bool { return false }
