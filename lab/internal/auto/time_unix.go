//go:build unix

package auto

import (
	"syscall"
	"time"
)

// processorNow is the processor time that the program has taken.
func processorNow() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
