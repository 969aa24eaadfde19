package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestEveryPublicPackageHasAnExample checks that a package that others import shows its use in an
// example with checked output.
func TestEveryPublicPackageHasAnExample(t *testing.T) {
	_, files := load(t)
	public := map[string]bool{}
	shown := map[string]bool{}
	for _, f := range files {
		if f.ast.Name.Name == "main" || strings.Contains("/"+f.dir+"/", "/internal/") {
			continue
		}
		if !f.isTest() {
			public[f.dir] = true
			continue
		}
		for _, decl := range f.ast.Decls {
			d, ok := decl.(*ast.FuncDecl)
			if ok && strings.HasPrefix(d.Name.Name, "Example") && hasOutput(f.ast, d) {
				shown[f.dir] = true
			}
		}
	}
	for dir := range public {
		if !shown[dir] {
			t.Errorf("%s has no Example with checked output", dir)
		}
	}
}

// hasOutput reports whether an example states its output.
func hasOutput(f *ast.File, d *ast.FuncDecl) bool {
	for _, group := range f.Comments {
		if group.Pos() > d.Pos() && group.End() < d.End() && strings.Contains(group.Text(), "utput:") {
			return true
		}
	}
	return false
}

// light lists the packages that users link into their programs, each with all packages of this
// module that come with it. A program that decides pulls in no learner, no linear algebra and no
// other module.
var light = map[string][]string{
	"policy": {
		".", "internal/compensated", "internal/named", "internal/portable", "internal/random",
		"internal/strictjson", "internal/vec", "internal/words",
	},
	"api": {
		".", "internal/compensated", "internal/named", "internal/portable", "internal/random",
		"internal/strictjson", "internal/vec", "internal/words", "policy",
	},
	"client": {
		".", "api", "internal/atomicfile", "internal/compensated", "internal/named", "internal/portable",
		"internal/random", "internal/strictjson", "internal/vec", "internal/words", "policy",
	},
}

func TestLightPackagesStayLight(t *testing.T) {
	_, files := load(t)
	for dir, want := range light {
		got, foreign := closure(files, dir)
		if !slices.Equal(got, want) {
			t.Errorf("%s needs %q of this module, want %q", dir, got, want)
		}
		if len(foreign) > 0 {
			t.Errorf("%s needs other modules: %q", dir, foreign)
		}
	}
}

// closure returns the directories of this module that a package needs, and the imports of other
// modules by it or by them, both sorted. Test files do not count.
func closure(files []file, dir string) (own, foreign []string) {
	seen := map[string]bool{dir: true}
	for todo := []string{dir}; len(todo) > 0; todo = todo[1:] {
		for _, f := range files {
			if f.dir != todo[0] || f.isTest() {
				continue
			}
			for _, spec := range f.ast.Imports {
				path := strings.Trim(spec.Path.Value, `"`)
				rest, ours := strings.CutPrefix(path, module)
				if rest = strings.TrimPrefix(rest, "/"); rest == "" {
					rest = "."
				}
				switch {
				case ours && !seen[rest]:
					seen[rest] = true
					own, todo = append(own, rest), append(todo, rest)
				case !ours && strings.Contains(strings.Split(path, "/")[0], ".") && !slices.Contains(foreign, path):
					foreign = append(foreign, path)
				}
			}
		}
	}
	slices.Sort(own)
	slices.Sort(foreign)
	return own, foreign
}

func TestClosure(t *testing.T) {
	fset := token.NewFileSet()
	var files []file
	for name, src := range map[string]string{
		"a/a.go":      `package a; import (_ "net/http"; _ "github.com/noregret/noregret/b")`,
		"a/a_test.go": `package a; import _ "example.com/tests"`,
		"b/b.go":      `package b; import (_ "github.com/noregret/noregret"; _ "example.com/far")`,
		"c/c.go":      `package c; import _ "example.com/other"`,
		"error.go":    `package noregret; import _ "fmt"`,
	} {
		f, err := parseFile(fset, name, name, src)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	own, foreign := closure(files, "a")
	if !slices.Equal(own, []string{".", "b"}) || !slices.Equal(foreign, []string{"example.com/far"}) {
		t.Errorf("own %q, foreign %q", own, foreign)
	}
}

// TestExamplesImportNothingInternal checks that a reader can copy an example: neither it nor the
// file example_test.go uses a package that other modules cannot import.
func TestExamplesImportNothingInternal(t *testing.T) {
	_, files := load(t)
	examples := 0
	for _, f := range files {
		if !f.isTest() || f.ast.Name.Name == "main" || strings.Contains("/"+f.dir+"/", "/internal/") {
			continue
		}
		for _, decl := range f.ast.Decls {
			d, ok := decl.(*ast.FuncDecl)
			if !ok || d.Recv != nil || !strings.HasPrefix(d.Name.Name, "Example") {
				continue
			}
			examples++
			for _, use := range internalUses(f.ast, d) {
				t.Errorf("%s/%s uses %s, which other modules cannot import", f.dir, d.Name.Name, use)
			}
		}
	}
	if examples < 40 {
		t.Errorf("%d examples were found", examples)
	}
}

// internalUses returns the internal packages that an example uses, or that a file of examples
// imports.
func internalUses(f *ast.File, d *ast.FuncDecl) (uses []string) {
	names := map[string]string{} // the paths of internal packages by their names in the file
	for _, i := range f.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		if !strings.Contains("/"+path+"/", "/internal/") {
			continue
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		names[name] = path
	}
	other := false // than examples and what they declare for themselves
	for _, decl := range f.Decls {
		if g, ok := decl.(*ast.FuncDecl); ok && strings.HasPrefix(g.Name.Name, "Test") {
			other = true
		}
	}
	if !other {
		return slices.Sorted(maps.Values(names))
	}
	ast.Inspect(d, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && names[x.Name] != "" && !slices.Contains(uses, names[x.Name]) {
			uses = append(uses, names[x.Name])
		}
		return true
	})
	return uses
}

// TestInternalUses: the check finds an internal package in an example among tests, and any import
// in a file of examples.
func TestInternalUses(t *testing.T) {
	for text, want := range map[string]int{
		`import ("fmt"; "m/internal/random"); func ExampleA() { fmt.Println(random.New()) }`:          1,
		`import ("fmt"; "m/internal/random"); func ExampleA() { fmt.Println(1) }; var _ = random.New`: 1,
		`import ("m/internal/random"); func TestB() { random.New() }; func ExampleA() {}`:             0,
		`import (r "m/internal/random"); func TestB() {}; func ExampleA() { r.New() }`:                1,
		`import ("math/rand/v2"); func ExampleA() { rand.New() }`:                                     0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "example_test.go", "package a_test; "+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && d.Name.Name == "ExampleA" {
				if got := internalUses(f, d); len(got) != want {
					t.Errorf("%s: %v, want %d", text, got, want)
				}
			}
		}
	}
}
