//go:build race

package pages

// mapMemory returns memory of the Go heap, as the race detector sees no other, so that the arena is
// tested with it.
func mapMemory(n int) []byte { return make([]byte, n) }

func unmapMemory([]byte) {}

func dropMemory(b []byte) bool {
	clear(b)
	return true
}
