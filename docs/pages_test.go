package docs

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// pages calls f with the path and the text of each page.
func pages(t *testing.T, f func(page, text string)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS("."), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(p) != ".md" {
			return err
		}
		text, err := os.ReadFile(p)
		f(p, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestIndex: the index leads to every page, and so does the navigation of the site.
func TestIndex(t *testing.T) {
	index, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	site, err := os.ReadFile("../mkdocs.yml")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	pages(t, func(page, _ string) {
		if !strings.Contains(string(site), " "+page+"\n") {
			t.Errorf("mkdocs.yml does not lead to %s", page)
		}
		if n++; page != "README.md" && !strings.Contains(string(index), "]("+page+")") {
			t.Errorf("README.md does not lead to %s", page)
		}
	})
	if n < 20 {
		t.Errorf("only %d pages", n)
	}
}

// TestPagesNameNoTest: a page is for users. It names neither tests nor commits; tests find its
// commands instead.
func TestPagesNameNoTest(t *testing.T) {
	named := regexp.MustCompile("`?\\bTest[A-Z]\\w*|\\w+_test\\.go|\\bcommits? [0-9a-f]{6,40}\\b")
	pages(t, func(page, text string) {
		for i, line := range strings.Split(text, "\n") {
			if found := named.FindString(line); found != "" {
				t.Errorf("%s:%d names %q", page, i+1, found)
			}
		}
	})
}

// heading matches a heading of Markdown.
var heading = regexp.MustCompile(`(?m)^#+ (.*)$`)

// TestAnchors: every link to a heading of a page leads to one.
func TestAnchors(t *testing.T) {
	anchors := map[string]bool{}
	pages(t, func(page, text string) {
		for _, m := range heading.FindAllStringSubmatch(text, -1) {
			anchor := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(m[1])), " ", "-")
			anchors[page+"#"+regexp.MustCompile(`[^\p{L}\p{N}_-]`).ReplaceAllString(anchor, "")] = true
		}
	})
	link := regexp.MustCompile(`\]\(([^)\s:]*\.md)?(#[^)\s]+)\)`)
	pages(t, func(page, text string) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target := page
			if m[1] != "" {
				target = path.Join(path.Dir(page), m[1])
			}
			if !strings.HasPrefix(target, "..") && !anchors[target+m[2]] {
				t.Errorf("%s: no heading %s%s", page, target, m[2])
			}
		}
	})
}
