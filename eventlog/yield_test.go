package eventlog

import "runtime"

// yieldCPU lets other goroutines run. Tests wait on conditions with it, never for a time.
func yieldCPU() { runtime.Gosched() }
