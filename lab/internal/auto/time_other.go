//go:build !unix

package auto

import "time"

var start = time.Now()

// processorNow is the time since the start: here the processor time is not known.
func processorNow() time.Duration { return time.Since(start) }
