package client_test

import (
	"go/build"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestImports checks the dependencies of the client: the standard library and a few packages of
// this module. Only package provider depends on OpenFeature's SDK.
func TestImports(t *testing.T) {
	const module = "github.com/noregret/noregret"
	want := map[string]bool{
		module: true, module + "/api": true, module + "/policy": true, module + "/internal/compensated": true,
		module + "/internal/atomicfile": true, module + "/internal/named": true,
		module + "/internal/portable": true, module + "/internal/random": true, module + "/internal/strictjson": true,
		module + "/internal/vec": true, module + "/internal/words": true,
	}
	direct := []string{module, module + "/api", module + "/policy", module + "/internal/atomicfile"}
	seen := map[string]bool{}
	var visit func(dir, from string)
	visit = func(dir, from string) {
		p, err := build.ImportDir(filepath.Join("..", filepath.FromSlash(dir)), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range p.Imports {
			first, _, _ := strings.Cut(path, "/")
			switch {
			case !strings.Contains(first, "."): // the standard library
			case !want[path] || from == module+"/client" && !slices.Contains(direct, path):
				t.Errorf("%s imports %s", from, path)
			case !seen[path]:
				seen[path] = true
				visit(strings.TrimPrefix(strings.TrimPrefix(path, module), "/"), path)
			}
		}
	}
	visit("client", module+"/client")
	if len(seen) != len(want) {
		t.Errorf("the client imports only %v of the list", seen)
	}
}
