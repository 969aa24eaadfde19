package arch

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// algorithmPackages are the packages whose types docs/algorithms.md lists.
var algorithmPackages = []string{
	"oco", "experts", "drift", "bandit", "bandit/contextual", "bandit/offpolicy", "changepoint", "confseq", "convex",
	"loss", "dp",
}

// TestAlgorithmsPage checks that docs/algorithms.md lists what the packages make, as their doc
// comments say it. UPDATE_PAGES=1 go test ./internal/arch -run TestAlgorithmsPage writes the page.
func TestAlgorithmsPage(t *testing.T) {
	_, files := load(t)
	page := filepath.Join("..", "..", "docs", "algorithms.md")
	want := algorithmsPage(files)
	if os.Getenv("UPDATE_PAGES") != "" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/algorithms.md is not what the code says: UPDATE_PAGES=1 go test ./internal/arch -run " +
			"TestAlgorithmsPage writes it")
	}
}

// algorithmsPage is the page.
func algorithmsPage(files []file) string {
	var b strings.Builder
	b.WriteString(`# Algorithms

What the packages of the theory make, by the first sentences of their doc comments. The page is made
from the code. "noregret learners" lists those that the commands play by name.

Experts that sleep and arms that are not allowed have two rules. experts.Specialists sees the losses
of all awake experts at the end of the round; a sleeping expert gets their mean under the weights
played. bandit.Delayed sees the loss of one arm, perhaps many rounds later; a sleeping arm gets that
loss, whose mean over the draw is the same. The distributions agree where the estimated losses have
that loss as their mean, as those of Exp3 and INF do, and differ for those of Exp3IX and with
reduced variance.
`)
	for _, dir := range algorithmPackages {
		rows, about := algorithmRows(files, dir)
		fmt.Fprintf(&b, "\n## [%s](../%s/doc.go)\n\n%s\n\n| made by | what it is |\n| --- | --- |\n", dir, dir, about)
		for _, row := range rows {
			b.WriteString(row)
		}
	}
	return b.String()
}

// algorithmRows returns a row for each constructor of a package, and the package's first sentence.
func algorithmRows(files []file, dir string) (rows []string, about string) {
	types, made := map[string]string{}, map[string][]string{}
	var alone []*ast.FuncDecl
	row := func(by, text string) {
		rows = append(rows, fmt.Sprintf("| %s | %s |\n", by, strings.ReplaceAll(sentence(text), "|", `\|`)))
	}
	for _, f := range files {
		if f.dir != dir || f.isTest() {
			continue
		}
		if f.ast.Doc != nil {
			about = sentence(f.ast.Doc.Text())
		}
		for _, decl := range f.ast.Decls {
			switch d := decl.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok {
						types[s.Name.Name] = firstText(s.Doc, d.Doc)
					}
				}
			case *ast.FuncDecl:
				if d.Recv == nil && strings.HasPrefix(d.Name.Name, "New") {
					alone = append(alone, d)
				} else if d.Recv != nil && d.Name.Name == "plan" { // a rule of package bandit
					if name, ok := d.Recv.List[0].Type.(*ast.Ident); ok {
						made[name.Name] = append(made[name.Name], name.Name+"{}")
					}
				}
			}
		}
	}
	for _, d := range alone {
		name := ""
		if star, ok := d.Type.Results.List[0].Type.(*ast.StarExpr); ok {
			if id, ok := star.X.(*ast.Ident); ok {
				name = id.Name
			}
		}
		if types[name] == "" {
			row("`"+d.Name.Name+"`", d.Doc.Text())
			continue
		}
		made[name] = append(made[name], d.Name.Name)
	}
	for name, by := range made {
		slices.Sort(by)
		row("`"+strings.Join(by, "`, `")+"`", types[name])
	}
	slices.Sort(rows)
	return rows, about
}

var (
	source  = regexp.MustCompile(`\s*\([^()]*\d{4}[^()]*\)`)
	docLink = regexp.MustCompile(`\[([\w.]+)\]`)
)

// sentence is the first sentence of a doc comment, up to a colon, without sources and links.
func sentence(text string) string {
	text, _, _ = strings.Cut(text, "\n\n")
	text = strings.Join(strings.Fields(text), " ")
	text = docLink.ReplaceAllString(source.ReplaceAllString(text, ""), "$1")
	for _, end := range []string{". ", ": ", "; "} {
		text, _, _ = strings.Cut(text, end)
	}
	return strings.TrimRight(text, ".,:;") + "."
}

// firstText is the text of the first comment that there is.
func firstText(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if g != nil {
			return g.Text()
		}
	}
	return ""
}
