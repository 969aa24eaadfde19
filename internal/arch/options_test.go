package arch

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// TestOptions checks the one manner of options. A public package has a function that returns a type
// ...Options or ...Config with all numbers filled in (DefaultOptions), or the type's comment says
// what the zero value does: that it is refused, or what it means.
func TestOptions(t *testing.T) {
	_, files := load(t)
	for _, name := range silentOptions(files) {
		t.Errorf("%s: want a function that returns it with defaults, or what \"the zero value\" does in its comment",
			name)
	}
}

// silentOptions returns the types of options that no function makes and whose comments do not say
// what their zero values do.
func silentOptions(files []file) (names []string) {
	made := map[string]bool{}
	for _, f := range files {
		if !hasOptions(f) {
			continue
		}
		for _, decl := range f.ast.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && d.Recv == nil && d.Name.IsExported() && d.Type.Results != nil {
				if id, ok := d.Type.Results.List[0].Type.(*ast.Ident); ok {
					made[f.dir+"."+id.Name] = true
				}
			}
		}
	}
	for _, f := range files {
		if !hasOptions(f) {
			continue
		}
		for _, decl := range f.ast.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok != token.TYPE {
				continue
			}
			for _, spec := range d.Specs {
				s := spec.(*ast.TypeSpec)
				_, structure := s.Type.(*ast.StructType)
				name := s.Name.Name
				if !structure || !s.Name.IsExported() || made[f.dir+"."+name] ||
					!strings.HasSuffix(name, "Options") && !strings.HasSuffix(name, "Config") {
					continue
				}
				doc := strings.Join(strings.Fields(firstText(s.Doc, d.Doc)), " ")
				if !strings.Contains(strings.ToLower(doc), "the zero value") {
					names = append(names, f.dir+"."+name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// hasOptions reports whether users can import the package of a file, which is no test.
func hasOptions(f file) bool {
	parts := strings.Split(f.dir, "/")
	return !f.isTest() && !slices.Contains(parts, "internal") && parts[0] != "lab" && parts[0] != "cmd"
}

func TestSilentOptions(t *testing.T) {
	var files []file
	for name, src := range map[string]string{
		"a/a.go": `package a
			// AOptions are silent.
			type AOptions struct{ N int }
			// BOptions have a default.
			type BOptions struct{ N int }
			// DefaultBOptions makes them.
			func DefaultBOptions() BOptions { return BOptions{1} }
			// Config is refused where it is empty: the zero
			// value is.
			type Config struct{ N int }
			type cOptions struct{ N int }
			// Method is none of theirs.
			func (c cOptions) Method() AOptions { return AOptions{} }`,
		"b/b.go":          "package b\n// Options are made elsewhere.\ntype Options struct{ N int }",
		"b/c.go":          "package b\n// New makes them.\nfunc New() Options { return Options{} }",
		"c/internal/c.go": "package c\n// Options are not public.\ntype Options struct{ N int }",
	} {
		f, err := parseFile(token.NewFileSet(), name, name, src)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	if got := silentOptions(files); !slices.Equal(got, []string{"a.AOptions"}) {
		t.Errorf("silent: %q", got)
	}
}
