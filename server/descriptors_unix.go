//go:build unix

package server

import (
	"math"
	"syscall"
)

// descriptorLimit returns how many file descriptors the process may have.
func descriptorLimit() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return assumedDescriptors
	}
	return int(min(uint64(l.Cur), math.MaxInt32))
}
