package server

import (
	"time"

	"golang.org/x/sys/unix"
)

// elapsedTime returns a function that returns the time elapsed since now. Steps of the machine's
// clock do not change it; the time for which the machine is suspended counts.
func elapsedTime() func() time.Duration {
	begin, ok := bootTime()
	if !ok {
		start := time.Now()
		return func() time.Duration { return time.Since(start) }
	}
	return func() time.Duration {
		now, _ := bootTime() // it has worked
		return now - begin
	}
}

// bootTime returns the time since the machine was started.
func bootTime() (time.Duration, bool) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return time.Duration(t.Nano()), err == nil
}
