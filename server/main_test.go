package server_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestMain lets the test binary run as the service that is killed, and as the processes of the load
// tests.
func TestMain(m *testing.M) {
	if dir := os.Getenv("NOREGRET_CRASH_CHILD"); dir != "" {
		if err := crashChild(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if kind := os.Getenv("NOREGRET_LOAD_CHILD"); kind != "" {
		fmt.Fprintln(os.Stderr, loadChild(kind))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// startChild runs this test binary as the service on a data directory, in a process of its own, and
// returns it with the service's address.
func startChild(t *testing.T, dir string) (cmd *exec.Cmd, url string) {
	t.Helper()
	return startSelf(t, "NOREGRET_CRASH_CHILD="+dir)
}

// startSelf runs this test binary with a variable set, as startProcess does.
func startSelf(t testing.TB, variable string) (cmd *exec.Cmd, line string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(exe)
	cmd.Env, cmd.Stderr = append(os.Environ(), variable), os.Stderr
	return cmd, startProcess(t, cmd)
}

// startProcess starts a process and returns the first line that it prints. A process that a test
// leaves behind is killed.
func startProcess(t testing.TB, cmd *exec.Cmd) (line string) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the process did not start: %v", err)
	}
	return strings.TrimSpace(line)
}
