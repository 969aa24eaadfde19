//go:build !linux && !race

package pages

// mapMemory returns nil: pages are in the Go heap.
func mapMemory(int) []byte { return nil }

func unmapMemory([]byte) {}

func dropMemory([]byte) bool { return false }
