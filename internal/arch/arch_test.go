package arch

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// load returns every Go file of the module, whatever its build tags, parsed once for all tests.
func load(t *testing.T) (*token.FileSet, []file) {
	t.Helper()
	files, err := parseModule()
	if err != nil {
		t.Fatal(err)
	}
	return moduleFiles, files
}

// moduleFiles holds the positions in what parseModule returns.
var moduleFiles = token.NewFileSet()

var parseModule = sync.OnceValues(func() (files []file, err error) {
	root := filepath.Join("..", "..")
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if p != root && (name == "testdata" || name == "vendor" || name[0] == '.' || name[0] == '_') {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || name[0] == '.' || name[0] == '_' {
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		f, err := parseFile(moduleFiles, filepath.ToSlash(rel), p, nil)
		if err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	return files, err
})

// parseFile parses src, or the file on disk when src is nil, under its name in the module.
func parseFile(fset *token.FileSet, name, disk string, src any) (file, error) {
	f, err := parser.ParseFile(fset, disk, src, parser.ParseComments|parser.SkipObjectResolution)
	return file{path: name, dir: path.Dir(name), ast: f}, err
}

func TestArchitecture(t *testing.T) {
	fset, files := load(t)
	for _, breach := range checkFiles(fset, files) {
		t.Error(strings.TrimPrefix(breach, "../../"))
	}
	// The walk found the module and not some empty directory.
	for _, want := range []string{"error.go", "internal/random/random.go", "internal/arch/doc.go"} {
		found := false
		for _, f := range files {
			found = found || f.path == want
		}
		if !found {
			t.Errorf("%s was not checked", want)
		}
	}
}

func TestEveryHouseStandsOnOneFloor(t *testing.T) {
	seen := map[string]int{}
	for n, f := range floors {
		if f.role == "" {
			t.Errorf("floor %d has no role", n)
		}
		for _, h := range f.houses {
			if m, ok := seen[h]; ok {
				t.Errorf("%s is on floors %d and %d", h, m, n)
			}
			seen[h] = n
		}
	}
}

// The checker itself: each source breaks the rules in exactly the ways listed, or, with
// none listed, in no way.
func TestCheckerFindsBreaches(t *testing.T) {
	for _, tc := range []struct {
		name, path, src string
		want            []string
	}{
		{"down", "classify/a.go", `import _ "github.com/noregret/noregret/loss"`, nil},
		{"down to the root", "loss/a.go", `import _ "github.com/noregret/noregret"`, nil},
		{"down to internal", "cmd/noregret/a.go", `import _ "github.com/noregret/noregret/internal/random"`, nil},
		{"one house", "dataset/a.go", `import _ "github.com/noregret/noregret/dataset/synth"`, nil},
		{"inside internal", "internal/a/a.go", `import _ "github.com/noregret/noregret/internal/b"`, nil},
		{"internal to root", "internal/a/a.go", `import _ "github.com/noregret/noregret"`, nil},
		{
			"other modules", "loss/a.go", `import (_ "gonum.org/v1/gonum/mat"; _ "github.com/noregret/noregretful/x")`,
			nil,
		},
		{
			"up", "loss/a.go", `import _ "github.com/noregret/noregret/classify"`,
			[]string{"loss/a.go:3: imports github.com/noregret/noregret/classify, which is up on floor 4"},
		},
		{
			"up within a house", "dataset/synth/a.go", `import _ "github.com/noregret/noregret/cmd/noregret"`,
			[]string{"floor 8"},
		},
		{"program to commands", "cmd/noregret/a.go", `import _ "github.com/noregret/noregret/internal/cli"`, nil},
		{"commands down", "internal/cli/a/a.go", `import _ "github.com/noregret/noregret/server"`, nil},
		{
			"internal to commands", "internal/a/a.go", `import _ "github.com/noregret/noregret/internal/cli"`,
			[]string{"up on floor 7"},
		},
		{"sideways", "loss/a.go", `import _ "github.com/noregret/noregret/dataset"`, []string{"neighbour on floor 1"}},
		{
			"sideways deep", "loss/x/a.go", `import _ "github.com/noregret/noregret/dataset/synth"`,
			[]string{"neighbour on floor 1"},
		},
		{
			"internal up", "internal/a/a.go", `import _ "github.com/noregret/noregret/dataset"`,
			[]string{"up on floor 1"},
		},
		{
			"root to internal", "a.go", `import _ "github.com/noregret/noregret/internal/random"`,
			[]string{"neighbour on floor 0"},
		},
		{"the laboratory", "lab/x/a.go", `import _ "github.com/noregret/noregret/cmd/noregret"`, nil},
		{
			"into the laboratory", "cmd/noregret/a.go", `import _ "github.com/noregret/noregret/lab/arena"`,
			[]string{"up on floor 9"},
		},
		{
			"a test into the laboratory", "cmd/noregret/a_test.go",
			`import _ "github.com/noregret/noregret/lab/arena"`,
			[]string{"needs the module lab"},
		},
		{
			"a test into the inputs", "cmd/noregret/a_test.go",
			`import _ "github.com/noregret/noregret/inputs/parquet"`,
			[]string{"needs the module inputs"},
		},
		{"a test of the laboratory", "lab/x/a_test.go", `import _ "github.com/noregret/noregret/lab/arena"`, nil},
		{"tests look up", "loss/a_test.go", `import _ "github.com/noregret/noregret/classify"`, nil},
		{"no floor", "attic/a.go", ``, []string{`"attic" has no floor`}},
		{
			"import of no floor", "cmd/noregret/a.go", `import _ "github.com/noregret/noregret/attic"`,
			[]string{`"attic" has no floor`},
		},
		{"cgo", "cmd/noregret/a.go", `import "C"`, []string{"no cgo"}},
		{"cgo in a test", "loss/a_test.go", `import "C"`, []string{"no cgo"}},
		{"old rand", "cmd/noregret/a.go", `import "math/rand"; var _ = rand.Int`, []string{"imports math/rand:"}},
		{"dot import", "loss/a.go", `import . "time"; var _ = Now`, []string{"dot import of time"}},
		{"clock", "loss/a.go", `import "time"; var _ = time.Now()`, []string{"time.Now on floor 1"}},
		{
			"renamed clock", "experiment/a.go", `import clock "time"; func f() { clock.Sleep(1) }`,
			[]string{"time.Sleep on floor 5"},
		},
		{"time values", "loss/a.go", `import "time"; const d = 3 * time.Second; var _ time.Time`, nil},
		{"clock above", "server/a.go", `import "time"; var _ = time.Now`, nil},
		{"clock below", "internal/progress/a.go", `import "time"; var _ = time.Now`, nil},
		{"clock in a test", "loss/a_test.go", `import "time"; var _ = time.Now`, nil},
		{
			"global rand", "oco/a.go", `import "math/rand/v2"; var _ = rand.Float64()`,
			[]string{"rand.Float64 on floor 2"},
		},
		{
			"seeded rand", "oco/a.go", `import "math/rand/v2"; var _ = rand.New(rand.NewPCG(1, 2)); var _ *rand.Rand`,
			nil,
		},
		{"exit", "loss/a.go", `import "os"; func f() { os.Exit(1) }`, []string{"os.Exit outside cmd"}},
		{"fatal", "internal/a/a.go", `import "log"; func f() { log.Fatalf("x") }`, []string{"log.Fatalf outside cmd"}},
		{"exit in cmd", "cmd/noregret/a.go", `import "os"; func f() { os.Exit(1) }`, nil},
		{"func", "loss/a.go", "func F() {}", []string{"F has no doc comment"}},
		{"func with doc", "loss/a.go", "// F does.\nfunc F() {}\nfunc f() {}", nil},
		{"directive is no doc", "loss/a.go", "//go:noinline\nfunc F() {}", []string{"F has no doc comment"}},
		{"type", "loss/a.go", "type T struct{ A int }", []string{"type T has no doc comment"}},
		{
			"method", "loss/a.go", "// T is.\ntype T struct{}\nfunc (*T) M() {}\nfunc (T) m() {}",
			[]string{"T.M has no doc comment"},
		},
		{
			"generic method", "loss/a.go", "// T is.\ntype T[K any] struct{}\nfunc (*T[K]) M() {}",
			[]string{"T.M has no doc comment"},
		},
		{"method of a private type", "loss/a.go", "type t struct{}\nfunc (t) M() {}", nil},
		{
			"constants", "loss/a.go", "const (\n\tA = 1\n\t// B is.\n\tB = 2\n\tC = 3 // C is.\n\td = 4\n)",
			[]string{"A has no doc comment"},
		},
		{"group comment", "loss/a.go", "// These are.\nconst (\n\tA = 1\n\tB = 2\n)", nil},
		{"variables", "loss/a.go", "var A, b = 1, 2", []string{"A has no doc comment"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fset := token.NewFileSet()
			head := "// Package p is.\npackage p\n"
			f, err := parseFile(fset, tc.path, tc.path, head+tc.src+"\n")
			if err != nil {
				t.Fatal(err)
			}
			got := checkFiles(fset, []file{f})
			if len(got) != len(tc.want) {
				t.Fatalf("got %q, want %d breaches", got, len(tc.want))
			}
			for i, want := range tc.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("got %q, want %q in it", got[i], want)
				}
			}
		})
	}
}

func TestCheckerPackageComment(t *testing.T) {
	for _, tc := range []struct {
		sources []string
		want    int
	}{
		{[]string{"package p"}, 1},
		{[]string{"// Words about it.\npackage p"}, 1},
		{[]string{"// Package q is.\npackage p"}, 1},
		{[]string{"// Package p is detached.\n\npackage p"}, 1},
		{[]string{"package p", "// Package p is.\npackage p"}, 0},
		{[]string{"// Command p is.\npackage main"}, 0},
		{[]string{"package main"}, 1},
	} {
		fset := token.NewFileSet()
		var files []file
		for i, src := range tc.sources {
			f, err := parseFile(fset, "loss/"+string(rune('a'+i))+".go", "x.go", src)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		if got := checkFiles(fset, files); len(got) != tc.want {
			t.Errorf("%q: %q, want %d breaches", tc.sources, got, tc.want)
		}
	}
}
