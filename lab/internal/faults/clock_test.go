package faults

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret"
)

// clockProgram prints how far its clock is from that of its caller, and, once it was set ahead, how
// far it went and how long that took.
const clockProgram = `package main

import (
	"fmt"
	"time"
)

func main() {
	start := time.Now()
	fmt.Println(start.Unix())
	now := start
	for now.Round(0).Sub(start.Round(0)) < 30*time.Minute {
		time.Sleep(time.Millisecond)
		now = time.Now()
	}
	fmt.Println(int64(now.Round(0).Sub(start.Round(0))), int64(now.Sub(start)), int64(time.Since(start)))
}
`

// TestOwnClock compiles a program with a clock of its own: it starts an hour behind, and when it is
// set right, no time elapses for the program.
func TestOwnClock(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command, which compiles the program, is not here")
	}
	dir := t.TempDir()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	with, err := overlay(dir, strings.TrimSpace(string(root)))
	if err != nil {
		t.Fatal(err)
	}
	source, program, ahead := filepath.Join(dir, "main.go"), filepath.Join(dir, "program"), filepath.Join(dir, "ahead")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if err := os.WriteFile(source, []byte(clockProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", with, "-o", program, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := setAhead(ahead, -time.Hour); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), aheadVariable+"="+ahead)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	var seconds int64
	if _, err := fmt.Fscanln(lines, &seconds); err != nil {
		t.Fatal(err)
	}
	if off := time.Until(time.Unix(seconds, 0)); (off + time.Hour).Abs() > 30*time.Minute {
		t.Errorf("it starts with a clock that is ahead by %v, want %v", off, -time.Hour)
	}
	if err := setAhead(ahead, 0); err != nil {
		t.Fatal(err)
	}
	var wall, elapsed, since time.Duration
	if _, err := fmt.Fscan(lines, (*int64)(&wall), (*int64)(&elapsed), (*int64)(&since)); err != nil {
		t.Fatal(err)
	}
	if elapsed > wall-time.Hour/2 || since > wall-time.Hour/2 {
		t.Errorf("its clock went on by %v, and %v and %v have elapsed", wall, elapsed, since)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestOtherPackageTime refuses a package time whose clock is read in another way.
func TestOtherPackageTime(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "src", "time")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "time.go")
	if err := os.WriteFile(name, []byte("package time\n\nfunc Now() Time { return now() }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := overlay(t.TempDir(), root); noregret.CodeOf(err) != noregret.Internal ||
		!strings.Contains(err.Error(), "another package time") {
		t.Errorf("%v, want an error that says so", err)
	}
}
