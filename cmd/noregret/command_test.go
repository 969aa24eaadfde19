package main

import (
	"context"
	"os"
	"strings"
	"testing"
)

// refusal is a command line that is a usage error, and the beginning of its message.
type refusal struct{ args, want string }

// checkRefused runs command lines in an empty directory. Each must end with status 2 and its error,
// and leave no file.
func checkRefused(t *testing.T, all ...refusal) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for _, c := range all {
		status, stdout, stderr := try(context.Background(), strings.Fields(c.args)...)
		if status != 2 || stdout != "" || !strings.HasPrefix(stderr, "noregret: "+c.want) {
			t.Errorf("%s: status %d, stdout %q, stderr %q; want %q", c.args, status, stdout, stderr, c.want)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// printed runs a command line that must succeed and returns what it prints.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	status, stdout, stderr := try(t.Context(), args...)
	if status != 0 {
		t.Fatalf("%q: status %d: %s", args, status, stderr)
	}
	return stdout
}
