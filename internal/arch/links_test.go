package arch

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// cited matches the path of a page under docs/ or lab/docs/, and link the target of a Markdown
// link.
var (
	cited = regexp.MustCompile(`(?:^|[^\w./-])((?:lab/)?docs/[\w./-]*\.(?:md|json|yaml))`)
	link  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// texts are the kinds of files that cite pages.
var texts = []string{".go", ".md", ".yaml", ".yml", ".json", ".txt", ".txtar", "Makefile", "run"}

// TestLinks checks that every page under docs/ or lab/docs/ that a file cites, and every file that
// a relative Markdown link names, exists.
func TestLinks(t *testing.T) {
	root, checked := os.DirFS(filepath.Join("..", "..")), 0
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p == ".git" || p == "bin" || p == "dist" || d.Name() == "node_modules" {
				return fs.SkipDir
			}
			return nil
		}
		ext := path.Ext(p)
		if !slices.Contains(texts, ext) && !slices.Contains(texts, path.Base(p)) {
			return nil
		}
		text, err := fs.ReadFile(root, p)
		if err != nil {
			return err
		}
		for _, target := range targets(p, string(text)) {
			if strings.HasPrefix(p, "internal/arch/") {
				continue
			}
			checked++
			if _, err := fs.Stat(root, target); err != nil {
				t.Errorf("%s: cites %s, which does not exist", p, target)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 100 {
		t.Errorf("only %d citations were checked", checked)
	}
}

// targets returns the files of the module that the text of file p cites.
func targets(p, text string) []string {
	var out []string
	if strings.Contains(text, "docs/") { // the expression is slow
		for _, m := range cited.FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
	}
	if path.Ext(p) != ".md" {
		return out
	}
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		target, _, _ := strings.Cut(m[1], "#")
		if target != "" && !strings.Contains(target, "://") && !strings.HasPrefix(target, "mailto:") {
			out = append(out, path.Join(path.Dir(p), target))
		}
	}
	return out
}

func TestTargets(t *testing.T) {
	text := "See [a](b.md#c), [d](https://e.org/docs/f.md), [g](#h), docs/pasto.md, lab/docs/arena.md " +
		"and (docs/formats/log.md)."
	want := []string{"docs/pasto.md", "lab/docs/arena.md", "docs/formats/log.md", "docs/b.md"}
	if got := targets("docs/x.md", text); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := targets("x.go", text); !slices.Equal(got, want[:3]) {
		t.Errorf("%v, want %v", got, want[:3])
	}
}
