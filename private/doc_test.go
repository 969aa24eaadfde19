package private

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTypesNameAdjacencyAndUnit: the doc comment of every exported type of dp and private says what
// adjacency and what unit its numbers are about, or where they are stated. Types without a claim of
// privacy, such as sets and losses, are listed here.
func TestTypesNameAdjacencyAndUnit(t *testing.T) {
	for dir, list := range map[string]string{
		"../dp": "Checkpoint Constant FileStore Journal MemoryStore Option RunState Store Token",
		".": "BanditBounds BoundParameters Canonical Constants Domain Loss Plan Problem Regularity VertexBounds " +
			"Weighting",
	} {
		exempt := map[string]bool{}
		for _, name := range strings.Fields(list) {
			exempt[name] = true
		}
		comments := typeComments(t, dir)
		for name, text := range comments {
			adjacency := strings.Contains(text, "adjacency") || strings.Contains(text, "neighbour")
			if unit := strings.Contains(text, "unit") || strings.Contains(text, "record"); !exempt[name] &&
				!(adjacency && unit) {
				t.Errorf("%s: the comment of %s names no adjacency or no unit", dir, name)
			}
		}
		if len(comments) < len(exempt)+8 {
			t.Errorf("%s: %d types, the parser has missed some", dir, len(comments))
		}
	}
}

// TestPagesNameTests: every test that a page on privacy names is there, so that no claim points to
// a test that was renamed or removed.
func TestPagesNameTests(t *testing.T) {
	defined := map[string]bool{}
	declaration := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		raw, err := os.ReadFile(path)
		for _, m := range declaration.FindAllSubmatch(raw, -1) {
			defined[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for path, text := range readAll(t, "../docs/privacy*.md") {
		for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(text, -1) {
			if named++; !defined[name] {
				t.Errorf("%s names %s, which does not exist", path, name)
			}
		}
	}
	if named < 80 {
		t.Errorf("the pages name %d tests", named)
	}
}

// readAll reads the files of a pattern.
func readAll(t *testing.T, pattern string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(raw)
	}
	return texts
}

// typeComments are the comments of a package's exported types, in lower case.
func typeComments(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, s := range g.Specs {
				if name := s.(*ast.TypeSpec).Name.Name; ast.IsExported(name) {
					comments[name] = strings.ToLower(g.Doc.Text())
				}
			}
		}
	}
	return comments
}
