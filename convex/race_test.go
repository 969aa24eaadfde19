//go:build race

package convex_test

// raceEnabled: under the race detector a sync.Pool drops a quarter of what it is given, so pooled
// workspaces are made anew.
const raceEnabled = true
