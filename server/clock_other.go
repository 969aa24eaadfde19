//go:build !linux

package server

import "time"

// elapsedTime returns a function that returns the time elapsed since now. Steps of the machine's
// clock do not change it.
func elapsedTime() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}
