//go:build linux && !race

package pages

import (
	"os"

	"golang.org/x/sys/unix"
)

// The race detector does not see memory outside of the Go heap, so tests with it have none.

// mapMemory returns zeros outside of the Go heap, or nil.
func mapMemory(n int) []byte {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return b
}

// unmapMemory frees memory of mapMemory.
func unmapMemory(b []byte) { _ = unix.Munmap(b) }

var canDrop = Size%os.Getpagesize() == 0

// dropMemory gives a part of mapMemory's memory back to the system and reports whether that did. It
// is then zero.
func dropMemory(b []byte) bool {
	return canDrop && unix.Madvise(b, unix.MADV_DONTNEED) == nil
}
