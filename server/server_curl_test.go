package server

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocumentedCurl runs the curl commands in docs/service.md one after the other, as a reader
// would.
func TestDocumentedCurl(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatal("the test of the documentation needs curl (Debian: apt-get install curl)")
	}
	page, err := os.ReadFile("../docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	var script string
	for _, part := range strings.Split(string(page), "```sh\n")[1:] {
		if text, _, _ := strings.Cut(part, "```"); strings.HasPrefix(text, "curl ") {
			script += strings.ReplaceAll(text, "curl -sS", "curl -sS --fail-with-body")
		}
	}
	if strings.Count(script, "curl") < 10 {
		t.Fatalf("the page has only the lines\n%s", script)
	}
	w := newWorld(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "toy.yaml"), []byte(toy), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-exc", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "URL="+w.http.URL, "no_proxy=*")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		`"created":true`, `"unit":"bob"`, `"accepted":1`, `"mixture":`, `"consistent":true`,
		`"reason":"SPLIT"`, `"state":"rolled_back"`, `"kind":"feedback"`, "noregret_decisions_total",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s is not in the output\n%s", want, out)
		}
	}
}
