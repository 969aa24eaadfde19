package arch

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// phrases are word-for-word translations that once filled the comments, and what a comment may not
// cite because no reader has it.
var phrases = regexp.MustCompile(`(?i)\b(is told|are told|there (is|are) not (a|an|any|one)\b|is had\b|are had\b|` +
	`it is no [a-z]|want at least one|so many times|of which nobody|of what is served|what is known of|the specification|` +
	`spec [0-9]|design/house|baseline B[0-9]|of the issue\b|the issue's)`)

// stems are parts of the phrases, one of which every phrase has. Looking for them first makes the
// test ten times as fast.
var stems = []string{
	" told", " not ", "is had", "are had", "it is no ", "want at least", "so many", "which nobody", "of what is",
	"what is known", "the spec", "spec ", "design/", "baseline b", "issue",
}

// findPhrase returns a phrase in text, "" for none.
func findPhrase(text string) string {
	lower := strings.ToLower(strings.ReplaceAll(text, "\n", " "))
	for _, stem := range stems {
		if strings.Contains(lower, stem) {
			return phrases.FindString(lower)
		}
	}
	return ""
}

// openings are the words that an error may not begin with: it begins with the fault.
var openings = regexp.MustCompile("^[\"`]it (is|has|does|cannot) ")

// TestPlainEnglish looks for these phrases in comments and in the text of errors.
func TestPlainEnglish(t *testing.T) {
	fset, files := load(t)
	for _, f := range files {
		if f.dir == "internal/arch" {
			continue
		}
		for _, group := range f.ast.Comments {
			if found := findPhrase(group.Text()); found != "" {
				t.Errorf("%s: a comment says %q", place(fset, group), found)
			}
		}
		if f.isTest() {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if found := findPhrase(lit.Value); found != "" {
					t.Errorf("%s: a text says %q", place(fset, lit), found)
				}
				if found := openings.FindString(lit.Value); found != "" {
					t.Errorf("%s: a text begins with %s", place(fset, lit), found)
				}
			}
			return true
		})
	}
}

func place(fset *token.FileSet, n ast.Node) string {
	return strings.TrimPrefix(fset.Position(n.Pos()).String(), "../../")
}

func TestFindPhrase(t *testing.T) {
	for text, want := range map[string]string{
		"The learner\nis told nothing.":    "is told",
		"There is not any arm.":            "there is not any",
		"IT IS NO number":                  "it is no n",
		"as the specification has it":      "the specification",
		"see spec 9.3":                     "spec 9",
		"the arm is not told from another": "",
	} {
		if got := findPhrase(text); got != want {
			t.Errorf("%q has %q, want %q", text, got, want)
		}
	}
}
