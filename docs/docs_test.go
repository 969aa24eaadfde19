package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv(serverVariable) != "" {
		os.Exit(natsServer())
	}
	status := m.Run()
	_ = os.RemoveAll(builtDir)
	os.Exit(status)
}

var builtDir string

// build builds the command once, as its users do: without cgo and the race detector.
var build = sync.OnceValues(func() (command string, err error) {
	if builtDir, err = os.MkdirTemp("", "noregret-docs-"); err != nil {
		return "", err
	}
	command = filepath.Join(builtDir, "noregret")
	cmd := exec.Command("go", "build", "-o", command, "../cmd/noregret")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return command, nil
})

func commandPath(t *testing.T) string {
	t.Helper()
	command, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return command
}

// TestPages does what the tutorials and the how-to pages say, in their blocks of the language sh.
// Run one with -run TestPages/NAME.
func TestPages(t *testing.T) {
	t.Parallel()
	for _, shelf := range []string{"tutorials", "how-to"} {
		pages, err := filepath.Glob(shelf + "/*.md")
		if err != nil || len(pages) == 0 {
			t.Fatal(pages, err)
		}
		for _, page := range pages {
			t.Run(filepath.Base(page), func(t *testing.T) {
				t.Parallel()
				walkPage(t, page)
			})
		}
	}
}

// TestReadSteps reads a page of all kinds of steps.
func TestReadSteps(t *testing.T) {
	page := strings.Join([]string{
		"# T", "```sh", "ls", "```", "<!-- varies:", "^a", "b", "-->", "```text", "abc", "```",
		"<!-- for: Go -->", "<!-- file: a.go -->", "```go", "package a", "```", "<!-- for: all -->",
		"Open <http://127.0.0.1:8430/x>.", "```yaml", "a: 1", "```", "```sh", "noregret serve --data d", "```",
		"```sh", "noregret score --model m", "```", "",
	}, "\n")
	steps, err := readSteps(page)
	if err != nil || len(steps) != 5 {
		t.Fatalf("%+v, %v", steps, err)
	}
	if s := steps[0]; s.text != "ls\n" || s.output != "abc\n" || s.varies.String() != "(?m)^ab" || s.line != 2 {
		t.Errorf("%+v", s)
	}
	if s := steps[1]; s.file != "a.go" || s.language != "Go" || s.text != "package a\n" {
		t.Errorf("%+v", s)
	}
	if s := steps[2]; s.address != "http://127.0.0.1:8430/x" || s.language != "" {
		t.Errorf("%+v", s)
	}
	if !steps[3].serve || !steps[4].serve || steps[0].serve {
		t.Errorf("%+v", steps)
	}
	if _, err := readSteps("```sh\nls\n"); err == nil {
		t.Error("a block without an end is read")
	}
	if !contains("a\nb\nc\n", "a\n...\nc\n") || contains("a\nb\n", "b\n...\na\n") {
		t.Error("lines that are left out are compared in the wrong way")
	}
}
