package noregret_test

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

// The package comment is where a reader of pkg.go.dev begins: it must lead to every public package.
func TestDocLeadsToAllPackages(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	packages := 0
	err = fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch base := d.Name(); {
		case d.IsDir() && name != "." && (base == "internal" || base == "testdata" || base[0] == '.'):
			return fs.SkipDir
		case name == "lab", name == "inputs": // modules of their own
			return fs.SkipDir
		case path.Base(name) == "doc.go" && name != "doc.go":
			packages++
			if !strings.Contains(string(doc), path.Dir(name)) {
				t.Errorf("doc.go does not mention the package %s", path.Dir(name))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if packages < 10 {
		t.Errorf("only %d packages were found", packages)
	}
}
