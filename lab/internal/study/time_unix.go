//go:build unix

package study

import (
	"syscall"
	"time"
)

// ProcessorTime is the processor time that the program has taken.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
