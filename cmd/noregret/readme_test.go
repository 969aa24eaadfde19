package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/testsize"
)

// TestPageShowsTheDemos: docs/explanation/demo.md shows exactly what the demonstrations print,
// except for the port, and docs/demo.svg is the picture.
func TestPageShowsTheDemos(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	page, err := os.ReadFile("../../docs/explanation/demo.md")
	if err != nil {
		t.Fatal(err)
	}
	command := clitest.Built(t)
	plot := filepath.Join(t.TempDir(), "demo.svg")
	for _, args := range [][]string{{"demo", "--plot", plot}, {"demo", "classifier"}} {
		out, err := exec.Command(command, args...).Output()
		if err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
		text := regexp.MustCompile(`127\.0\.0\.1:[0-9]+`).ReplaceAllString(string(out), "127.0.0.1:8431")
		if !strings.Contains(string(page), "```text\n"+strings.TrimRight(text, "\n")+"\n```") {
			t.Errorf("docs/explanation/demo.md does not show what noregret %q prints:\n%s", args, text)
		}
	}
	want, err := os.ReadFile("../../docs/demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(plot); err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/demo.svg is not what noregret demo --plot draws: %v", err)
	}
}

// TestServicePageBegins runs the first commands of docs/service.md as a reader would who has the
// command and an empty directory: the first block in one terminal, the second one in another.
func TestServicePageBegins(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, part := range strings.Split(string(page), "```sh\n")[1:] {
		text, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, text)
	}
	serve := strings.Fields(strings.TrimSuffix(blocks[0], "\n"))
	if len(serve) < 2 || serve[0] != "noregret" || serve[1] != "serve" || strings.Count(blocks[0], "\n") != 1 {
		t.Fatalf("the page begins with %q, want one line: noregret serve ...", blocks[0])
	}
	command, dir := clitest.Built(t), t.TempDir()
	cmd := exec.Command(command, append(serve[1:], "--listen", "127.0.0.1:0")...)
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok || err != nil {
		t.Fatalf("the service printed %q, %v", line, err)
	}
	sh := exec.Command("sh", "-exc", blocks[1])
	sh.Dir = dir
	sh.Env = append(os.Environ(), "NOREGRET_SERVER="+url,
		"PATH="+filepath.Dir(command)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	text, err := sh.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, want := range []string{"toy: would be created", "toy: created, version 1", "toy is running, version 1"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in the output\n%s", want, text)
		}
	}
}
