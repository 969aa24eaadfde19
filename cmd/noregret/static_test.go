package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
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
	builds := regexp.MustCompile(`(?m)^(.*)go (build|install|run) .*noregret`).FindAllStringSubmatch(string(readme), -1)
	if len(builds) == 0 {
		t.Fatal("the README does not say how to build and run the command")
	}
	for _, b := range builds {
		if b[1] != "CGO_ENABLED=0 " {
			t.Errorf("%q: want CGO_ENABLED=0: where there is a C compiler, a library that is not called compiles a "+
				"minute of C, and the command is linked with the C library", b[0])
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

// TestCompiledTree: what the README's commands compile holds no C, and no gRPC, which nothing here
// speaks.
func TestCompiledTree(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}} {{len .CgoFiles}} {{len .CFiles}}", ".")
	list.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		path, c, _ := strings.Cut(line, " ")
		if c != "0 0" || strings.HasPrefix(path, "google.golang.org/grpc") {
			t.Errorf("the command compiles %s, with %s files of cgo and C", path, c)
		}
	}
}
