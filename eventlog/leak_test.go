package eventlog

import (
	"testing"

	"go.uber.org/goleak"
)

// noLeaks checks at the end of a test that it has ended its goroutines. Tests that inject failures
// of the disk do not call it: a failed pebble cannot be ended, see failStop.
func noLeaks(t *testing.T) {
	t.Helper()
	running := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, running) })
}
