package arch

import (
	"bytes"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// A tab counts as four columns.
const (
	codeColumns = 120
	textColumns = 100 // of comments, also at the end of a line of code, and of Markdown
)

// TestWidths checks the width of every line of Go and of Markdown. It leaves out what cannot be
// wrapped: raw strings, the output of examples, directives, indented text of comments, tables and
// code blocks of Markdown, and single words such as addresses.
func TestWidths(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != root &&
			(name == "testdata" || name == "node_modules" || name == "dist" || name[0] == '.') {
			return filepath.SkipDir
		}
		wide := wideMarkdown
		switch filepath.Ext(path) {
		case ".go":
			wide = func(src []byte) []int { return wideGo(src, textColumns) }
		case ".md":
		default:
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, line := range wide(src) {
			t.Errorf("%s:%d: more than %d columns of text or %d of code", path, line, textColumns, codeColumns)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func columns(s string) int { return utf8.RuneCountInString(s) + 3*strings.Count(s, "\t") }

// wideGo returns the numbers of the lines of a Go file that are too wide; trailing is the limit of
// lines that end in a comment.
func wideGo(src []byte, trailing int) []int {
	lines := strings.Split(string(src), "\n")
	raw, commented := map[int]bool{}, map[int]bool{}
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.COMMENT {
			commented[file.Line(pos)] = true
		}
		if tok == token.STRING && lit[0] == '`' {
			first := file.Line(pos)
			for i := range 1 + strings.Count(lit, "\n") {
				raw[first+i] = true
			}
		}
	}
	var wide []int
	output := false // in the checked output of an example
	for i, line := range lines {
		text := strings.TrimLeft(line, "\t")
		isComment := strings.HasPrefix(text, "//")
		output = isComment && (output || strings.HasPrefix(text, "// Output:"))
		limit := codeColumns
		if commented[i+1] {
			limit = trailing
		}
		if isComment {
			if limit = textColumns; output || fixedComment(text) {
				continue
			}
		}
		if columns(line) > limit && !raw[i+1] {
			wide = append(wide, i+1)
		}
	}
	return wide
}

// fixedComment reports whether a comment is a directive, indented text or a single word.
func fixedComment(text string) bool {
	rest := strings.TrimPrefix(text, "//")
	return rest != "" && rest[0] != ' ' || strings.HasPrefix(rest, "  ") || strings.HasPrefix(rest, " \t") ||
		strings.HasPrefix(rest, " |") || len(strings.Fields(rest)) == 1
}

// wideMarkdown returns the numbers of the lines of a Markdown file that are too wide.
func wideMarkdown(src []byte) []int {
	var wide []int
	fenced := false
	for i, line := range bytes.Split(src, []byte("\n")) {
		text := strings.TrimSpace(string(line))
		if strings.HasPrefix(text, "```") {
			fenced = !fenced
			continue
		}
		if fenced || strings.HasPrefix(text, "|") || strings.HasPrefix(string(line), "    ") ||
			len(strings.Fields(text)) <= 2 {
			continue
		}
		if columns(string(line)) > textColumns {
			wide = append(wide, i+1)
		}
	}
	return wide
}

func TestWideGo(t *testing.T) {
	long := strings.Repeat("word ", 30)
	src := "package p\n\n// " + long + "\n//\t" + long + "\nvar a = `" + long + "\n" + long +
		"`\nvar b = \"" + long + "\"\nvar c = 1 // " + long[:90] + "\nvar d = \"" + long[:95] + "\"\n"
	if got := wideGo([]byte(src), textColumns); !slices.Equal(got, []int{3, 7, 8}) {
		t.Errorf("wide lines %v, want 3, 7 and 8", got)
	}
	md := long + "\n| " + long + " |\n```\n" + long + "\n```\n" + long
	if got := wideMarkdown([]byte(md)); len(got) != 2 || got[0] != 1 || got[1] != 6 {
		t.Errorf("wide lines %v, want 1 and 6", got)
	}
}
