//go:build race

package convex_test

// raceEnabled reports whether the race detector is on. A sync.Pool then drops a quarter of the
// values put into it, so pooled workspaces are allocated again.
const raceEnabled = true
