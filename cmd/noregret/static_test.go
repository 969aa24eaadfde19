package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"
)

// TestStatic builds the command as the README says, and checks that it is static: it needs no
// library and no loader, so that it runs in an image that holds nothing else.
func TestStatic(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the format of the command's file is not ELF on " + runtime.GOOS)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	builds := regexp.MustCompile(`(?m)^(.*)go (build|install) .*noregret`).FindAllStringSubmatch(string(readme), -1)
	if len(builds) == 0 {
		t.Fatal("the README does not say how to build the command")
	}
	for _, b := range builds {
		if b[1] != "CGO_ENABLED=0 " {
			t.Errorf("%q: want CGO_ENABLED=0, as the command is linked with the C library where there is a compiler",
				b[0])
		}
	}
	path := filepath.Join(t.TempDir(), "noregret")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the command has a segment %v", p.Type)
		}
	}
	if libraries, err := f.ImportedLibraries(); err == nil && len(libraries) > 0 {
		t.Errorf("the command needs %v", libraries)
	}
}
