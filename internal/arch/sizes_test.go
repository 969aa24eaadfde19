package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// Above these sizes a reader no longer holds a thing in mind: a type is several types, a function
// several functions.
const (
	maxMethods       = 40
	maxFileLines     = 600
	maxFunctionLines = 80
)

// tooLarge lists what exceeds a limit, and why it may.
var tooLarge = map[string]string{}

func TestSizes(t *testing.T) {
	fset, files := load(t)
	for _, breach := range checkSizes(fset, files, tooLarge) {
		t.Error(strings.TrimPrefix(breach, "../../"))
	}
}

// checkSizes returns the types, files and functions above the limits. Test files may have long
// functions, as tables of cases are long.
func checkSizes(fset *token.FileSet, files []file, allowed map[string]string) []string {
	c := &checker{fset: fset}
	methods := map[string][]token.Pos{}
	for _, f := range files {
		if n := fset.File(f.ast.Package).LineCount(); n > maxFileLines {
			c.add(f.ast.Package, "%d lines in a file, at most %d are allowed", n, maxFileLines)
		}
		if f.isTest() {
			continue
		}
		for _, decl := range f.ast.Decls {
			d, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := fset.Position(d.End()).Line - fset.Position(d.Pos()).Line; n > maxFunctionLines {
				c.add(d.Pos(), "%s has %d lines, at most %d are allowed", d.Name.Name, n, maxFunctionLines)
			}
			if d.Recv != nil && len(d.Recv.List) == 1 {
				name := f.dir + "." + receiver(d.Recv.List[0].Type)
				methods[name] = append(methods[name], d.Pos())
			}
		}
	}
	for name, at := range methods {
		if len(at) > maxMethods && allowed[name] == "" {
			c.add(slices.Min(at), "%s has %d methods, at most %d are allowed: "+
				"split it into types that do one thing each", name, len(at), maxMethods)
		}
		if len(at) <= maxMethods && allowed[name] != "" {
			c.add(slices.Min(at), "%s has only %d methods: remove it from the list of exceptions", name, len(at))
		}
	}
	slices.Sort(c.found)
	return c.found
}

func TestSizesFindsBreaches(t *testing.T) {
	var b strings.Builder
	b.WriteString("// Package p is.\npackage p\ntype t struct{}\n")
	for i := range maxMethods + 1 {
		fmt.Fprintf(&b, "func (*t) m%d() {}\n", i)
	}
	b.WriteString("func long() {\n" + strings.Repeat("\n", maxFunctionLines+1) + "}\n")
	for _, tc := range []struct {
		path, src string
		allowed   map[string]string
		want      []string
	}{
		{"loss/a.go", b.String(), nil, []string{"long has 82 lines", "loss.t has 41 methods"}},
		{"loss/a.go", b.String(), map[string]string{"loss.t": "why"}, []string{"long has 82 lines"}},
		{
			"loss/a.go", "package p\ntype t struct{}\nfunc (t) m() {}\n",
			map[string]string{"loss.t": "why"},
			[]string{"remove it"},
		},
		{"loss/a_test.go", b.String(), nil, nil},
		{"loss/a_test.go", "package p\n" + strings.Repeat("\n", maxFileLines), nil, []string{"601 lines"}},
	} {
		fset := token.NewFileSet()
		f, err := parseFile(fset, tc.path, tc.path, tc.src)
		if err != nil {
			t.Fatal(err)
		}
		got := checkSizes(fset, []file{f}, tc.allowed)
		if len(got) != len(tc.want) {
			t.Errorf("got %q, want %q", got, tc.want)
			continue
		}
		for _, want := range tc.want {
			if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, want) }) {
				t.Errorf("got %q, want %q in it", got, want)
			}
		}
	}
}
