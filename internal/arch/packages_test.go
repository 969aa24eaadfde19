package arch

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// TestEveryPublicPackageHasAnExample checks that a package that others import shows its use in an
// example with checked output.
func TestEveryPublicPackageHasAnExample(t *testing.T) {
	fset := token.NewFileSet()
	public := map[string]bool{}
	shown := map[string]bool{}
	for _, f := range load(t, fset) {
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

// imports lists what a house may import of this module, where that is part of what it promises.
var imports = map[string][]string{
	"client": {"policy", "client"}, // a program that decides pulls in none of the learning
	"policy": {},                   // the standard library only
}

// TestLightPackagesStayLight checks the imports of the packages that users link into their
// programs.
func TestLightPackagesStayLight(t *testing.T) {
	fset := token.NewFileSet()
	for _, f := range load(t, fset) {
		allowed, ok := imports[f.dir]
		if !ok || f.isTest() {
			continue
		}
		for _, spec := range f.ast.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			if why := lightImport(path, allowed); why != "" {
				t.Errorf("%s imports %s: %s", f.path, path, why)
			}
		}
	}
}

// lightImport returns why a light package may not import path, or "".
func lightImport(path string, allowed []string) string {
	if rest, ok := strings.CutPrefix(path, module+"/"); ok {
		for _, dir := range allowed {
			if rest == dir {
				return ""
			}
		}
		return "of this module it may import only " + strings.Join(allowed, ", ")
	}
	if path == module || strings.Contains(strings.Split(path, "/")[0], ".") {
		return "it may import the standard library only"
	}
	return ""
}

func TestLightImport(t *testing.T) {
	for path, light := range map[string]bool{
		"encoding/json": true, module + "/policy": true, module: false, module + "/experiment": false,
		"gonum.org/v1/gonum/mat": false, "net/http": true,
	} {
		if why := lightImport(path, []string{"policy"}); (why == "") != light {
			t.Errorf("%s: %q", path, why)
		}
	}
}
