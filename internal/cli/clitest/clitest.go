// Package clitest runs commands in tests as the binary runs them: with the checks, hints and exit
// status of package command, but only those of one package, so that a group of commands is tested
// alone.
//
//	var cmds = clitest.Commands(Commands)
//
//	func TestPlanRefuses(t *testing.T) {
//		cmds.Refused(t, clitest.Refusal{"plan", "plan takes the file of one definition"})
//	}
//
// What needs commands of several packages is a test of package cli. What needs a process is a
// script of cmd/noregret, or runs the command that Built returns.
package clitest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/command"
)

// Tree makes a tree of commands.
type Tree func(a *command.App) *cobra.Command

// Commands returns the tree of a root with the commands that the given functions return.
func Commands(of ...func(a *command.App) []*cobra.Command) Tree {
	return func(a *command.App) *cobra.Command {
		var g command.Group
		for _, f := range of {
			g.Commands = append(g.Commands, f(a)...)
		}
		return command.NewRoot(a, &cobra.Command{Use: "noregret"}, g)
	}
}

// Run is [command.Run] of the tree.
func (c Tree) Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return command.Run(ctx, c, args, stdin, stdout, stderr)
}

// Try runs a command line on an empty standard input.
func (c Tree) Try(ctx context.Context, args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = c.Run(ctx, args, strings.NewReader(""), &out, &errs)
	return status, out.String(), errs.String()
}

// Printed runs a command line that must succeed and returns what it prints.
func (c Tree) Printed(t *testing.T, args ...string) string {
	t.Helper()
	status, stdout, stderr := c.Try(t.Context(), args...)
	if status != 0 {
		t.Fatalf("%q: status %d: %s", args, status, stderr)
	}
	return stdout
}

// Refusal is a command line that is a usage error, and the beginning of its message.
type Refusal [2]string

// Refused runs command lines in an empty directory. Each must end with status 2 and its error, and
// leave no file.
func (c Tree) Refused(t *testing.T, all ...Refusal) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for _, r := range all {
		args, want := r[0], r[1]
		status, stdout, stderr := c.Try(context.Background(), strings.Fields(args)...)
		if status != 2 || stdout != "" || !strings.HasPrefix(stderr, "noregret: "+want) {
			t.Errorf("%s: status %d, stdout %q, stderr %q; want %q", args, status, stdout, stderr, want)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Main is for TestMain. It runs the tests without the variables of the command's environment that
// whoever runs them has set, and then removes what Built has built. Under the name of one of the
// programs, the test binary is that program, which exits; tests find it in their PATH.
func Main(m *testing.M, programs map[string]func()) { testscript.Main(cleaned{m}, programs) }

type cleaned struct{ *testing.M }

// Run implements testscript.TestingM.
func (m cleaned) Run() int {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "NOREGRET_") {
			_ = os.Unsetenv(name)
		}
	}
	defer func() { _ = os.RemoveAll(builtDir) }()
	return m.M.Run()
}

// builtDir is the directory of the built command, "" before it is built.
var builtDir string

// build builds the command once for all tests.
var build = sync.OnceValues(func() (path string, err error) {
	if builtDir, err = os.MkdirTemp("", "noregret-built-"); err != nil {
		return "", err
	}
	path = filepath.Join(builtDir, "noregret")
	cmd := exec.Command("go", "build", "-o", path, "github.com/noregret/noregret/cmd/noregret")
	// The race detector needs cgo, which would compile everything once more.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

// Built returns the path of the command as users build it, without the race detector. A whole
// demonstration takes minutes under the race detector, and other tests run the same code under it.
// The tests' TestMain must be [Main], which removes the file.
func Built(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
