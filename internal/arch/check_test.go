package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// file is a parsed Go file: its path and its directory, relative to the module's root.
type file struct {
	path, dir string
	ast       *ast.File
}

func (f file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// checkFiles applies every rule and returns the breaches, sorted, as "file:line: reason".
func checkFiles(fset *token.FileSet, files []file) []string {
	c := &checker{fset: fset}
	seen := map[string]bool{}
	for _, f := range files {
		if h := house(f.dir); floorOf(f.dir) < 0 && !seen[h] {
			seen[h] = true
			c.add(f.ast.Package, "the top-level directory %q has no floor: give it one in internal/arch/floors_test.go",
				h)
		}
		c.imports(f)
		if !f.isTest() {
			c.calls(f)
			c.docs(f)
		}
	}
	c.packageComments(files)
	slices.Sort(c.found)
	return c.found
}

type checker struct {
	fset  *token.FileSet
	found []string
}

func (c *checker) add(pos token.Pos, format string, args ...any) {
	p := c.fset.Position(pos)
	c.found = append(c.found, fmt.Sprintf("%s:%d: %s", p.Filename, p.Line, fmt.Sprintf(format, args...)))
}

// imports checks what a file imports. Test files may look up, but not into another module, and have
// no cgo either.
func (c *checker) imports(f file) {
	for _, spec := range f.ast.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		for _, other := range floors[len(floors)-1].houses {
			if err == nil && f.isTest() && house(f.dir) != other && strings.HasPrefix(path, module+"/"+other+"/") {
				c.add(spec.Pos(), "imports %s: nothing of the product, not even a test, needs the module %s",
					path, other)
			}
		}
		if err != nil || (f.isTest() && path != "C") {
			continue
		}
		if why := checkImport(f.dir, path); why != "" {
			c.add(spec.Pos(), "%s", why)
		}
		if spec.Name != nil && spec.Name.Name == "." {
			c.add(spec.Pos(), "dot import of %s: a reader cannot see where a name comes from", path)
		}
	}
}

// clocks are the functions of package time that read or wait for the clock.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// seeded are the names of math/rand/v2 that do not touch its global generator.
var seeded = []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "PCG", "ChaCha8", "Zipf"}

// calls checks the uses of clocks, global randomness and exits, programs apart, in a file that is
// not a test.
func (c *checker) calls(f file) {
	names := map[string]string{} // local name of an imported package to its path
	for _, spec := range f.ast.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if path == "math/rand/v2" {
			name = "rand"
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = path
	}
	pure := floorOf(f.dir) >= 1 && floorOf(f.dir) <= 5
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		name := sel.Sel.Name
		switch path := names[x.Name]; {
		case pure && path == "time" && slices.Contains(clocks, name):
			c.add(sel.Pos(), "time.%s on floor %d: learners and what they stand on have no clock; "+
				"take times as values from the caller", name, floorOf(f.dir))
		case pure && path == "math/rand/v2" && !slices.Contains(seeded, name):
			c.add(sel.Pos(), "rand.%s on floor %d draws from the global generator; "+
				"take a seeded source from the caller", name, floorOf(f.dir))
		case house(f.dir) != "cmd" && f.ast.Name.Name != "main" && (path == "os" && name == "Exit" ||
			path == "log" && strings.HasPrefix(name, "Fatal")):
			c.add(sel.Pos(), "%s.%s outside cmd: only the command ends the process; return an error", x.Name, name)
		}
		return true
	})
}

// docs checks that the exported names of a file have doc comments. A comment on a group of
// constants, variables or types covers the group.
func (c *checker) docs(f file) {
	for _, decl := range f.ast.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if !d.Name.IsExported() || d.Doc.Text() != "" {
				continue
			}
			name := d.Name.Name
			if d.Recv != nil && len(d.Recv.List) == 1 {
				recv := receiver(d.Recv.List[0].Type)
				if !ast.IsExported(recv) {
					continue
				}
				name = recv + "." + name
			}
			c.add(d.Pos(), "%s has no doc comment", name)
		case *ast.GenDecl:
			if d.Doc.Text() == "" {
				c.specs(d)
			}
		}
	}
}

func (c *checker) specs(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && s.Doc.Text() == "" {
				c.add(s.Pos(), "type %s has no doc comment", s.Name.Name)
			}
		case *ast.ValueSpec:
			for _, n := range s.Names {
				if n.IsExported() && s.Doc.Text() == "" && s.Comment.Text() == "" {
					c.add(n.Pos(), "%s has no doc comment", n.Name)
				}
			}
		}
	}
}

// receiver is the name of a method's receiver type, without pointer and type parameters.
func receiver(e ast.Expr) string {
	for {
		switch t := e.(type) {
		case *ast.StarExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.IndexListExpr:
			e = t.X
		case *ast.ParenExpr:
			e = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

// packageComments checks that every package has one comment in the usual form.
func (c *checker) packageComments(files []file) {
	first := map[string]file{}
	has := map[string]bool{}
	for _, f := range files {
		if f.isTest() {
			continue
		}
		if _, ok := first[f.dir]; !ok {
			first[f.dir] = f
		}
		text := f.ast.Doc.Text()
		if f.ast.Name.Name == "main" {
			has[f.dir] = has[f.dir] || text != ""
		} else {
			has[f.dir] = has[f.dir] || strings.HasPrefix(text, "Package "+f.ast.Name.Name+" ")
		}
	}
	for dir, f := range first {
		if !has[dir] {
			c.add(f.ast.Package, "package %s has no package comment (\"Package %[1]s ...\")", f.ast.Name.Name)
		}
	}
}
