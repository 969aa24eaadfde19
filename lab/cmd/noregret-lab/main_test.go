package main

import (
	"context"
	"io"
	"strings"
	"testing"
)

// TestEveryCommandIsDescribed: each command has a text, an example, and refuses arguments or flags
// that it does not know with status 2.
func TestEveryCommandIsDescribed(t *testing.T) {
	for _, c := range newRoot().Commands() {
		if c.Short == "" || c.Long == "" || !strings.Contains(c.Example, "noregret-lab "+c.Name()) {
			t.Errorf("%s has no description or no example", c.Name())
		}
		var stderr strings.Builder
		if s := run(t.Context(), []string{c.Name(), "--none"}, io.Discard, &stderr); s != 2 {
			t.Errorf("%s --none: status %d, %s", c.Name(), s, stderr.String())
		}
	}
}

// TestStatus: an unknown command is a usage error, missing data are no failure, and an interrupted
// run says so.
func TestStatus(t *testing.T) {
	var stdout, stderr strings.Builder
	s := run(t.Context(), []string{"chess"}, &stdout, &stderr)
	if s != 2 || !strings.Contains(stderr.String(), "chess") {
		t.Errorf("status %d, %s", s, stderr.String())
	}
	if s := run(t.Context(), []string{"obd", "--data", t.TempDir()}, &stdout, &stderr); s != 0 ||
		!strings.Contains(stdout.String(), "SKIPPED") {
		t.Errorf("status %d, %s", s, stdout.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stderr.Reset()
	args := []string{"arena", "--families", "rare", "--learners", "control", "--runs", "2"}
	if s := run(ctx, args, &stdout, &stderr); s != 1 || !strings.HasSuffix(stderr.String(), "interrupted\n") {
		t.Errorf("status %d, %s", s, stderr.String())
	}
}
