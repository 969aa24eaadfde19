package server

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEdges checks that every test that docs/service.md names exists.
func TestEdges(t *testing.T) {
	have, scripts := map[string]bool{}, map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2):
			return fs.SkipDir
		case strings.HasSuffix(path, ".txtar"):
			scripts[strings.TrimSuffix(d.Name(), ".txtar")] = true
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
				have[m[1]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test[A-Z]\\w*)(?:/(\\w+))?`").FindAllStringSubmatch(string(page), -1)
	for _, m := range named {
		if !have[m[1]] || m[1] == "TestScripts" && !scripts[m[2]] {
			t.Errorf("the page names %s, which does not exist", m[0])
		}
	}
	if len(named) < 40 {
		t.Errorf("the page names %d tests", len(named))
	}
}
