//go:build linux && !race

package pages

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapMemory returns zeros outside of the Go heap, or nil, also where the system's pages are larger
// than those here, so that it would not take single ones back.
func mapMemory(n int) []byte {
	if Size%os.Getpagesize() != 0 {
		return nil
	}
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return b
}

// unmapMemory frees memory of mapMemory.
func unmapMemory(b []byte) { _ = unix.Munmap(b) }

// dropMemory gives a part of mapMemory's memory back to the system and reports whether that did. It
// is then zero.
func dropMemory(b []byte) bool {
	return unix.Madvise(b, unix.MADV_DONTNEED) == nil
}
