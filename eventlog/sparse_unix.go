//go:build unix

package eventlog

import (
	"os"
	"syscall"
)

// sparse reports whether a file claims to be far larger than what it takes on the disk.
func sparse(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Size() >= sparseSize && int64(st.Blocks) < info.Size()/512/sparseShare
}
