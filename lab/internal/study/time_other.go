//go:build !unix

package study

import "time"

var start = time.Now()

// ProcessorTime is the time since the start: here the processor time is not known.
func ProcessorTime() time.Duration { return time.Since(start) }
