//go:build !linux

package main

import (
	"runtime"
	"testing"
)

// TestDefects needs limits of processes and the directory /proc.
func TestDefects(t *testing.T) {
	t.Skip("the reproducers of defects run on Linux only, not on " + runtime.GOOS)
}
